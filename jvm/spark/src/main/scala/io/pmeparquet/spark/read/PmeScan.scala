package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.parquet.{ParquetReadSupport, ParquetUtils}
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetScan, ParquetScanBuilder}
import org.apache.spark.sql.execution.WholeStageCodegenExec
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.Masking
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.decode.RowPredicate
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshots.{ChosenFiles, CountsFiles, ScannedFiles, SealState, SealedFileIndex}

/** Makes, for one V2 scan, the function with which its tasks open a file. ''Driver only.'' */
private[spark] final case class FileOpeningOf(
    session: SparkSession,
    options: CaseInsensitiveStringMap,
    scope: ReadScope,
    rules: SessionRules,
    seal: Option[Broadcast[FileSeal]]
) {
  def apply(columns: StructType): FileOpening =
    of(SparkAccess.hadoopConf(session, options.asCaseSensitiveMap().asScala.toMap), columns)

  def of(conf: Configuration, columns: StructType): FileOpening =
    FileOpening(session, conf, scope, columns, seal)

  def usesPages: Boolean =
    new ConfResolver(session).usesPages(options.asCaseSensitiveMap().asScala.toMap) ||
      SealState.needsPages(seal.isDefined)
}

/**
 * Wraps the scan that Spark's builder of Parquet scans builds. ''Driver only.''
 *
 * @param another makes a builder like `spark`, into which nothing was pushed
 */
private[spark] final class PmeScanBuilder(
    spark: ParquetScanBuilder,
    another: () => ParquetScanBuilder,
    opening: FileOpeningOf
) extends OurScanBuilder(opening.session, spark.fileIndex, spark.dataSchema, spark) {

  // If a read may mask columns, nobody can have the statistics of a masked one. If only some files refuse it, an
  // aggregate would show values of the others. If the table is sealed, Spark would read footers that nobody compares.
  override protected def trustsStatistics: Boolean =
    opening.scope.settings.masking.isEmpty && opening.seal.isEmpty

  override def build(): Scan = {
    val built = spark.build()
    PmeScan(built, opening, aggregates = built.pushedAggregate.map(pushed(built, _)))
  }

  private def pushed(built: ParquetScan, aggregation: Aggregation): PushedAggregates = {
    val conf = SparkAccess.sqlConf(opening.session)
    val partitions = built.readPartitionSchema
    val asked = FileAggregates
      .of(aggregation, spark.dataSchema, partitions, built.readDataSchema, conf.caseSensitiveAnalysis)
    val rows = another()
    rows.pruneColumns(asked.rows)
    PushedAggregates(asked, rows.build())
  }
}

/**
 * What a scan asks files for in place of rows.
 *
 * @param rows Spark's scan of the rows, for files whose footers do not answer
 */
private[spark] final case class PushedAggregates(asked: FileAggregates, rows: ParquetScan)

/**
 * Spark's Parquet scan, whose tasks open files behind our gate. ''Driver only.''
 *
 * @param conditions the columns that conditions look at, if [[ConditionColumns]] has run
 * @param nullChecks the columns, and fields of structs, of which the plan asks only whether they are NULL
 */
private[spark] final case class PmeScan(
    spark: ParquetScan,
    opening: FileOpeningOf,
    conditions: Option[Set[String]] = None,
    aggregates: Option[PushedAggregates] = None,
    nullChecks: Set[Seq[String]] = Set.empty
) extends OurScan
    with CountsFiles {
  import PmeScan.FilesEntry

  override val masked: MaskedColumns = new MaskedColumns

  override def withConditions(columns: Set[String]): PmeScan =
    copy(conditions = Some(conditions.getOrElse(Set.empty) ++ columns))

  override def pushedAggregate: Option[Aggregation] = spark.pushedAggregate

  override def masking: Option[Masking] = opening.scope.settings.masking

  override def description(): String =
    spark.description() + filesText.fold("")(text => s", $FilesEntry: $text")
  override def getMetaData(): Map[String, String] = spark.getMetaData() ++ filesText.map(FilesEntry -> _)

  override def supportedCustomMetrics(): Array[CustomMetric] =
    if (readsPages) ReadMetrics.supported else Array.empty

  override def scannedFiles: Seq[ScannedFiles] = chosen.getOrElse {
    val index = spark.fileIndex
    ChosenFiles.all(index.listFiles(spark.partitionFilters, spark.dataFilters), index.rootPaths)
  }.counted

  private def chosen: Option[ChosenFiles] = spark.fileIndex match {
    case ours: SealedFileIndex => Some(ours.chosen(spark.partitionFilters, spark.dataFilters))
    case _ => None
  }

  private def filesText = chosen.map(files => ScannedFiles.text(files.counted, atMost = false))

  private def readsPages = aggregates.isEmpty && opening.usesPages

  override def createReaderFactory(): PartitionReaderFactory =
    aggregates.fold(rows)(pushed =>
      NoFiles.or(answers(pushed), spark.pushedAggregate.get, spark.readDataSchema)
    )

  private def answers(pushed: PushedAggregates): PartitionReaderFactory = {
    val conf = SparkAccess.sqlConf(opening.session)
    new AggregatesReaderFactory(
      pushed.asked,
      copy(spark = pushed.rows, aggregates = None).rows,
      // Rows are read behind a gate of their own.
      opening(new StructType()),
      opening.scope,
      byName = !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(pushed.asked.columns)),
      conf.caseSensitiveAnalysis
    )
  }

  private def rows: PartitionReaderFactory = {
    // This call also prepares the configuration, which both readers need.
    val factory = spark.createReaderFactory()
    if (readsPages) pages(opening.of(spark.hadoopConf, spark.readDataSchema))
    else new GatedReaderFactory(factory, opening(spark.readDataSchema))
  }

  private def pages(opened: FileOpening): PartitionReaderFactory = {
    val conf = SparkAccess.sqlConf(opening.session)
    val json = spark.hadoopConf.get(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA)
    val required = DataType.fromJson(json).asInstanceOf[StructType]
    val partitions = spark.readPartitionSchema
    val result = StructType(required.fields ++ partitions.fields)
    val rules = SparkReadRules.of(conf, result, opening.options.asCaseSensitiveMap().asScala.toMap)
    val masking =
      MaskedScan.of(opening.session, opening.scope.settings.masking, conditions, masked, opening.rules)
    val rows = RowPredicate.of(spark.dataFilters, required)
    val scan = PagedScan(rules, required, partitions, spark.pushedFilters.toSeq, rows, nullChecks)
    def read(batches: Boolean) =
      new PagesRead(
        opened.conf,
        opening.scope,
        scan.copy(rules = rules.copy(returningBatch = batches)),
        masking,
        opening.seal
      )
    val columnar = conf.parquetVectorizedReaderEnabled && conf.wholeStageEnabled &&
      !WholeStageCodegenExec.isTooManyFields(conf, result) && rules.vectorized
    val fileOptions = new FileSourceOptions(opening.options.asCaseSensitiveMap().asScala.toMap)
    new PagesReaderFactory(read(batches = false), read(batches = true), result, opened, columnar, fileOptions)
  }
}

private object PmeScan {

  /** How `EXPLAIN` calls what [[ScannedFiles.text]] says. */
  private val FilesEntry = "Files"
}
