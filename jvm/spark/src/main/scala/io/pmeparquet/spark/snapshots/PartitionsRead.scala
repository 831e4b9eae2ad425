package io.pmeparquet.spark.snapshots

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.InSubqueryExec
import org.apache.spark.sql.types.StructType

/**
 * The filters of a V1 scan on its partitions: those that Spark lists files with, and those that depend on other parts of
 * the query, with which it drops partitions of the list when the query runs. ''Driver only.''
 *
 * @param columns the columns of directories
 */
private[spark] final class PartitionsRead(columns: StructType, filters: Seq[Expression]) {
  private val (later, first) = filters.partition(_.exists(_.isInstanceOf[PlanExpression[_]]))

  def static: Seq[Expression] = first

  /** Whether the query prunes partitions when it runs. */
  def prunesLater: Boolean = later.nonEmpty

  /** Whether the scan reads a partition with these values; none if the query has not run. */
  def isRead: Option[InternalRow => Boolean] = {
    val known = later.map(SubqueryResults.in)
    if (!known.forall(isKnown)) None
    else {
      val predicate =
        Predicate.create(bound(known.reduceOption(And(_, _)).getOrElse(Literal.TrueLiteral)), Nil)
      predicate.initialize(0)
      Some(predicate.eval(_))
    }
  }

  private def isKnown(filter: Expression) = filter
    .collect {
      case in: InSubqueryExec => in.values().isDefined
      case _: PlanExpression[_] => false
    }
    .forall(identity)

  private def bound(filter: Expression) = filter.transform { case column: AttributeReference =>
    BoundReference(columns.indexWhere(_.name == column.name), column.dataType, nullable = true)
  }
}

/**
 * What `EXPLAIN` and the SQL tab say of the files of a V1 scan. Nothing is listed before somebody asks; the scan then
 * finds the files that were listed for this. ''Driver only.''
 *
 * @param prunesBuckets whether the scan leaves out more files by their buckets
 */
private[spark] final class FilesLabel(
    index: SealedIndex,
    partitionFilters: Seq[Expression],
    dataFilters: Seq[Expression],
    prunesBuckets: Boolean
) {
  def text: String = {
    val partitions = new PartitionsRead(index.partitionSchema, partitionFilters)
    val atMost = prunesBuckets || partitions.prunesLater || dataFilters.exists(SubqueryResults.isMissing)
    ScannedFiles.text(index.chosen(partitions.static, dataFilters).counted, atMost)
  }
}
