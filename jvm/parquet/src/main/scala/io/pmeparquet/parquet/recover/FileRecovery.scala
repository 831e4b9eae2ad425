package io.pmeparquet.parquet.recover

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.metadata.FileMetaData

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.parquet.bytes.{FileVersion, ReadCounters}
import io.pmeparquet.parquet.file.{ColumnPages, FileSeal, OpenFile, OpenFiles}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.verify._

/**
 * Finds what is sound in a file. A page counts if its header and its body open under their keys, and all its values
 * decode: whatever a reader gets was sealed by a holder of the key, for this place in this file (specification §4.4).
 * ''Crosses the wire''. START HERE: [[open]].
 *
 * @param unauthenticated whether values count that no tag covers: pages under AES_GCM_CTR_V1, columns without a key,
 *   plaintext files, and V2 pages whose levels are outside modules
 * @param like a file with the same columns, written in the same way, for files whose footers do not open
 * @param seal what the table's snapshot says of its files; none if the table is not read by one
 */
final class FileRecovery(
    scope: ReadScope,
    unauthenticated: Boolean,
    like: Option[String] = None,
    seal: Option[FileSeal] = None
) extends Serializable {

  /**
   * Opens the footer, and every module.
   *
   * @param listed the file, which must not change meanwhile
   * @param goOn called often; throws if the work is no longer wanted
   * @throws io.pmeparquet.PmeException if the footer does not open: then nothing of the file does
   * @throws java.io.IOException if storage fails, which says nothing of the file
   */
  def open(listed: ListedFile, conf: Configuration, goOn: () => Unit): RecoveredFile =
    open(listed.version, conf, goOn)

  /**
   * Schema, key-value metadata and writer.
   *
   * @throws io.pmeparquet.PmeException if the footer does not open
   */
  def metadata(listed: ListedFile, conf: Configuration, goOn: () => Unit): FileMetaData =
    opened(listed.version.recovered, conf, scope.counters, goOn)._1.fileMetaData

  /** The file, and the other one by whose columns its footer was rebuilt. */
  private def opened(
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      goOn: () => Unit
  ): (OpenFile, Option[String]) = {
    seal.foreach(_.requireLength(version.path, version.length))
    val found =
      try OpenFiles.withoutColumnCheck(scope, version, conf, counters, seal, mayBeDamaged = true) -> None
      catch {
        case failed: PmeException if FileRecovery.OfFooter(failed.condition) && like.isDefined =>
          rebuilt(version, conf, counters, goOn) -> like
      }
    seal.foreach(_.requireKey(version.path, found._1.footerMasterKey))
    found._1.requireUnstated(scope.settings, FileRecovery.Name)
    found
  }

  private def rebuilt(
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      goOn: () => Unit
  ): OpenFile = {
    val other = OpenFiles.withoutColumnCheck(scope, FileVersion.of(new Path(like.get), conf), conf, counters)
    // The lost footer stated values, too.
    other.requireUnstated(scope.settings, FileRecovery.Name)
    OpenFiles.withFooter(scope, version, conf, counters) { (crypto, bytes, end) =>
      new RebuiltFooter(crypto, bytes, end, other, counters, goOn).metadata
    }
  }

  private[parquet] def open(now: FileVersion, conf: Configuration, goOn: () => Unit): RecoveredFile = {
    val version = now.recovered
    val counters = new Counters
    val (file, rebuiltBy) = opened(version, conf, counters.tagged, goOn)
    FileRecovery.requireRows(file)
    val findings = new Findings(Finding(version.path.toString))
    val found = new Found(unauthenticated)
    val bytes = file.bytes(conf, counters.tagged)
    try {
      val examined = new Examined(file, unauthenticated, Sample(), counters, findings, goOn, found)
      new FileWalk(examined, bytes).run()
    } finally bytes.close()
    // A KMS that does not answer says nothing of the file.
    findings.all.find(_.condition == Condition.KmsUnavailable.name).foreach { one =>
      throw PmeException.named(one.condition, one.message).get
    }
    new RecoveredFile(
      file,
      new ColumnPages(scope, file, conf, counters.tagged, clearLevels = Some(unauthenticated)),
      counters.tagged,
      found,
      findings,
      file.deviations(scope).map { case (leaf, refused) => leaf.path -> refused }.toMap,
      unauthenticated,
      rebuiltBy
    )
  }
}

private object FileRecovery {

  /** In messages. */
  val Name = "a recovery"

  /** How a footer fails that was altered. */
  val OfFooter: Set[Condition] = Set(Condition.NotAuthentic, Condition.DamagedFile)

  /** Which rows are lost is kept in memory, for each column. */
  private val MostRows = 1L << 27

  def requireRows(file: OpenFile): Unit =
    (0 until file.rowGroupCount).map(file.rowCount).find(_ > MostRows).foreach { rows =>
      throw PmeErrors.unsupported(
        file.version.path.toString,
        s"the recovery of a row group of $rows rows",
        s"it counts at most $MostRows rows",
        "Recover the other files."
      )
    }
}
