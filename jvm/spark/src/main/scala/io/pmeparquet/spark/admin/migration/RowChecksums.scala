package io.pmeparquet.spark.admin.migration

import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, XxHash64}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/**
 * What all rows of a file have in each column, whatever their order: how many NULLs, and the sum of the hashes of its
 * values.
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
    val hash = UnsafeProjection.create((columns.map(List(_)) :+ columns).map(XxHash64(_, Seed)))
    val nulls, hashes = new Array[Long](width)
    var count, whole = 0L
    rows.foreach { row =>
      each()
      val hashed = hash(row)
      var at = 0
      while (at < width) {
        if (row.isNullAt(at)) nulls(at) += 1
        hashes(at) += hashed.getLong(at)
        at += 1
      }
      whole += hashed.getLong(width)
      count += 1
    }
    RowChecksums(count, List.tabulate(width)(at => Column(nulls(at), hashes(at))), whole)
  }

  private val Seed = 42L
}
