package io.pmeparquet.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriterFactory, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.{PmeCryptoFactory, WriteRules}
import io.pmeparquet.spark.pages.{PagesRead, RowPredicate, SparkReadRules}

/**
 * The V1 side of the format: all writes, SQL, streaming, and reads by default. Spark's own `parquet` does the work; here
 * the settings are resolved, handed to [[PmeCryptoFactory]] and carried to executors.
 *
 * ''Driver only''; what it returns crosses the wire.
 */
class PmeFileFormat private (
    private val dataFilters: Seq[Expression],
    private val conditions: Option[Set[String]],
    @transient private[spark] val masked: MaskedColumns,
    private val whose: FormatOrigin
) extends ParquetFileFormat {
  SessionSetup.install()

  /** As Spark makes it. */
  def this() = this(Nil, None, new MaskedColumns, FormatOrigin(Asker.here()))

  /** The format of a scan with these filters. */
  private[spark] def withFilters(filters: Seq[Expression]): PmeFileFormat =
    new PmeFileFormat(filters, conditions, masked, whose)

  /** The format of a scan of whose columns conditions look at these, too: a recursive query is planned part by part. */
  private[spark] def withConditions(columns: Set[String]): PmeFileFormat =
    new PmeFileFormat(dataFilters, Some(conditions.getOrElse(Set.empty) ++ columns), new MaskedColumns, whose)

  private def withWhose(other: FormatOrigin): PmeFileFormat =
    if (other == whose) this else new PmeFileFormat(dataFilters, conditions, masked, other)

  /** The format of a relation or write of which [[TellOrigins]] knows whose its options are. */
  private[spark] def withOrigin(known: PmeFileFormat => OptionOrigin): PmeFileFormat =
    withWhose(whose.told(known(this)))

  private[spark] def notedOnce(isStatement: Boolean): PmeFileFormat = withWhose(whose.notedOnce(isStatement))

  /** Whose the options of a relation of this table are, or of a write to it. */
  private[spark] def originAt(table: CatalogTable): OptionOrigin = whose.of(table)

  private[spark] def originOfNew: OptionOrigin = whose.ofNew

  private[spark] def origin: OptionOrigin = whose.origin

  override def shortName(): String = PmeDataSource.Name
  override def toString: String = "PmeParquet"
  override def hashCode(): Int = identity.hashCode()

  // Spark keeps a node of a plan whose copy equals it, and plans the same scan once where it occurs twice.
  override def equals(other: Any): Boolean = other match {
    case that: PmeFileFormat => identity == that.identity
    case _ => false
  }

  private def identity = (dataFilters.map(KeepFilters.withoutIds), conditions, whose)

  override def inferSchema(
      session: SparkSession,
      parameters: Map[String, String],
      files: Seq[FileStatus]
  ): Option[StructType] = PmeSparkException.translated {
    val options = ConfResolver.spelled(parameters)
    SchemaInference.infer(session, options, files, new ConfResolver(session, origin).read(options))
  }

  override def prepareWrite(
      session: SparkSession,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType
  ): OutputWriterFactory = PmeSparkException.translated {
    val conf = job.getConfiguration
    val spelled = ConfResolver.spelled(options)
    // Streaming sinks hand over a configuration without the options, and Spark's own source then ignores them.
    SparkAccess.setOptions(conf, spelled)
    WriteRules.check(conf)
    val resolver = new ConfResolver(session, origin)
    val settings = resolver.writeSettings(spelled, conf)
    ColumnPlan.check(session, dataSchema, settings.files)
    val scope = resolver.write(settings, conf, FileOutputFormat.getOutputPath(job))
    PmeCryptoFactory.useForWrite(conf, scope)
    new PmeOutputWriterFactory(super.prepareWrite(session, job, options, dataSchema), scope)
  }

  override def buildReaderWithPartitionValues(
      session: SparkSession,
      dataSchema: StructType,
      partitionSchema: StructType,
      requiredSchema: StructType,
      filters: Seq[Filter],
      options: Map[String, String],
      hadoopConf: Configuration
  ): PartitionedFile => Iterator[InternalRow] = PmeSparkException.translated {
    val scope = new ConfResolver(session, origin).scan(ConfResolver.spelled(options), requiredSchema)
    PmeCryptoFactory.useForRead(hadoopConf, scope)
    // Asked for in any case: it prepares the configuration that both readers go by.
    val spark = super.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      hadoopConf
    )
    val opening = FileOpening(session, hadoopConf, scope, requiredSchema)
    if (!new ConfResolver(session, origin).usesPages(ConfResolver.spelled(options)))
      new GatedRead(spark, opening, gated = true)
    else {
      val conf = SparkAccess.sqlConf(session)
      val result = StructType(partitionSchema.fields ++ requiredSchema.fields)
      val rules = SparkReadRules.of(conf, result, options)
      val pages = new PagesRead(
        opening.conf,
        scope,
        rules,
        requiredSchema,
        partitionSchema,
        filters,
        RowPredicate.of(dataFilters, requiredSchema),
        MaskedScan.of(session, scope, conditions, masked)
      )
      // The pipeline makes every check of the gate itself, page by page.
      new GatedRead(pages, opening, gated = false)
    }
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = true
}
