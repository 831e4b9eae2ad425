package io.pmeparquet.parquet.file

import scala.collection.JavaConverters._

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.{ColumnChunk, FileMetaData, RowGroup}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.schema.MessageType

import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.parquet.bytes.{FileVersion, ParquetFailures, Range}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.PmeErrors

/**
 * A leaf column.
 *
 * @param path its path in the file
 * @param display its name in Spark
 */
private[parquet] final case class FileColumn(path: Seq[String], display: String)

/** The columns and row groups of a file's footer, checked to fit each other. It uses no key. */
private[file] final class FileShape(version: FileVersion, footer: FileMetaData) {
  val metadata: org.apache.parquet.hadoop.metadata.FileMetaData =
    ParquetFailures.naming(version.path, "its footer")(
      (new ParquetMetadataConverter).fromParquetMetadata(withRowGroups(Nil)).getFileMetaData
    )

  def schema: MessageType = metadata.getSchema

  val descriptors: IndexedSeq[ColumnDescriptor] = schema.getColumns.asScala.toIndexedSeq
  if (descriptors.map(_.getPath.toSeq).distinct.size < descriptors.size)
    throw PmeErrors.damaged(version.path.toString, "its schema has two columns of the same name")

  private val ordinals: Map[Seq[String], Int] = descriptors.map(_.getPath.toSeq).zipWithIndex.toMap

  /** All leaf columns, in the file's order. A column of an unusual schema is named by its path alone. */
  val leaves: IndexedSeq[LeafColumn] = {
    val named = SchemaColumns.leaves(schema).map(leaf => leaf.path -> leaf).toMap
    descriptors.map(_.getPath.toSeq).map(path => named.getOrElse(path, LeafColumn(path, path)))
  }
  private val display: Map[Seq[String], String] = leaves.map(leaf => leaf.path -> leaf.display).toMap

  val groups: IndexedSeq[RowGroup] =
    Option(footer.getRow_groups).map(_.asScala.toIndexedSeq).getOrElse(IndexedSeq.empty)

  /** The index in the file of each row group's first row. */
  private val firstRows: IndexedSeq[Long] = groups.scanLeft(0L)(_ + _.getNum_rows)

  groups.zipWithIndex.foreach { case (group, index) =>
    if (group.getNum_rows < 0 || group.getColumns.size != descriptors.size)
      throw PmeErrors.damaged(
        version.path.toString,
        s"its row group $index has ${group.getNum_rows} rows and ${group.getColumns.size} columns, but the schema has ${descriptors.size}"
      )
  }

  /**
   * The row groups that belong to a split of the file: those whose middle is in it. Each then belongs to one split,
   * wherever the splits are cut.
   */
  def rowGroups(start: Long, length: Long): Seq[Int] =
    groups.indices.filter { index =>
      val middle = middleOf(groups(index), index)
      middle >= start && middle < start + length
    }

  private def middleOf(group: RowGroup, index: Int): Long = {
    val first = group.getColumns.get(0)
    val offset =
      if (group.isSetFile_offset) group.getFile_offset
      else if (first.isSetMeta_data) first.getMeta_data.getData_page_offset
      else version.length / groups.size * index
    val size = if (group.isSetTotal_compressed_size) group.getTotal_compressed_size else 0L
    // Whatever a file claims, the middle is an offset in it, and therefore in one of its splits.
    (offset + size / 2).max(0L).min(version.length - 1)
  }

  def rowCount(rowGroup: Int): Long = groups(rowGroup).getNum_rows
  def firstRow(rowGroup: Int): Long = firstRows(rowGroup)

  /** The row group's ordinal, which the AAD of its modules contains. */
  def ordinal(rowGroup: Int): Int = {
    val group = groups(rowGroup)
    if (group.isSetOrdinal) group.getOrdinal.toInt else rowGroup
  }

  def ordinalOf(column: Seq[String]): Int = ordinals.getOrElse(
    column,
    throw new IllegalStateException(s"internal error: no column ${column.mkString(".")}")
  )

  def displayOf(column: Seq[String]): String = display(column)

  /** A column's chunk, from the footer. */
  def chunkOf(group: RowGroup, column: Seq[String]): ColumnChunk = group.getColumns.get(ordinals(column))

  /** The paths of a row group's columns that are encrypted with the footer key, or with keys of their own. */
  def sealedColumns(rowGroup: Int, withFooterKey: Boolean): Seq[Seq[String]] =
    descriptors.zip(groups(rowGroup).getColumns.asScala).collect {
      case (descriptor, chunk)
          if chunk.isSetCrypto_metadata &&
            chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY == withFooterKey =>
        descriptor.getPath.toSeq
    }

  /** All leaf columns. */
  def columns: Seq[FileColumn] = descriptors.map { descriptor =>
    val path = descriptor.getPath.toSeq
    FileColumn(path, display(path))
  }

  /**
   * The range from the first index to the end of the file, unless it is long: all indexes are in it, and often the
   * filters.
   */
  def indexRange(tailOffset: Long): Option[Range] = {
    val offsets = for {
      group <- groups
      chunk <- group.getColumns.asScala
      offset <- Seq(
        chunk.isSetColumn_index_offset -> chunk.getColumn_index_offset,
        chunk.isSetOffset_index_offset -> chunk.getOffset_index_offset
      ).collect { case (true, offset) => offset }
    } yield offset
    val first = offsets.foldLeft(tailOffset)(_.min(_))
    val length = version.length - first
    if (first == tailOffset || first < 0 || length > FileShape.MaxIndexBytes) None
    else Some(Range(first, length.toInt))
  }

  /** The footer with other row groups, from which parquet-java makes its own metadata. */
  def withRowGroups(rowGroups: Seq[RowGroup]): FileMetaData = {
    val copy = new FileMetaData(footer.getVersion, footer.getSchema, footer.getNum_rows, rowGroups.asJava)
    copy.setKey_value_metadata(footer.getKey_value_metadata)
    copy.setCreated_by(footer.getCreated_by)
    copy.setColumn_orders(footer.getColumn_orders)
    copy
  }
}

private object FileShape {

  /** The most that is read of indexes at once. */
  val MaxIndexBytes: Int = 16 * 1024 * 1024
}
