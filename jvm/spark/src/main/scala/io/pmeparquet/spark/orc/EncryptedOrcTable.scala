package io.pmeparquet.spark.orc

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, Count, CountStar}
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.execution.datasources.{FileFormat, FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.v2.orc.{OrcScan, OrcScanBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{KeyRefusal, PmeErrors, PmeException}
import io.pmeparquet.options.Masking
import io.pmeparquet.spark.read.{
  AdmittedReaderFactory,
  EncryptedFileScan,
  EncryptedFileScanBuilder,
  EncryptedFileTable,
  FileReaderFactory,
  IteratorReader,
  MaskedColumns,
  SplitAdmission,
  UnsafeRowReader
}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshot.{NothingSkipped, SealState}

/** The V2 side of encrypted ORC. ''Driver only.'' */
abstract class EncryptedOrcTable private[spark] (
    session: SparkSession,
    tableOptions: CaseInsensitiveStringMap,
    paths: Seq[String],
    userSchema: Option[StructType]
) extends EncryptedFileTable(session, tableOptions, paths, userSchema) {

  /** The V1 side, which opens the files. */
  private[spark] def format: OrcFormat

  override def formatName: String = format.toString

  private[spark] override def schemaOf(
      files: Seq[FileStatus],
      options: Map[String, String]
  ): Option[StructType] = format.inferSchema(session, options, files)

  private[spark] override def scans(options: Map[String, String]): ScanBuilder = {
    val seal = SealState.of(sealedTables(format.resolved(session, options)))
    val read = if (seal.isSealed) NothingSkipped.in(options) else options
    val sparks = new CaseInsensitiveStringMap(EncryptedFileTable.skippingNothing(read).asJava)
    val spark = new OrcScanBuilder(session, fileIndex, schema, dataSchema, sparks)
    new EncryptedOrcScanBuilder(session, read, format.withSeal(seal), spark)
  }
}

/** Wraps the scan that Spark's builder of ORC scans builds. ''Driver only.'' */
private final class EncryptedOrcScanBuilder(
    session: SparkSession,
    options: Map[String, String],
    format: OrcFormat,
    spark: OrcScanBuilder
) extends EncryptedFileScanBuilder(session, spark.fileIndex, spark.dataSchema, spark) {

  // Statistics of a column that is refused are those of its mask. If the table is sealed, Spark would read tails that
  // nobody compares.
  override protected def trustsStatistics: Boolean =
    !format.acceptsRefusals(session, options) && !format.sealState.isSealed

  override def build(): Scan = EncryptedOrcScan(spark.build(), session, options, format)
}

/**
 * Spark's ORC scan, whose tasks open files as the V1 side does. Aggregates that Spark has pushed are answered by the
 * statistics of the files, after the same check. ''Driver only.''
 *
 * @param options of the read
 * @param format the V1 side, which opens files
 */
private[spark] final case class EncryptedOrcScan(
    spark: OrcScan,
    session: SparkSession,
    options: Map[String, String],
    format: OrcFormat
) extends EncryptedFileScan {

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
    new FileReaderFactory(read, read, result, columnar, new FileSourceOptions(options))
  }

  private def ofAggregates(aggregation: Aggregation): PartitionReaderFactory = {
    val names = aggregation.aggregateExpressions.flatMap(_.references).map(_.fieldNames.head)
    // This ignores case: it may ask for the key of one column too many, and never for one too few.
    val wanted = spark.dataSchema.filter(field => names.exists(field.name.equalsIgnoreCase))
    val admission = format.admission(session, options, spark.hadoopConf, spark.dataSchema, StructType(wanted))
    val files = new AdmittedReaderFactory(spark.createReaderFactory(), new StatisticsAdmission(admission))
    // What Spark's functions return for no rows.
    val none = aggregation.aggregateExpressions().toList.map {
      case _: Count | _: CountStar => Long.box(0)
      case _ => null
    }
    new StatisticsReaderFactory(files, none, spark.readDataSchema)
  }
}

/** The check before statistics, which ORC's reader opens for every column at once. ''Crosses the wire.'' */
private final class StatisticsAdmission(admission: OrcSplitAdmission) extends SplitAdmission {
  override def check(split: PartitionedFile): Unit = admission.check(split)

  override def translate(failed: Throwable, files: String): Throwable =
    PmeException
      .find(failed)
      .filter(failed => KeyRefusal.ByKms(failed.condition))
      .fold(admission.translate(failed, files)) { denied =>
        PmeSparkException.of(PmeErrors.orcStatisticsDenied(files, denied.problem, denied))
      }

  override def toString: String = s"StatisticsAdmission($admission)"
}

/**
 * Answers pushed aggregates: of files by their statistics, and for a partition without files as for no rows. ''Crosses the
 * wire.''
 *
 * @param files Spark's factory, which reads statistics
 * @param none what the functions return for no rows
 * @param result the schema of the answer
 */
private final class StatisticsReaderFactory(
    files: PartitionReaderFactory,
    none: List[Any],
    result: StructType
) extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    !isEmpty(partition) && files.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    if (!isEmpty(partition)) files.createReader(partition)
    else {
      val row = Iterator.single[InternalRow](new GenericInternalRow(none.toArray))
      new UnsafeRowReader(new IteratorReader(row), result)
    }

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    files.createColumnarReader(partition)

  private def isEmpty(partition: InputPartition) = partition match {
    case of: FilePartition => of.files.isEmpty
    case _ => false
  }

  override def toString: String = s"StatisticsReaderFactory($files)"
}
