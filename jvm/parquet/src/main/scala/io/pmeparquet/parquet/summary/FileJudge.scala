package io.pmeparquet.parquet.summary

import scala.util.control.NonFatal

import org.apache.parquet.filter2.predicate.{FilterPredicate, Operators}
import org.apache.parquet.schema.PrimitiveType

import io.pmeparquet.PmeErrors

/**
 * A column of one file, as far as its summaries tell.
 *
 * @param leaf the type that the summaries are of
 * @param summaries in the order in which they are asked
 */
final class KnownColumn(val leaf: PrimitiveType, val summaries: Seq[(SummaryKind, ColumnSummary)])

/**
 * That no row of a file matches.
 *
 * @param uses the columns and the kinds of summaries that prove it
 */
final case class Proof(uses: Set[(Seq[String], SummaryKind)])

/**
 * Decides whether a file can hold a row for a predicate. It recurses over AND and OR, and has parquet-java's filters
 * judge each comparison, from what the summaries of its column say, as they judge a row group. What is not proved may match:
 * unknown columns, other types, NaN, NOT. For one thread.
 *
 * @param predicate without NOT (`LogicalInverseRewriter`)
 * @param classes the classes of the user's that this query may use
 */
final class FileJudge(
    predicate: FilterPredicate,
    classes: SummaryKind.OfClass => Option[SummaryClass] = FileJudge.NoClasses
) {
  import FileJudge._

  private val tree = Node.of(predicate)

  /**
   * @param columns of the file, by their paths
   * @param rows of the file
   * @return none if a row may match
   * @throws io.pmeparquet.PmeException if a class of the user's fails
   */
  def holdsNone(columns: Map[Seq[String], KnownColumn], rows: Long): Option[Proof] =
    new OneFile(columns, rows).proof(tree, Set.empty)

  private final class OneFile(columns: Map[Seq[String], KnownColumn], rows: Long) {
    private val prepared = scala.collection.mutable.Map.empty[Seq[String], Seq[KnownSummary]]

    private def summaries(path: Seq[String]): Seq[KnownSummary] = prepared.getOrElseUpdate(
      path,
      columns.get(path).toSeq.flatMap { column =>
        column.summaries.map { case (kind, summary) =>
          new KnownSummary(path, column.leaf, kind, summary, rows)
        }
      }
    )

    /** @param notNull columns that are null in no row which counts: another part of an AND rejects those rows */
    def proof(node: Node, notNull: Set[Seq[String]]): Option[Proof] = node match {
      case Node.All(parts) =>
        val rejected = notNull ++ parts.collect { case Node.One(one) if !one.acceptsNull => one.path }
        first(parts)(proof(_, rejected))
      case Node.Any(parts) =>
        val proofs = parts.iterator.map(proof(_, notNull)).takeWhile(_.isDefined).flatten.toList
        if (proofs.size == parts.size) Some(Proof(proofs.flatMap(_.uses).toSet)) else None
      case Node.One(comparison) if comparison.hasNaN => None
      case Node.One(comparison) =>
        first(summaries(comparison.path)) { summary =>
          if (proves(summary, comparison, notNull(comparison.path)))
            Some(Proof(Set(comparison.path -> summary.kind)))
          else None
        }
      case Node.Unknown => None
    }

    private def proves(summary: KnownSummary, comparison: Comparison, isNotNull: Boolean): Boolean = {
      // What follows only knows of values that are not null.
      val mayBeNull = !isNotNull && !summary.nulls.contains(0L)
      !(comparison.acceptsNull && mayBeNull) && comparison.isOf(summary.leaf) && (summary.ofClass match {
        case Some((kind, content)) => classes(kind).exists(asked(kind, _, content, comparison.predicate))
        case None => summary.holdsNone(comparison)
      })
    }
  }
}

object FileJudge {
  private[summary] val NoClasses: SummaryKind.OfClass => Option[SummaryClass] = _ => None

  /** As [[FileJudge.holdsNone]], for one file. */
  def holdsNone(
      predicate: FilterPredicate,
      columns: Map[Seq[String], KnownColumn],
      rows: Long,
      classes: SummaryKind.OfClass => Option[SummaryClass] = NoClasses
  ): Option[Proof] = new FileJudge(predicate, classes).holdsNone(columns, rows)

  private def asked(
      kind: SummaryKind.OfClass,
      instance: SummaryClass,
      content: Array[Byte],
      comparison: FilterPredicate
  ): Boolean =
    try instance.holdsNone(content.clone(), comparison)
    catch {
      case NonFatal(failed) =>
        throw PmeErrors.summaryClassFailed(kind.className, "a query", failed.toString, failed)
    }

  private def first[A](parts: Seq[A])(proof: A => Option[Proof]): Option[Proof] =
    parts.iterator.map(proof).collectFirst { case Some(found) => found }

  private sealed trait Node
  private object Node {
    final case class All(parts: Seq[Node]) extends Node
    final case class Any(parts: Seq[Node]) extends Node
    final case class One(comparison: Comparison) extends Node
    case object Unknown extends Node

    def of(predicate: FilterPredicate): Node = predicate match {
      case and: Operators.And => All(conjuncts(and).map(of))
      case or: Operators.Or => Any(disjuncts(or).map(of))
      case other => Comparison.of(other).fold[Node](Unknown)(One(_))
    }

    private def conjuncts(predicate: FilterPredicate): Seq[FilterPredicate] = predicate match {
      case and: Operators.And => conjuncts(and.getLeft) ++ conjuncts(and.getRight)
      case other => Seq(other)
    }

    private def disjuncts(predicate: FilterPredicate): Seq[FilterPredicate] = predicate match {
      case or: Operators.Or => disjuncts(or.getLeft) ++ disjuncts(or.getRight)
      case other => Seq(other)
    }
  }
}
