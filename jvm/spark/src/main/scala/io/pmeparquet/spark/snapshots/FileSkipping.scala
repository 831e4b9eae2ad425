package io.pmeparquet.spark.snapshots

import scala.collection.JavaConverters._
import scala.util.Try

import org.apache.parquet.column.statistics.Statistics
import org.apache.parquet.column.Encoding
import org.apache.parquet.filter2.predicate.{FilterPredicate, LogicalInverseRewriter}
import org.apache.parquet.filter2.statisticslevel.StatisticsFilter
import org.apache.parquet.hadoop.metadata.{ColumnChunkMetaData, ColumnPath, CompressionCodecName}
import org.apache.parquet.schema.{MessageType, MessageTypeParser, PrimitiveType}
import org.apache.parquet.schema.LogicalTypeAnnotation.{
  DateLogicalTypeAnnotation,
  TimestampLogicalTypeAnnotation
}
import org.apache.spark.sql.catalyst.expressions.{Expression, FileSourceConstantMetadataAttribute}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.DataSourceUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.pmeparquet.parquet.schema.PredicateColumns
import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.spark.decode.VectorizedLink

/**
 * Leaves out files that hold no row for a query, by the ranges in a snapshot. It judges a file as Spark and parquet-java
 * judge a row group: Spark makes a predicate from the query's filters, and parquet-java's filter compares it with
 * statistics, which here are those of the whole file. A file is left out only if they prove that no row matches. ''Driver
 * only.''
 *
 * @param schema of the relation's data columns
 * @param partitions the columns whose values are those of directories, whatever files say
 * @param rebaseMode how the read converts dates and times of unknown writers
 */
private[spark] final class FileSkipping(
    conf: SQLConf,
    schema: StructType,
    partitions: StructType,
    rebaseMode: String
) {
  import FileSkipping._

  // Filters name columns. If Spark finds columns by id, a name may belong to another column.
  private val isOn =
    conf.parquetFilterPushDown && !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(schema))

  /**
   * Which files of a table a query needs not read.
   *
   * @param filters that each row of the result passes
   * @return whether a file has no such row
   */
  def of(table: SealedTable, filters: Seq[Expression]): SealedFile => Boolean = {
    val indexes =
      if (isOn && filters.nonEmpty) table.snapshot.version.manifest.indexes.flatMap(typed) else Nil
    val predicates = filters.filterNot(readsMetadata).flatMap(predicateOf(_, indexes))
    if (predicates.isEmpty) _ => false
    else {
      val used = predicates.flatMap(pathsOf).toSet
      val ranges = indexes
        .filter(index => used(index.entry.column))
        .flatMap(index => table.summaries(index.entry).map(index -> _))
        .map { case (index, found) => index.entry.column -> new Ranges(index, found) }
        .toMap
      file => predicates.exists(proves(_, file, ranges))
    }
  }

  private def pathsOf(predicate: FilterPredicate): Seq[Seq[String]] =
    PredicateColumns.of(predicate).toSeq.map(_.toArray.toSeq)

  private def readsMetadata(filter: Expression) = filter.references.exists {
    case FileSourceConstantMetadataAttribute(_) => true
    case _ => false
  }

  private def predicateOf(filter: Expression, indexes: Seq[TypedIndex]): Option[FilterPredicate] =
    indexes
      .map(_.schema)
      .reduceOption(_.union(_))
      .flatMap { known =>
        val spark = VectorizedLink.get.parquetFilters(
          known,
          conf.parquetFilterPushDownDate,
          conf.parquetFilterPushDownTimestamp,
          conf.parquetFilterPushDownDecimal,
          conf.parquetFilterPushDownStringPredicate,
          conf.parquetFilterPushDownInFilterThreshold,
          conf.caseSensitiveAnalysis,
          // Ranges are of files in the calendar of today.
          DataSourceUtils.datetimeRebaseSpec(ofThisSpark, "CORRECTED")
        )
        PushedFilters.of(filter).flatMap(spark.createFilter(_))
      }
      .map(LogicalInverseRewriter.rewrite)

  /** An index whose type can be read; none for dates and times that the read converts. */
  private def typed(entry: IndexEntry): Option[TypedIndex] = TypedIndex.of(entry).filterNot { index =>
    partitions.exists(_.name.equalsIgnoreCase(entry.column.head)) || rebaseMode.equalsIgnoreCase(
      "LEGACY"
    ) && (index.leaf.getLogicalTypeAnnotation match {
      case _: DateLogicalTypeAnnotation | _: TimestampLogicalTypeAnnotation => true
      case _ => false
    })
  }

  /** A file without the range of a column that the predicate names proves nothing. */
  private def proves(
      predicate: FilterPredicate,
      file: SealedFile,
      ranges: Map[Seq[String], Ranges]
  ): Boolean = {
    val columns = pathsOf(predicate).map(path => ranges.get(path).flatMap(_.chunk(file)))
    columns.nonEmpty && columns.forall(_.isDefined) && StatisticsFilter.canDrop(
      predicate,
      columns.flatten.asJava
    )
  }
}

private object FileSkipping {

  /** An index, with its column's type. */
  final class TypedIndex(val entry: IndexEntry, val schema: MessageType, val leaf: PrimitiveType)

  object TypedIndex {

    /** None for a column whose name or type the text of a schema cannot hold. */
    def of(entry: IndexEntry): Option[TypedIndex] = Try {
      val groups = entry.column.dropRight(1)
      val text =
        groups.map(name => s"optional group $name { ").mkString + entry.columnType + ";" + " }" * groups.size
      MessageTypeParser.parseMessageType(s"message file { $text }")
    }.toOption
      .filter(schema => schema.getPaths.asScala.map(_.toSeq).toSeq == Seq(entry.column))
      .map(schema => new TypedIndex(entry, schema, schema.getType(entry.column: _*).asPrimitiveType))
  }

  /** The ranges of one column, as metadata of column chunks. */
  final class Ranges(index: TypedIndex, of: String => Option[ColumnSummary]) {
    def chunk(file: SealedFile): Option[ColumnChunkMetaData] = of(file.path).collect { case range: ColumnSummary.Range =>
      val builder = Statistics.getBuilderForReading(index.leaf)
      range.bounds.foreach { case (min, max) => builder.withMin(min).withMax(max) }
      ColumnChunkMetaData.get(
        ColumnPath.get(index.entry.column: _*),
        index.leaf,
        CompressionCodecName.UNCOMPRESSED,
        null,
        NoEncodings,
        builder.withNumNulls(range.nulls).build(),
        0L,
        0L,
        file.rows,
        0L,
        0L
      )
    }
  }

  private val NoEncodings = java.util.Collections.emptySet[Encoding]

  /** What a file of this calendar says of itself. */
  val ofThisSpark: String => String = name => if (name == "org.apache.spark.version") "4.0.0" else null
}
