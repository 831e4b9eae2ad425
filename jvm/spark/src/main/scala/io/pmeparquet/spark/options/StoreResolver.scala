package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.{PmeOptions, ReadSettings}
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.snapshot.xskipper.XskipperStore
import io.pmeparquet.snapshot.TableSnapshots
import io.pmeparquet.PmeErrors

/**
 * What options say of a store of Xskipper's. Made by [[ConfResolver]]. ''Driver only.''
 *
 * @param use the KMS of the options
 * @param settings of the read, whose keys open the store
 */
private[spark] final class StoreResolver(
    text: String,
    use: => KmsUse,
    settings: => ReadSettings,
    conf: Configuration
) {

  /** The directory of the store, qualified. */
  val directory: Path =
    try {
      val path = new Path(text)
      path.getFileSystem(conf).makeQualified(path)
    } catch {
      case _: IllegalArgumentException =>
        throw PmeErrors.badOption(PmeOptions.XskipperStore.name, text, "the path of a directory")
    }

  /** The store, plaintext or encrypted. */
  lazy val store: XskipperStore = {
    val accepting = TableSnapshots.acceptingParts(settings).copy(allowPlaintextFiles = true)
    new XskipperStore(directory, Scopes.forRead(use, accepting, conf), conf)
  }
}
