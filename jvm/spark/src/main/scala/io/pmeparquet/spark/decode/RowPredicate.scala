package io.pmeparquet.spark.decode

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

/**
 * What of a scan's filters can be judged from a file's own columns, and which columns that takes. ''Crosses the wire.''
 *
 * @param condition over `columns`, by position
 * @param columns the columns it looks at
 * @param positions their places in the schema that the scan reads
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
      // A row on which the filter fails is kept: Spark evaluates it again, and then it is for Spark to say so.
      try predicate.eval(row)
      catch { case NonFatal(_) => true }
  }
}

private[spark] object RowPredicate {

  /**
   * @param filters conjuncts
   * @param required what the scan reads
   * @return none where nothing useful can be judged
   */
  def of(filters: Seq[Expression], required: StructType): Option[RowPredicate] = {
    val usable = filters.filter(filter => isUsable(filter) && isOver(filter, required))
    // Nearly every query has tests for null; by themselves they leave out too little to pay.
    if (usable.forall(_.isInstanceOf[IsNotNull])) None
    else {
      val names = usable.flatMap(_.references.map(_.name)).distinct
      val positions = names.map(required.fieldIndex).sorted
      val columns = StructType(positions.map(required(_)))
      val condition = usable.reduce(And).transform { case attribute: AttributeReference =>
        BoundReference(columns.fieldIndex(attribute.name), attribute.dataType, nullable = true)
      }
      // With all columns in the filter, nothing is left that could be read later.
      if (positions.size == required.size) None else Some(RowPredicate(condition, columns, positions))
    }
  }

  private def isUsable(filter: Expression): Boolean =
    filter.deterministic && filter.references.nonEmpty && !filter.exists {
      // Bound to a column before it is evaluated.
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
