package io.pmeparquet.parquet.inspect

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, FileVersion, FooterBytes, ReadCounters}
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.scope.ReadScope

/**
 * What identifies a file, what protects it, and what it can contain. ''Crosses the wire.''
 *
 * @param footerSha256 of the footer, its length and the magic
 * @param aadFileUnique none for a file without encryption
 * @param sha256 of the whole file
 * @param footerKey the master key of the footer's key; none for a file without encryption
 * @param types the type of each leaf column in Parquet, as text, by its path
 * @param columns what protects each leaf column of its row groups, by its path
 * @param ranges the range of each wanted column that the file has and that has statistics, by its path
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
    ranges: List[(List[String], ColumnRange)]
)

/**
 * The range of a column's values in a file, from its statistics (`Statistics` of the Parquet format).
 *
 * @param columnType the column's type in Parquet, as text
 * @param bounds the least and the greatest value, as the statistics hold them; none if all values are null
 */
final case class ColumnRange(columnType: String, bounds: Option[(Array[Byte], Array[Byte])], nulls: Long)

object FileFacts {

  /**
   * Opens the footer, reads the whole file once for its digest, and opens the metadata of the wanted columns.
   *
   * @param wanted paths of leaf columns; a column that the file lacks has no range
   * @throws io.pmeparquet.PmeException if the footer or the metadata of a wanted column does not open, or the file
   *   changes meanwhile
   */
  def of(scope: ReadScope, file: ListedFile, wanted: Seq[Seq[String]], conf: Configuration): FileFacts = {
    val counters = new ReadCounters
    val version = FileVersion.of(file.version.path, conf)
    val opened = OpenFiles.read(scope, version, conf, counters)
    val footer = footerOf(version, conf)
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
        .map(column => column.getPath.toList -> column.getPrimitiveType.toString)
        .toList,
      opened.protections.map { case (path, protection) => path.toList -> protection }.toList,
      wanted.flatMap(path => rangeOf(opened, path, counters).map(path.toList -> _)).toList
    )
  }

  private def footerOf(version: FileVersion, conf: Configuration): FooterBytes = {
    val bytes = new FileBytes(version, conf, new ReadCounters)
    try FooterBytes.read(bytes)
    finally bytes.close()
  }

  /** SHA-256 of a file as it is now. */
  def wholeFile(file: ListedFile, conf: Configuration): Array[Byte] = wholeFile(file.version, conf)

  private def wholeFile(version: FileVersion, conf: Configuration): Array[Byte] = {
    val in = version.path.getFileSystem(conf).open(version.path)
    try Sha256.ofStream(in)
    finally in.close()
  }

  /** None if the column can repeat within a row, or a row group has no statistics that bound all its values. */
  private def rangeOf(file: OpenFile, path: Seq[String], counters: ReadCounters): Option[ColumnRange] =
    if (file.rowGroupCount == 0 || !file.columns.exists(_.path == path)) None
    else {
      val chunks = (0 until file.rowGroupCount).flatMap(file.chunks(_, Seq(path), counters).chunks)
      val isRepeated = chunks.exists(_.descriptor.getMaxRepetitionLevel > 0)
      if (isRepeated || !chunks.forall(isBounded) || (isOfOldCalendar(file) && isDateOrTime(chunks.head)))
        None
      else {
        val all = merged(chunks.map(_.meta.getStatistics))
        val bounds = if (all.hasNonNullValue) Some(all.getMinBytes -> all.getMaxBytes) else None
        val isLong = bounds.exists { case (min, max) => min.length.max(max.length) > MostBoundBytes }
        val columnType = chunks.head.descriptor.getPrimitiveType.toString
        if (isLong) None else Some(ColumnRange(columnType, bounds, all.getNumNulls))
      }
    }

  /** Longer values would make the list of a large table too large. */
  private val MostBoundBytes = 1024

  /** Whether Spark wrote dates and times in the calendar of Spark 2, which readers convert. */
  private def isOfOldCalendar(file: OpenFile) = {
    val entries = file.fileMetaData.getKeyValueMetaData
    entries.containsKey("org.apache.spark.legacyDateTime") ||
    Option(entries.get("org.apache.spark.version")).exists(version =>
      version.startsWith("2.") || version.startsWith("1.")
    )
  }

  private def isDateOrTime(chunk: Chunk) = chunk.descriptor.getPrimitiveType.getLogicalTypeAnnotation match {
    case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
    case _ => false
  }

  // The element type of statistics is that of their column, which is the same in all row groups.
  private def merged(all: Seq[AnyRef]): Statistics[Integer] = {
    val statistics = all.map(_.asInstanceOf[Statistics[Integer]])
    val result = statistics.head.copy().asInstanceOf[Statistics[Integer]]
    statistics.tail.foreach(result.mergeStatistics(_))
    result
  }

  /** Whether statistics say of every value of a chunk that it is null, or between two bounds. */
  private def isBounded(chunk: Chunk): Boolean = {
    val statistics = chunk.meta.getStatistics.asInstanceOf[Statistics[Integer]]
    statistics != null && !statistics.isEmpty && statistics.isNumNullsSet &&
    (statistics.hasNonNullValue || statistics.getNumNulls == chunk.meta.getValueCount)
  }
}
