package io.pmeparquet.parquet.verify

import java.io.IOException

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.OpenFiles
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeException

/**
 * Opens every module of a file with its keys, without decompressing or decoding. Reports every module that does not
 * open, and each column that is not protected as the reader asks. It does not report what a broken module would lead
 * to: a file whose footer does not open is one finding. ''Crosses the wire''. START HERE: [[of]].
 */
final class FileVerification(scope: ReadScope, sample: Sample) extends Serializable {

  /**
   * @param goOn called often; throws if the work is no longer wanted
   * @throws java.io.IOException if the work was cancelled, but not if storage fails: that is a finding
   */
  def of(listed: ListedFile, conf: Configuration, goOn: () => Unit): Verified =
    of(listed.version, conf, goOn)

  private[parquet] def of(version: FileVersion, conf: Configuration, goOn: () => Unit): Verified = {
    val counters = new Counters
    val findings = new Findings(Finding(version.path.toString))
    var unprotected = Unprotected()
    try
      findings
        .attempt(_.copy(module = Some(ModuleKind.Footer.name))) {
          OpenFiles.unjudged(scope, version, conf, counters.tagged)
        }
        .map { file =>
          unprotected = Unprotected.of(file)
          file
        }
        .filter(_.isEncrypted)
        .foreach { file =>
          findings.attempt(identity)(file.deviations(scope)).toSeq.flatten.foreach { case (column, refused) =>
            findings.add(_.copy(column = Some(column.display)), refused)
          }
          val bytes = file.bytes(conf, counters.tagged)
          val allowed = scope.settings.allowClearLevels
          val examined = new Examined(file, allowed, sample, counters, findings, goOn)
          try new FileWalk(examined, bytes).run()
          finally bytes.close()
        }
    catch {
      case failed: IOException if !PmeException.isOfCancelled(failed) => findings.ofStorage(failed)
    }
    Verified(findings.all, counters.opened, unprotected)
  }
}
