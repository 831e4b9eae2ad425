package io.pmeparquet.spark.snapshot

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{InSubqueryExec, ScalarSubquery}
import org.apache.spark.sql.execution.datasources.PartitionDirectory
import org.apache.spark.sql.types.StructType

import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.PmeMetrics
import io.pmeparquet.RecentValues

/**
 * START HERE for skipping. The one place where files are left out, for both of Spark's scans. It remembers what it found
 * for the same filters, so that `EXPLAIN`, the SQL tab and the scan itself list and evaluate once. ''Driver only.''
 *
 * @param roots of the read
 * @param store a store of Xskipper's that the read names
 */
private[spark] final class Skipping private (
    val tables: Seq[SealedTable],
    roots: Seq[Path],
    files: FileSkipping,
    store: Option[StoreSkipping]
) {
  import Skipping._

  @volatile private var recent = none

  /** Forgets what it found: the files are listed again. */
  def refresh(): Unit = recent = none

  def digests: Seq[String] = tables.map(_.digest)

  /**
   * @param listing lists the files that these filters leave
   * @param dataFilters that each row of the result passes
   */
  def choose(partitionFilters: Seq[Expression], dataFilters: Seq[Expression])(
      listing: => Seq[PartitionDirectory]
  ): ChosenFiles = {
    // A subquery of the filters may have a result by now.
    val filters = dataFilters.map(SubqueryResults.in)
    recent.get(Key(partitionFilters, filters)) {
      val ofStore = store.filter(_ => filters.nonEmpty).fold(StoreSkipping.NoProofs)(_.of(filters))
      val chosen = ChosenFiles.of(listing, roots, tables, files.of(_, filters), ofStore)
      PmeMetrics.FILES_SKIPPED.add(chosen.counted.map(table => table.files - table.filesRead).sum)
      chosen
    }
  }

  private def none = new RecentValues[Key, ChosenFiles](MostFilters, Long.MaxValue)
}

private[spark] object Skipping {

  /**
   * @param options of the read
   * @param schema of the relation's data columns
   * @param partitions the columns whose values are those of directories
   */
  def of(
      options: ResolvedOptions,
      schema: StructType,
      partitions: StructType,
      tables: Seq[SealedTable],
      roots: Seq[Path],
      store: Option[StoreSkipping]
  ): Skipping = {
    // A read that shows NULL in columns whose keys it is refused uses fewer indexes.
    val masks = options.masking.isDefined
    val read = new ReadFilters(options, schema, partitions)
    new Skipping(tables, roots, new FileSkipping(read, masks), store)
  }

  private final case class Key(partitionFilters: Seq[Expression], dataFilters: Seq[Expression])

  /** A relation has one scan, which Spark may plan again with other filters. */
  private val MostFilters = 4
}

/** The results of scalar subqueries, which Spark runs before a scan lists its files. ''Driver only.'' */
private[spark] object SubqueryResults {

  /** The filter with values in place of those of its subqueries that have run. */
  def in(filter: Expression): Expression = filter.transform { case subquery: ScalarSubquery =>
    valueOf(subquery).getOrElse(subquery)
  }

  /** Whether a subquery has no result yet. */
  def isMissing(filter: Expression): Boolean = in(filter).exists(_.isInstanceOf[PlanExpression[_]])

  private def valueOf(subquery: ScalarSubquery): Option[Literal] =
    try Some(Literal.create(subquery.eval(InternalRow.empty), subquery.dataType))
    catch {
      // Its requirement that the subquery has run: there is no other way to ask.
      case _: IllegalArgumentException => None
    }
}

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
