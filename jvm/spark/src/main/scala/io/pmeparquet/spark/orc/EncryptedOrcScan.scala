package io.pmeparquet.spark.orc

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.FileSourceOptions
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation
import org.apache.spark.sql.connector.read.{PartitionReaderFactory, Scan}
import org.apache.spark.sql.execution.datasources.{FileFormat, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcScan, OrcScanBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.options.Masking
import io.pmeparquet.spark.read.{
  FileReaderFactory,
  GatedReaderFactory,
  MaskedColumns,
  NoFiles,
  OurScan,
  OurScanBuilder,
  SplitGate
}
import io.pmeparquet.spark.session.PmeSparkException

/** Wraps the scan that Spark's builder of ORC scans builds. ''Driver only.'' */
private[orc] final class EncryptedOrcScanBuilder(
    session: SparkSession,
    options: Map[String, String],
    format: OrcFormat,
    spark: OrcScanBuilder
) extends OurScanBuilder(session, spark.fileIndex, spark.dataSchema, spark) {

  // Statistics of a column that is refused are those of its mask.
  override protected def trustsStatistics: Boolean = !format.acceptsRefusals(session, options)

  override def build(): Scan = EncryptedOrcScan(spark.build(), session, options, format)
}

/**
 * Spark's ORC scan, whose tasks open files as the V1 side does. Aggregates that Spark has pushed are answered by the
 * statistics of the files, behind the same gate. ''Driver only.''
 *
 * @param options of the read
 * @param format the V1 side, which opens files
 */
private[spark] final case class EncryptedOrcScan(
    spark: OrcScan,
    session: SparkSession,
    options: Map[String, String],
    format: OrcFormat
) extends OurScan {

  override def pushedAggregate: Option[Aggregation] = spark.pushedAggregate
  override def masking: Option[Masking] = format.maskingOf(session, options)
  override def masked: MaskedColumns = format.masked
  override def withConditions(columns: Set[String]): EncryptedOrcScan =
    copy(format = format.withConditions(columns))

  override def createReaderFactory(): PartitionReaderFactory =
    spark.pushedAggregate.fold(ofRows)(ofAggregates)

  private def ofRows: PartitionReaderFactory = {
    val result = StructType(spark.readDataSchema.fields ++ spark.readPartitionSchema.fields)
    val columnar = format.supportBatch(session, result)
    val read = format.buildReaderWithPartitionValues(
      session,
      spark.dataSchema,
      spark.readPartitionSchema,
      spark.readDataSchema,
      spark.pushedFilters.toSeq,
      options + (FileFormat.OPTION_RETURNING_BATCH -> columnar.toString),
      new Configuration(spark.hadoopConf)
    )
    new FileReaderFactory(read, result, columnar, new FileSourceOptions(options))
  }

  private def ofAggregates(aggregation: Aggregation): PartitionReaderFactory = {
    val names = aggregation.aggregateExpressions.flatMap(_.references).map(_.fieldNames.head)
    // This ignores case: it may ask for the key of one column too many, and never for one too few.
    val wanted = spark.dataSchema.filter(field => names.exists(field.name.equalsIgnoreCase))
    val gate = format.gate(session, options, spark.hadoopConf, spark.dataSchema, StructType(wanted))
    val files = new GatedReaderFactory(spark.createReaderFactory(), new StatisticsGate(gate))
    NoFiles.or(files, aggregation, spark.readDataSchema)
  }
}

/** The gate before statistics, which ORC's reader opens for every column at once. ''Crosses the wire.'' */
private final class StatisticsGate(gate: OrcSplitGate) extends SplitGate {
  override def pass(split: PartitionedFile): Unit = gate.pass(split)

  override def translate(failed: Throwable, files: String): Throwable =
    PmeException.find(failed).filter(_.condition == Condition.KeyDenied).fold(gate.translate(failed, files)) {
      denied => PmeSparkException.of(PmeErrors.orcStatisticsDenied(files, denied.problem, denied))
    }

  override def toString: String = s"StatisticsGate($gate)"
}
