package io.pmeparquet.spark.snapshots

import java.math.BigDecimal
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.parquet.schema.{MessageType, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName.{INT32, INT64}
import org.apache.spark.sql.sources._

/**
 * Filters on decimals whose values fit the integers that a file stores. The schema of a read can have more digits than
 * that of a file, and Spark cuts a value that is too large for the file to the lower bits. ''Driver only.''
 *
 * @param known the columns that predicates may name
 */
private[snapshots] final class DecimalFilters(known: MessageType, caseSensitive: Boolean) {
  private val bits: Map[Seq[String], Int] = known.getColumns.asScala.flatMap { column =>
    DecimalFilters.bitsOf(column.getPrimitiveType).map(named(column.getPath.toSeq) -> _)
  }.toMap

  /** The same filter; none if a value does not fit. */
  def of(filter: Filter): Option[Filter] = if (fits(filter)) Some(filter) else None

  private def fits(filter: Filter): Boolean = filter match {
    case And(left, right) => fits(left) && fits(right)
    case Or(left, right) => fits(left) && fits(right)
    case Not(child) => fits(child)
    case EqualTo(_, value) => fits(filter, value)
    case EqualNullSafe(_, value) => fits(filter, value)
    case LessThan(_, value) => fits(filter, value)
    case LessThanOrEqual(_, value) => fits(filter, value)
    case GreaterThan(_, value) => fits(filter, value)
    case GreaterThanOrEqual(_, value) => fits(filter, value)
    case In(_, values) => values.forall(fits(filter, _))
    case _ => true
  }

  private def fits(filter: Filter, value: Any): Boolean = value match {
    case decimal: BigDecimal =>
      bits.get(named(filter.v2references.head.toSeq)).forall(decimal.unscaledValue.bitLength < _)
    case _ => true
  }

  private def named(path: Seq[String]) = if (caseSensitive) path else path.map(_.toLowerCase(Locale.ROOT))
}

private object DecimalFilters {

  /** The bits of the integers that a decimal column is stored as; none for other columns. */
  private def bitsOf(leaf: PrimitiveType): Option[Int] =
    (leaf.getLogicalTypeAnnotation, leaf.getPrimitiveTypeName) match {
      case (_: DecimalLogicalTypeAnnotation, INT32) => Some(Integer.SIZE)
      case (_: DecimalLogicalTypeAnnotation, INT64) => Some(java.lang.Long.SIZE)
      case _ => None
    }
}
