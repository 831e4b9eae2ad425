package io.pmeparquet.spark.decode

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/**
 * The part of a scan's filters that a file's own columns decide, and those columns. ''Crosses the wire.''
 *
 * @param condition over `columns`, by position
 * @param columns the columns it looks at
 * @param positions their positions in the schema that the scan reads
 */
private[spark] final case class RowPredicate(
    condition: Expression,
    columns: StructType,
    positions: Seq[Int]
) {

  /** ''Executor only.'' */
  def compiled(): InternalRow => Boolean = {
    val predicate = Predicate.create(condition)
    predicate.initialize(0)
    row =>
      // If the filter throws on a row, the row is kept: Spark evaluates the filter again, and reports the failure.
      try predicate.eval(row)
      catch { case NonFatal(_) => true }
  }
}

private[spark] object RowPredicate {

  /**
   * @param filters conjuncts
   * @param required what the scan reads
   * @return none if no filter is of use here
   */
  def of(filters: Seq[Expression], required: StructType): Option[RowPredicate] = {
    val usable = filters.filter(filter => isUsable(filter) && isOver(filter, required))
    // Nearly every query tests for NULL. Such tests alone leave out too few rows to pay.
    if (usable.forall(_.isInstanceOf[IsNotNull])) None
    else {
      val names = usable.flatMap(_.references.map(_.name)).distinct
      val positions = names.map(required.fieldIndex).sorted
      val columns = StructType(positions.map(required(_)))
      val condition = usable.reduce(And).transform { case attribute: AttributeReference =>
        BoundReference(columns.fieldIndex(attribute.name), attribute.dataType, nullable = true)
      }
      // If the filter looks at all columns, no column is left to read later.
      if (positions.size == required.size) None else Some(RowPredicate(condition, columns, positions))
    }
  }

  private def isUsable(filter: Expression): Boolean =
    filter.deterministic && filter.references.nonEmpty && !filter.exists {
      // Bound to a column before evaluation.
      case _: AttributeReference => false
      case _: SubqueryExpression | _: Unevaluable | _: UserDefinedExpression => true
      case _ => false
    }

  private def isOver(filter: Expression, required: StructType): Boolean =
    filter.references.forall { attribute =>
      required.fields.count(_.name == attribute.name) == 1 && required(
        attribute.name
      ).dataType == attribute.dataType
    }
}
