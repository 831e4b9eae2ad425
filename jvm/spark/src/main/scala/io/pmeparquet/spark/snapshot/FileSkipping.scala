package io.pmeparquet.spark.snapshot

import scala.collection.mutable

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate, Operators}
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.spark.sql.catalyst.expressions.Expression

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary._
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * Evaluates a query's filters ([[FilterTranslation]]) for the files of a table: `FileEvaluation` compares them with what
 * the indexes of its snapshot state of a file. A file is left out only if they prove that no row matches. ''Driver only.''
 *
 * @param masks whether the read shows NULL in columns whose keys it is refused
 */
private[snapshot] final class FileSkipping(read: ReadFilters, masks: Boolean) {
  import FileSkipping._

  /**
   * Which files of a table a query needs not read.
   *
   * @param filters that each row of the result passes
   * @return the proof that a file has no such row; none if it may have one
   */
  def of(table: SealedTable, filters: Seq[Expression]): SealedFile => Option[Proof] = {
    lazy val indexes = indexesOf(table)
    val predicates = read.predicates(filters, indexes.map(_.schema))
    if (predicates.isEmpty) _ => None
    else {
      val useful = usefulOf(table.indexes, predicates)
      val columns = indexes
        .filter(index => useful(index.entry))
        .flatMap(index => table.summaries(index.entry).map(new ReadIndex(index, _)))
        .groupBy(_.index.entry.column)
      // Together: a condition that rejects nulls helps another one of the same column.
      val evaluation = new FileEvaluation(predicates.reduceLeft(FilterApi.and), new LoadedClasses)
      file => evaluation.holdsNone(known(file, columns), file.rows)
    }
  }

  private def known(file: SealedFile, indexes: Map[Seq[String], Seq[ReadIndex]]) =
    indexes.flatMap { case (column, of) =>
      val summaries = of.flatMap(one => one.summaryOf(file.path).map(one.kind -> _))
      if (summaries.isEmpty) None else Some(column -> new KnownColumn(of.head.index.leaf, summaries))
    }

  /** The indexes that predicates may use. Those of one column are of one type: of another, they prove nothing. */
  private def indexesOf(table: SealedTable): Seq[TypedIndex] = {
    val typed =
      table.indexes
        .filterNot(masks && tellsMore(table, _))
        .flatMap(TypedIndex.of)
        .filter(index => read.reads(index.entry.column, isTime(index.leaf)))
    val types = typed.reverse.map(index => index.entry.column -> index.leaf).toMap
    typed.filter(index => types(index.entry.column) == index.leaf)
  }

  /** Whether somebody may read the index and not the column, whose values are then NULL: not those of the index. */
  private def tellsMore(table: SealedTable, index: IndexEntry) =
    !table.snapshot.version.manifest.policy.columns.exists { case (column, key) =>
      column == index.column && key == index.key
    }
}

private object FileSkipping {
  private def isTime(leaf: PrimitiveType) = leaf.getLogicalTypeAnnotation match {
    case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
    case _ => false
  }

  /**
   * Which indexes of a table can prove something for predicates: the others are not read. Bloom filters, which are by far
   * the largest, only know whether a file may hold a value.
   *
   * @param indexes of the table
   */
  private def usefulOf(indexes: Seq[IndexEntry], predicates: Seq[FilterPredicate]): IndexEntry => Boolean = {
    val named = predicates.flatMap(PredicateColumns.of(_).map(_.toArray.toSeq)).toSet
    val sought = predicates.flatMap(equalities).toSet
    // Every index counts nulls.
    val others = indexes.filterNot(isBloom).map(_.column).toSet
    index => named(index.column) && (!isBloom(index) || sought(index.column) || !others(index.column))
  }

  private def isBloom(index: IndexEntry) = index.kind match {
    case _: SummaryKind.Bloom => true
    case _ => false
  }

  /** The columns that are compared with values by `=` or `IN`. */
  private def equalities(predicate: FilterPredicate): Seq[Seq[String]] = predicate match {
    case and: Operators.And => equalities(and.getLeft) ++ equalities(and.getRight)
    case or: Operators.Or => equalities(or.getLeft) ++ equalities(or.getRight)
    case eq: Operators.Eq[_] if eq.getValue != null => Seq(pathOf(eq.getColumn))
    case in: Operators.In[_] => Seq(pathOf(in.getColumn))
    case _ => Nil
  }

  private def pathOf(column: Operators.Column[_]) = column.getColumnPath.toArray.toSeq

  /** An index, with its column's type. */
  private final class TypedIndex(val entry: IndexEntry, val schema: MessageType, val leaf: PrimitiveType)

  private object TypedIndex {

    /** None for a column of a type that parquet-java does not know. */
    def of(entry: IndexEntry): Option[TypedIndex] =
      ColumnTypeText.parsed(entry.columnType, entry.column.last).map { leaf =>
        val top = entry.column.init
          .foldRight[Type](leaf)((name, inner) => Types.optionalGroup().addField(inner).named(name))
        new TypedIndex(entry, new MessageType("file", top), leaf)
      }
  }

  /**
   * The classes of the user's for one query. A table has only content of those that the options of the read name
   * ([[SnapshotReads]]), so no others are asked for.
   */
  private final class LoadedClasses extends (SummaryKind.OfClass => Option[SummaryClass]) {
    private val loaded = mutable.Map.empty[SummaryKind.OfClass, SummaryClass]

    override def apply(kind: SummaryKind.OfClass): Option[SummaryClass] =
      Some(loaded.getOrElseUpdate(kind, SummaryClasses.load(kind)))
  }

  /** @param summaryOf what the index says of a file, by its path */
  private final class ReadIndex(val index: TypedIndex, val summaryOf: String => Option[ColumnSummary]) {
    val kind: SummaryKind = index.entry.kind
  }
}
