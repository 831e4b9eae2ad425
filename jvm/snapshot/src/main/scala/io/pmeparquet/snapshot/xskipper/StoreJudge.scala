package io.pmeparquet.snapshot.xskipper

import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, Operators}
import org.apache.parquet.io.api.Binary

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary.{ColumnSummary, FileJudge, KnownColumn, SummaryKind}

/** Whether one of Spark's sketches can hold a value: a `Long`, or a text as `Binary`. */
private[pmeparquet] trait SketchLookup {

  /** @param filter as [[StoredSummary.Sketch]] has it */
  def mightContain(filter: Array[Byte], value: Any): Boolean
}

/**
 * Decides whether a data file can hold a row for a query, by what a store says of it. [[FileJudge]] judges; this adds
 * what is different in a store: it does not count nulls, its bounds of floating-point columns may leave out NaN, and its
 * Bloom filters are Spark's. For one thread.
 *
 * @param conditions each of which a row must fulfil, without NOT (`LogicalInverseRewriter`)
 * @param types of the columns, by their paths in the conditions
 */
private[pmeparquet] final class StoreJudge(
    conditions: Seq[FilterPredicate],
    types: Map[Seq[String], StoredType],
    sketches: SketchLookup
) {
  import StoreJudge._

  private val condition: Option[FilterPredicate] = conditions.reduceOption(FilterApi.and)

  /** @param summaries of the file, by the paths of their columns */
  def holdsNone(summaries: Map[Seq[String], Seq[StoredSummary]]): Boolean = condition.exists { whole =>
    val known = summaries.map { case (path, all) =>
      path -> all.collect { case StoredSummary.Known(of, summary) if types.get(path).contains(of) => summary }
    }
    withoutSketched(whole, summaries).forall(left => isProved(left, known))
  }

  private def isProved(
      predicate: FilterPredicate,
      known: Map[Seq[String], Seq[ColumnSummary]]
  ): Boolean = {
    val exact = known.map { case (path, all) => path -> all.filterNot(mayLackNaN(path, _)) }
    judged(withoutNaN(predicate), known) || judged(predicate, exact) ||
    // A list is proved value by value: then conditions that no value fulfils count together.
    exact.exists { case (path, some) =>
      some.exists {
        case ColumnSummary.ValueList(values, _) if values.nonEmpty && values.size <= MostJudgedAlone =>
          values.forall { value =>
            val one = ColumnSummary.Range(Some(value -> value), StoredSummary.UnknownNulls)
            judged(predicate, exact.updated(path, Seq(one)))
          }
        case _ => false
      }
    }
  }

  private def judged(predicate: FilterPredicate, known: Map[Seq[String], Seq[ColumnSummary]]): Boolean =
    FileJudge
      .holdsNone(
        predicate,
        known.map { case (path, all) =>
          path -> new KnownColumn(types(path).leaf(path.last), all.map(withUnknownNulls))
        },
        RowsOfUnknownNumber
      )
      .isDefined

  private def mayLackNaN(path: Seq[String], summary: ColumnSummary) = summary match {
    case ColumnSummary.Range(_, _) => isFloating(path)
    case _ => false
  }

  private def isFloating(path: Seq[String]) =
    types.get(path).exists(of => of == StoredType.Float || of == StoredType.Double)

  /**
   * The predicate for ranges that may leave out NaN, which is greater than all other values: comparisons that NaN may
   * fulfil become NOT, which nothing proves.
   */
  private def withoutNaN(predicate: FilterPredicate): FilterPredicate = predicate match {
    case and: Operators.And => FilterApi.and(withoutNaN(and.getLeft), withoutNaN(and.getRight))
    case or: Operators.Or => FilterApi.or(withoutNaN(or.getLeft), withoutNaN(or.getRight))
    // FileJudge judges no comparison with NaN.
    case _: Operators.Eq[_] | _: Operators.In[_] | _: Operators.Lt[_] | _: Operators.LtEq[_] => predicate
    case other if columnOf(other).forall(isFloating) => FilterApi.not(other)
    case other => other
  }

  /** The predicate without comparisons that the file's Bloom filters rule out; none if nothing is left. */
  private def withoutSketched(
      predicate: FilterPredicate,
      summaries: Map[Seq[String], Seq[StoredSummary]]
  ): Option[FilterPredicate] = {
    def left(one: FilterPredicate): Option[FilterPredicate] = one match {
      case and: Operators.And =>
        for (first <- left(and.getLeft); second <- left(and.getRight)) yield FilterApi.and(first, second)
      case or: Operators.Or =>
        (left(or.getLeft), left(or.getRight)) match {
          case (Some(first), Some(second)) => Some(FilterApi.or(first, second))
          case (first, second) => first.orElse(second)
        }
      case eq: Operators.Eq[_] => if (isRuledOut(eq.getColumn, Seq(eq.getValue))) None else Some(eq)
      case in: Operators.In[_] =>
        if (isRuledOut(in.getColumn, in.getValues.asScala.toSeq)) None else Some(in)
      case other => Some(other)
    }
    def isRuledOut(column: Operators.Column[_], values: Seq[Any]) = {
      val path = column.getColumnPath.toArray.toSeq
      val filters = summaries.getOrElse(path, Nil).collect { case StoredSummary.Sketch(filter) => filter }
      filters.nonEmpty && values.forall { value =>
        sketched(path, value).exists(one => filters.exists(!sketches.mightContain(_, one)))
      }
    }
    left(predicate)
  }

  /** The value as Xskipper puts it into a filter; none for one that a filter does not tell of. */
  private def sketched(path: Seq[String], value: Any): Option[Any] = (types.get(path), value) match {
    case (Some(StoredType.Text), text: Binary) => Some(text)
    case (Some(_: StoredType.Whole), number: Integer) => Some(number.toLong)
    case (Some(_: StoredType.Whole), number: java.lang.Long) => Some(number.toLong)
    case _ => None
  }
}

private object StoreJudge {

  /** Longer lists are only asked for single values. */
  private val MostJudgedAlone = 256

  /** Of a file with some nulls and some other values, which is all that [[FileJudge]] makes of the numbers. */
  private val RowsOfUnknownNumber = 2L
  private val SomeNulls = 1L

  private def withUnknownNulls(summary: ColumnSummary): (SummaryKind, ColumnSummary) = summary match {
    case ColumnSummary.Range(bounds, _) => SummaryKind.MinMax -> ColumnSummary.Range(bounds, SomeNulls)
    case ColumnSummary.ValueList(values, _) =>
      SummaryKind.ValueList(values.size) -> ColumnSummary.ValueList(values, SomeNulls)
    case other => throw new IllegalStateException(s"internal error: a store has no $other")
  }

  private def columnOf(predicate: FilterPredicate): Option[Seq[String]] =
    PredicateColumns
      .of(predicate)
      .headOption
      .map(_.toArray.toSeq)
}
