package io.pmeparquet.snapshot.xskipper

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, Operators}
import org.apache.parquet.io.api.Binary

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary.{ColumnSummary, FileEvaluation, KnownColumn, Proof, SummaryKind}

/** Opens Spark's sketches. */
private[pmeparquet] trait SketchLookup {

  /**
   * @param filter as [[StoredSummary.Sketch]] has it
   * @return whether the filter can hold a value: a `Long`, or a text as `Binary`
   */
  def open(filter: Array[Byte]): Any => Boolean
}

/**
 * Decides whether a data file can hold a row for a query, by what a store says of it. [[FileEvaluation]] does it; this adds
 * what is different in a store: it does not count nulls, its bounds of floating-point columns may leave out NaN, and its
 * Bloom filters are Spark's. For one thread.
 *
 * @param conditions without NOT (`LogicalInverseRewriter`); a row must fulfil each
 * @param types of the columns, by their paths in the conditions
 */
private[pmeparquet] final class StoreEvaluation(
    conditions: Seq[FilterPredicate],
    types: Map[Seq[String], StoredType],
    sketches: SketchLookup
) {
  import StoreEvaluation._

  private val condition: Option[FilterPredicate] = conditions.reduceOption(FilterApi.and)

  /**
   * @param summaries of the file, by the paths of their columns
   * @return none if a row may match
   */
  def holdsNone(summaries: Map[Seq[String], Seq[StoredSummary]]): Option[Proof] = condition.flatMap { whole =>
    val known = summaries.map { case (path, all) =>
      path -> all.collect { case StoredSummary.Known(of, summary) if types.get(path).contains(of) => summary }
    }
    val sketched = new Sketched(summaries)
    sketched.left(whole) match {
      case None => Some(Proof(sketched.uses))
      case Some(left) => proof(left, known).map(found => Proof(found.uses ++ sketched.uses))
    }
  }

  private def proof(
      predicate: FilterPredicate,
      known: Map[Seq[String], Seq[ColumnSummary]]
  ): Option[Proof] = {
    val exact = known.map { case (path, all) => path -> all.filterNot(mayLackNaN(path, _)) }
    proved(withoutNaN(predicate), known)
      .orElse(proved(predicate, exact))
      .orElse(
        exact.iterator.flatMap { case (path, _) => byValues(predicate, path, exact) }.take(1).toSeq.headOption
      )
  }

  /** Proves it for each value of a list by itself: each may fail another one of the conditions. */
  private def byValues(
      predicate: FilterPredicate,
      path: Seq[String],
      known: Map[Seq[String], Seq[ColumnSummary]]
  ): Option[Proof] = known(path)
    .collectFirst { case ColumnSummary.ValueList(values, _) => values }
    .filter(values => values.nonEmpty && values.size <= MostTriedByOne)
    .filter(_.forall { value =>
      val both = Seq(
        ColumnSummary.Range(Some(value -> value), StoredSummary.UnknownNulls),
        ColumnSummary.ValueList(List(value), StoredSummary.UnknownNulls)
      )
      proved(predicate, known.updated(path, both)).isDefined
    })
    .map(values => Proof(Set(path -> SummaryKind.ValueList(values.size))))

  private def proved(
      predicate: FilterPredicate,
      known: Map[Seq[String], Seq[ColumnSummary]]
  ): Option[Proof] = FileEvaluation.holdsNone(
    predicate,
    known.map { case (path, all) =>
      path -> new KnownColumn(types(path).leaf(path.last), all.map(withUnknownNulls))
    },
    RowsOfUnknownNumber
  )

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
    // FileEvaluation proves no comparison with NaN.
    case _: Operators.Eq[_] | _: Operators.In[_] | _: Operators.Lt[_] | _: Operators.LtEq[_] => predicate
    case other if columnOf(other).forall(isFloating) => FilterApi.not(other)
    case other => other
  }

  /** What the Bloom filters of a file leave of a predicate. */
  private final class Sketched(summaries: Map[Seq[String], Seq[StoredSummary]]) {
    private val ruledOut = mutable.Set.empty[Seq[String]]
    private val opened = mutable.Map.empty[Seq[String], Seq[Any => Boolean]]

    private def filters(path: Seq[String]) = opened.getOrElseUpdate(
      path,
      summaries.getOrElse(path, Nil).collect { case StoredSummary.Sketch(filter) => sketches.open(filter) }
    )

    /** The columns whose filters have ruled something out. */
    def uses: Set[(Seq[String], SummaryKind)] = ruledOut.map(_ -> AnyBloom).toSet

    /** None if no row matches. */
    def left(predicate: FilterPredicate): Option[FilterPredicate] = predicate match {
      case and: Operators.And =>
        for (one <- left(and.getLeft); other <- left(and.getRight)) yield FilterApi.and(one, other)
      case or: Operators.Or =>
        (left(or.getLeft), left(or.getRight)) match {
          case (Some(one), Some(other)) => Some(FilterApi.or(one, other))
          case (one, other) => one.orElse(other)
        }
      case eq: Operators.Eq[_] => kept(eq, eq.getColumn, Seq(eq.getValue))
      case in: Operators.In[_] => kept(in, in.getColumn, in.getValues.asScala.toSeq)
      case other => Some(other)
    }

    private def kept(
        predicate: FilterPredicate,
        column: Operators.Column[_],
        values: Seq[Any]
    ): Option[FilterPredicate] = {
      val path = column.getColumnPath.toArray.toSeq
      val isRuledOut = values.forall { value =>
        sketchedAs(path, value).exists(one => filters(path).exists(mightContain => !mightContain(one)))
      }
      if (isRuledOut) ruledOut += path
      if (isRuledOut) None else Some(predicate)
    }
  }

  /** The value as Xskipper puts it into a filter; none for one that a filter does not tell of. */
  private def sketchedAs(path: Seq[String], value: Any): Option[Any] = (types.get(path), value) match {
    // Xskipper has put other bytes into it.
    case (Some(StoredType.Text), text: Binary) =>
      Some(text).filter(one => StoredSummary.text(one.getBytes).isDefined)
    case (Some(_: StoredType.Whole), number: Integer) => Some(number.toLong)
    case (Some(_: StoredType.Whole), number: java.lang.Long) => Some(number.toLong)
    case _ => None
  }
}

private object StoreEvaluation {

  /** Stores state no fpp that a proof could depend on. */
  private val AnyBloom = SummaryKind.Bloom(0.01, None)

  /** Longer lists are only asked for single values. */
  private val MostTriedByOne = 256

  /** Of a file with some nulls and some other values, which is all that [[FileEvaluation]] makes of the numbers. */
  private val RowsOfUnknownNumber = 2L
  private val SomeNulls = 1L

  private def withUnknownNulls(summary: ColumnSummary): (SummaryKind, ColumnSummary) = summary match {
    case ColumnSummary.Range(bounds, _) => SummaryKind.MinMax -> ColumnSummary.Range(bounds, SomeNulls)
    // All values are null.
    case ColumnSummary.ValueList(Nil, _) =>
      SummaryKind.ValueList(1) -> ColumnSummary.Range(None, RowsOfUnknownNumber)
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
