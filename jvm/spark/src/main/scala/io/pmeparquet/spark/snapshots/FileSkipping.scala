package io.pmeparquet.spark.snapshots

import scala.collection.mutable

import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.schema.{MessageType, PrimitiveType, Type, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.datasources.parquet.{ParquetOptions, ParquetUtils}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.summary._
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.spark.session.SparkAccess

/**
 * Judges the files of a table by the indexes of its snapshot. Spark makes predicates of a query's filters
 * ([[FilterTranslation]]), and `FileEvaluation` compares them with what the indexes say of a file. A file is left out only if
 * they prove that no row matches. ''Driver only.''
 *
 * @param schema of the relation's data columns
 * @param partitions the columns whose values are those of directories, whatever files say
 * @param rebaseMode how the read converts dates and times of unknown writers
 * @param masks whether the read shows NULL in columns whose keys it is refused
 */
private[spark] final class FileSkipping private (
    conf: SQLConf,
    schema: StructType,
    partitions: StructType,
    rebaseMode: String,
    masks: Boolean
) {
  import FileSkipping._

  // Filters name columns. If Spark finds columns by id, a name may belong to another column.
  private val isOn =
    conf.parquetFilterPushDown && !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(schema))

  /**
   * Which files of a table a query needs not read.
   *
   * @param filters that each row of the result passes
   * @return the proof that a file has no such row; none if it may have one
   */
  def of(table: SealedTable, filters: Seq[Expression]): SealedFile => Option[Proof] = {
    val indexes = if (isOn && filters.nonEmpty) indexesOf(table) else Nil
    val predicates = FilterTranslation.union(indexes.map(_.schema)).toSeq.flatMap { known =>
      new FilterTranslation(conf, known).of(filters)
    }
    if (predicates.isEmpty) _ => None
    else {
      val useful = UsefulIndexes.of(table.indexes, predicates)
      val columns = indexes
        .filter(index => useful(index.entry))
        .flatMap(index => table.summaries(index.entry).map(new ReadIndex(index, _)))
        .groupBy(_.index.entry.column)
      // Together: a condition that rejects nulls helps another one of the same column.
      val judge = new FileEvaluation(predicates.reduceLeft(FilterApi.and), new LoadedClasses)
      file => judge.holdsNone(known(file, columns), file.rows)
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
        .filterNot(index => isOfPartition(index) || isRebased(index))
    val types = typed.reverse.map(index => index.entry.column -> index.leaf).toMap
    typed.filter(index => types(index.entry.column) == index.leaf)
  }

  /** Whether somebody may read the index and not the column, whose values are then NULL: not those of the index. */
  private def tellsMore(table: SealedTable, index: IndexEntry) =
    !table.snapshot.version.manifest.policy.columns.exists { case (column, key) =>
      column == index.column && key == index.key
    }

  private def isOfPartition(index: TypedIndex) =
    partitions.exists(_.name.equalsIgnoreCase(index.entry.column.head))

  private def isRebased(index: TypedIndex) = rebaseMode.equalsIgnoreCase("LEGACY") &&
    (index.leaf.getLogicalTypeAnnotation match {
      case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
      case _ => false
    })
}

private[spark] object FileSkipping {

  /**
   * @param options of the read, as the user spelled them
   * @param schema of the relation's data columns
   * @param partitions the columns of directories
   * @param masks whether the read shows NULL in columns whose keys it is refused
   */
  def of(
      session: SparkSession,
      options: Map[String, String],
      schema: StructType,
      partitions: StructType,
      masks: Boolean
  ): FileSkipping = {
    val conf = SparkAccess.sqlConf(session)
    val rebaseMode = new ParquetOptions(options, conf).datetimeRebaseModeInRead
    new FileSkipping(conf, schema, partitions, rebaseMode, masks)
  }

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
