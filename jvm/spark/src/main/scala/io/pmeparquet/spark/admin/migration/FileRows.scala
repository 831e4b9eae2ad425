package io.pmeparquet.spark.admin.migration

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.expressions.{
  AttributeReference,
  BoundReference,
  UnsafeProjection,
  UnsafeRow,
  XXH64,
  XxHash64
}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.types.{MetadataBuilder, StructType}
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.sql.SparkSession

import io.pmeparquet.PmeErrors

/**
 * Reads all rows of a file, as a query would see them. ''Crosses the wire'', and brings the scope of its reader.
 *
 * @param schema its columns; those that were CHAR know it
 * @param pads whether CHAR columns are padded, as Spark pads them in queries
 */
private[migration] final class FileRows private (
    read: PartitionedFile => Iterator[InternalRow],
    schema: StructType,
    pads: Boolean
) extends Serializable {

  private val keys = new MapKeys(schema)

  /**
   * The rows; each is valid until the next one. ''Executor only.''
   *
   * @throws io.pmeparquet.PmeException if a map has a NULL as a key
   */
  def of(path: Path, length: Long, modified: Long): Iterator[InternalRow] = {
    val file = PartitionedFile(
      InternalRow.empty,
      SparkPath.fromPath(path),
      0,
      length,
      Array.empty[String],
      modified,
      length,
      Map.empty[String, Any]
    )
    val rows = read(file).asInstanceOf[Iterator[AnyRef]].flatMap {
      case batch: ColumnarBatch => batch.rowIterator().asScala
      case row: InternalRow => Iterator.single(row)
      case other =>
        throw new IllegalStateException(s"internal error: a reader returned ${other.getClass.getName}")
    }
    val checked = rows.map { row =>
      keys.nullIn(row).foreach { column =>
        throw PmeErrors.notMigrated(
          path.toString,
          s"column '$column' has a map with a NULL as a key, which Spark and Parquet do not have",
          "Write the rows again without it."
        )
      }
      row
    }
    if (pads && FileRows.hasChars(schema)) padded(checked) else checked
  }

  private def padded(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val columns = schema.fields.toList.map { field =>
      AttributeReference(field.name, field.dataType, nullable = true, field.metadata)()
    }
    val projection = UnsafeProjection.create(columns.map(CharVarcharUtils.addPaddingForScan(_)), columns)
    rows.map(projection)
  }
}

private[migration] object FileRows {

  /** Where Spark notes the type of a CHAR or VARCHAR column, which it reads as a string. */
  private val Characters = "__CHAR_VARCHAR_TYPE_STRING"

  /**
   * Refuses maps of ORC that Spark would read as rows: its reader of rows keeps one of two entries with the same key.
   */
  def requireBatches(session: SparkSession, format: FileFormat, schema: StructType, table: String): Unit =
    if (format.isInstanceOf[OrcFileFormat] && !format.supportBatch(session, schema))
      schema.find(field => MapKeys.hasMap(field.dataType)).foreach { field =>
        throw PmeErrors.notMigrated(
          table,
          s"column '${field.name}' has maps, and this session reads ORC row by row, " +
            "which loses entries with equal keys",
          "Set spark.sql.orc.enableVectorizedReader and spark.sql.orc.enableNestedColumnVectorizedReader to true."
        )
      }

  /**
   * @param options those of a read with this format
   * @param table how errors name what is read
   */
  def reader(
      session: SparkSession,
      format: FileFormat,
      schema: StructType,
      options: Map[String, String],
      conf: Configuration,
      table: String
  ): FileRows = {
    requireBatches(session, format, schema, table)
    val batches = format.supportBatch(session, schema).toString
    val read = format.buildReaderWithPartitionValues(
      session,
      schema,
      StructType(Nil),
      schema,
      Nil,
      options + (FileFormat.OPTION_RETURNING_BATCH -> batches),
      conf
    )
    new FileRows(read, schema, session.conf.getOption("spark.sql.readSideCharPadding").forall(_.toBoolean))
  }

  /** The columns without the note that they were CHAR or VARCHAR: they are strings now, padded already. */
  def withoutChars(schema: StructType): StructType = StructType(schema.fields.map { field =>
    field.copy(metadata = new MetadataBuilder().withMetadata(field.metadata).remove(Characters).build())
  })

  /** The columns with CHAR and VARCHAR as types, as the catalog has them. */
  def withChars(schema: StructType): StructType = StructType(schema.fields.map { field =>
    field.copy(dataType = CharVarcharUtils.getRawType(field.metadata).getOrElse(field.dataType))
  })

  private def hasChars(schema: StructType) = schema.exists(_.metadata.contains(Characters))
}

/**
 * What all rows of a file have in each column, whatever their order: how many NULLs, and the sum of the hashes of its
 * values and of their forms.
 *
 * @param whole the sum of the hashes of whole rows: which values belong together
 */
private[migration] final case class RowChecksums(
    rows: Long,
    columns: List[RowChecksums.Column],
    whole: Long
) {

  /** How another file differs, as a sentence; none if it does not. */
  def difference(other: RowChecksums, schema: StructType): Option[String] =
    if (rows != other.rows) Some(s"it has ${other.rows} rows, and not $rows.")
    else
      columns
        .zip(other.columns)
        .zip(schema.fieldNames.toList)
        .collectFirst { case ((one, two), name) if one != two => s"column '$name' has other values." }
        .orElse(if (whole == other.whole) None else Some("values of its columns are in other rows."))
}

private[migration] object RowChecksums {

  final case class Column(nulls: Long, hashes: Long)

  /**
   * @param rows read to their end
   * @param each called for each row
   */
  def of(rows: Iterator[InternalRow], schema: StructType)(each: () => Unit): RowChecksums = {
    val width = schema.length
    val columns = schema.fields.toList.zipWithIndex.map { case (field, at) =>
      BoundReference(at, field.dataType, nullable = true)
    }
    // A hash that Spark does not compile takes what is behind a NULL in an array of a batch for a value.
    val plain = UnsafeProjection.create(columns)
    val hash = UnsafeProjection.create(columns.map(column => XxHash64(List(column), Seed)))
    val kinds = schema.fields.map(_.dataType)
    val nulls, hashes = new Array[Long](width)
    var count, whole = 0L
    rows.foreach { row =>
      each()
      val cells = row match {
        case already: UnsafeRow => already
        case other => plain(other)
      }
      val hashed = hash(cells)
      var at = 0
      var together = Seed
      while (at < width) {
        if (cells.isNullAt(at)) nulls(at) += 1
        val cell = ValueForm.hash(cells, at, kinds(at), hashed.getLong(at))
        hashes(at) += cell
        together = XXH64.hashLong(cell, together)
        at += 1
      }
      whole += together
      count += 1
    }
    RowChecksums(count, List.tabulate(width)(at => Column(nulls(at), hashes(at))), whole)
  }

  private val Seed = 42L
}
