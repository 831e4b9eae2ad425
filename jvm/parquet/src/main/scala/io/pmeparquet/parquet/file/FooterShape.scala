package io.pmeparquet.parquet.file

import scala.collection.JavaConverters._

import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.format.{ColumnChunk, FileMetaData, RowGroup}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.schema.MessageType

import io.pmeparquet.columns.{KeyValues, LeafColumn}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, ParquetFailures}
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.PmeErrors

/** The columns and row groups of a file's footer, checked to fit each other. It uses no key. */
private[parquet] class FooterShape(val version: FileVersion, val footer: FileMetaData) {

  /** Schema, key-value metadata and writer, in parquet-java's form. */
  val fileMetaData: org.apache.parquet.hadoop.metadata.FileMetaData =
    ParquetFailures.naming(version.path, "its footer")(
      (new ParquetMetadataConverter).fromParquetMetadata(withRowGroups(Nil)).getFileMetaData
    )

  final def schema: MessageType = fileMetaData.getSchema

  protected final val descriptors: IndexedSeq[ColumnDescriptor] = schema.getColumns.asScala.toIndexedSeq
  if (descriptors.map(_.getPath.toSeq).distinct.size < descriptors.size)
    throw PmeErrors.damaged(version.path.toString, "its schema has two columns of the same name")

  private val ordinals: Map[Seq[String], Int] = descriptors.map(_.getPath.toSeq).zipWithIndex.toMap

  /** All leaf columns, in the file's order. A column of an unusual schema is named by its path alone. */
  final val leaves: IndexedSeq[LeafColumn] = {
    val named = SchemaColumns.leaves(schema).map(leaf => leaf.path -> leaf).toMap
    descriptors.map(_.getPath.toSeq).map(path => named.getOrElse(path, LeafColumn(path, path)))
  }

  final val groups: IndexedSeq[RowGroup] = FileTail.rowGroups(footer).toIndexedSeq

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
  final def rowGroups(start: Long, length: Long): Seq[Int] =
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

  final def rowGroupCount: Int = groups.size
  final def rowCount(rowGroup: Int): Long = groups(rowGroup).getNum_rows

  /** The index in the file of a row group's first row. */
  final def firstRow(rowGroup: Int): Long = firstRows(rowGroup)

  /** The row group's ordinal, which the AAD of its modules contains. */
  protected final def ordinal(rowGroup: Int): Int = {
    val group = groups(rowGroup)
    if (group.isSetOrdinal) group.getOrdinal.toInt else rowGroup
  }

  protected final def ordinalOf(column: Seq[String]): Int = ordinals.getOrElse(
    column,
    throw new IllegalStateException(s"internal error: no column ${column.mkString(".")}")
  )

  /** A column's name in Spark. */
  protected final def displayOf(column: Seq[String]): String = leaves(ordinalOf(column)).display

  /** A column's chunk, from the footer. */
  final def chunkOf(group: RowGroup, column: Seq[String]): ColumnChunk =
    group.getColumns.get(ordinalOf(column))

  /** The paths of a row group's columns that are encrypted with the footer key, or with keys of their own. */
  final def sealedColumns(rowGroup: Int, withFooterKey: Boolean): Seq[Seq[String]] =
    leaves.map(_.path).zip(groups(rowGroup).getColumns.asScala).collect {
      case (path, chunk)
          if chunk.isSetCrypto_metadata &&
            chunk.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY == withFooterKey =>
        path
    }

  /** File and column, for messages. */
  final def where(chunk: Chunk): String = whereOf(chunk.display)

  protected final def whereOf(column: String): String = s"${version.path}, column '$column'"

  /** The footer with other row groups, from which parquet-java makes its own metadata. */
  protected final def withRowGroups(rowGroups: Seq[RowGroup]): FileMetaData = {
    val copy = new FileMetaData(footer.getVersion, footer.getSchema, footer.getNum_rows, rowGroups.asJava)
    copy.setKey_value_metadata(footer.getKey_value_metadata)
    copy.setCreated_by(footer.getCreated_by)
    copy.setColumn_orders(footer.getColumn_orders)
    copy
  }
}

private[parquet] object FooterShape {

  /** What a footer states of values that name the file's keys. */
  def statedBy(footer: FileMetaData, file: String): KeyValues = {
    val entries =
      Option(footer.getKey_value_metadata).toSeq.flatMap(_.asScala).filter(_.getKey == KeyValues.Entry)
    if (entries.size > 1) throw PmeErrors.fileDamaged(file, s"it has two entries ${KeyValues.Entry}")
    KeyValues.of(entries.headOption.map(entry => String.valueOf(entry.getValue)), file)
  }
}
