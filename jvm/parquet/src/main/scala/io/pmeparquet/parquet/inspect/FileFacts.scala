package io.pmeparquet.parquet.inspect

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{BlockDigests, PmeErrors, Sha256}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, FooterBytes, ReadCounters}
import io.pmeparquet.parquet.file.OpenFiles
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.summary.{FileSummaries, FoundSummary, Leaves, WantedSummary}

/**
 * What identifies a file, what protects it, and what it can contain. ''Crosses the wire.''
 *
 * @param footerSha256 of the footer, its length and the magic; of the whole file, if the footer authenticates nothing
 * @param aadFileUnique none for a file without encryption
 * @param sha256 of the whole file
 * @param footerKey the master key of the footer's key; none for a file without encryption
 * @param types the type of each leaf column in Parquet, as text, by its path
 * @param columns what protects each leaf column of its row groups, by its path
 * @param summaries for each wanted summary, in this order; none if the file has none
 * @param blocks of a file of another format, whose content nothing in it authenticates
 * @param statesValues whether its footer states values that name its keys
 */
final case class FileFacts(
    length: Long,
    footerSha256: Array[Byte],
    aadFileUnique: Option[Array[Byte]],
    sha256: Array[Byte],
    rows: Long,
    footerKey: Option[String],
    types: List[(List[String], String)],
    columns: List[(List[String], ColumnProtection)],
    summaries: List[Option[FoundSummary]],
    blocks: Option[BlockDigests] = None,
    statesValues: Boolean = false
)

object FileFacts {

  /**
   * Opens the footer, reads the whole file once for its digest, and summarizes the wanted columns.
   *
   * @throws io.pmeparquet.PmeException if the footer, or the metadata or a page of a wanted column does not open, or the
   *   file changes meanwhile
   */
  def of(scope: ReadScope, file: ListedFile, wanted: Seq[WantedSummary], conf: Configuration): FileFacts = {
    val counters = new ReadCounters
    val version = FileVersion.of(file.version.path, conf)
    val opened = OpenFiles.read(scope, version, conf, counters)
    val footer = FooterBytes.read(version, conf)
    val summaries = FileSummaries.of(scope, opened, wanted, counters, conf)
    val sha256 = wholeFile(version, conf)
    val isSame = java.util.Arrays.equals(footer.sha256, opened.footerSha256)
    if (!isSame || FileVersion.of(version.path, conf) != version) throw PmeErrors.changedMeanwhile(file.path)
    val unique = FileTail.of(footer, file.path) match {
      case encrypted: FileTail.Encrypted => Some(encrypted.aadFileUnique)
      case FileTail.Plaintext => None
    }
    FileFacts(
      version.length,
      opened.footerSha256,
      unique,
      sha256,
      opened.footer.getNum_rows,
      opened.footerMasterKey,
      opened.schema.getColumns.asScala
        .map(column => column.getPath.toList -> Leaves.textOf(column.getPrimitiveType))
        .toList,
      opened.protections.map { case (path, protection) => path.toList -> protection }.toList,
      summaries,
      statesValues = !opened.place.stated.isEmpty
    )
  }

  /** SHA-256 of a file as it is now. */
  def wholeFile(file: ListedFile, conf: Configuration): Array[Byte] = wholeFile(file.version, conf)

  /** The same of any file. */
  def wholeFile(path: Path, conf: Configuration): Array[Byte] = wholeFile(FileVersion.of(path, conf), conf)

  private def wholeFile(version: FileVersion, conf: Configuration): Array[Byte] = {
    val in = version.open(conf)
    try Sha256.ofStream(in)
    finally in.close()
  }
}
