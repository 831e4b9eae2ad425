package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, ExprId, Expression}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.decode.RowPredicate
import io.pmeparquet.spark.options.{ConfResolver, FormatOrigin, PreparedWrite}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshots.{FilesLabel, SealState, WriteSeal}

/**
 * What one instance of the format knows about its relation or scan beyond what Spark tells a format.
 *
 * @param filters the filters of a scan, as Spark's expressions
 * @param conditions the scan's columns that conditions look at; none: no rule has looked yet
 * @param masked the columns that the scan masks, noted while it runs
 * @param whose where the options come from
 * @param prepared the scope that a rule has made for a write
 * @param sealing whether the relation is read by snapshots
 * @param writing whether the write seals the table after its commit
 * @param files how many files a scan reads; none if it is no scan of a sealed table
 * @param readBy under which settings the files are read
 * @param nullChecks the columns, and fields of structs, of which the plan asks only whether they are NULL
 */
private[spark] final case class FormatState(
    filters: Seq[Expression],
    conditions: Option[Set[String]],
    @transient masked: MaskedColumns,
    whose: FormatOrigin,
    @transient prepared: Option[PreparedWrite],
    @transient sealing: SealState = SealState.NotEvaluated,
    @transient writing: WriteSeal = WriteSeal.NotEvaluated,
    @transient files: Option[FilesLabel] = None,
    @transient readBy: Option[ReaderIdentity] = None,
    nullChecks: Set[Seq[String]] = Set.empty
) {

  /**
   * What decides whether two formats are equal. Column ids do not count: Spark gives the columns of each scan of a
   * table new ids.
   */
  def identity: (
      Seq[Expression],
      Option[Set[String]],
      FormatOrigin,
      Option[PreparedWrite],
      Option[Seq[String]],
      Boolean,
      Option[ReaderIdentity],
      Set[Seq[String]]
  ) =
    (
      filters.map(FormatState.withoutIds),
      conditions,
      whose,
      write,
      sealState.digests,
      label.isDefined,
      reader,
      nullChecks
    )

  /** The state; unknown in a deserialized instance, because the field is transient. */
  def sealState: SealState = Option(sealing).getOrElse(SealState.NotEvaluated)

  /** The label; none in a deserialized instance. Equal filters have equal labels, which only take time. */
  def label: Option[FilesLabel] = Option(files).flatten

  /** The reader. A deserialized state has none, because the field is transient. */
  def reader: Option[ReaderIdentity] = Option(readBy).flatten

  /** The prepared write. A deserialized state has none, because the field is transient. */
  def write: Option[PreparedWrite] = Option(prepared).flatten
}

private[spark] object FormatState {

  /** The state of an instance that Spark creates. */
  def of(whose: FormatOrigin): FormatState =
    FormatState(
      Nil,
      None,
      new MaskedColumns,
      whose,
      None,
      readBy = Some(ReaderIdentity.ofCaller(whose.asker))
    )

  private def withoutIds(filter: Expression): Expression = filter.transform {
    case column: AttributeReference => column.withExprId(ExprId(0)).withQualifier(Nil)
  }
}

/**
 * The V1 side of the format, as rules know it: it reads, and keeps what rules note on it. Spark's own `parquet` does
 * the work. This class resolves the settings, gives them to [[PmeCryptoFactory]] and sends them to executors. The class
 * that Spark looks up, `PmeFileFormat`, adds the rules to the session, and writes.
 *
 * ''Driver only''; the functions that it returns cross the wire.
 */
abstract class EncryptedFormat private[spark] (private val state: FormatState)
    extends ParquetFileFormat
    with OurFormat {

  /** The same format with other notes. */
  private[spark] def of(state: FormatState): EncryptedFormat

  private[spark] def sessionRules: SessionRules

  /** The V2 side of the format, for these files and options. */
  private[spark] def v2Table(
      session: SparkSession,
      options: Map[String, String],
      paths: Seq[String],
      schema: StructType
  ): Table

  /** The format of a scan with these filters. */
  private[spark] def withFilters(filters: Seq[Expression]): EncryptedFormat = of(
    state.copy(filters = filters)
  )

  /** The format of a scan that says how many files it reads. */
  private[spark] def withFiles(files: FilesLabel): EncryptedFormat = of(state.copy(files = Some(files)))

  private[spark] override def withConditions(columns: Set[String]): EncryptedFormat =
    of(
      state.copy(
        conditions = Some(state.conditions.getOrElse(Set.empty) ++ columns),
        masked = new MaskedColumns
      )
    )

  /** The format of a scan with these columns of which the plan asks only whether they are NULL. */
  private[spark] def withNullChecks(columns: Set[Seq[String]]): EncryptedFormat =
    if (columns == state.nullChecks) this else of(state.copy(nullChecks = columns))

  private[spark] override def whose: FormatOrigin = state.whose

  private[spark] override def withWhose(other: FormatOrigin): EncryptedFormat = of(state.copy(whose = other))

  private[spark] override def reader: Option[ReaderIdentity] = state.reader

  private[spark] override def withReader(other: ReaderIdentity): EncryptedFormat =
    of(state.copy(readBy = Some(other)))

  private[spark] override def masked: MaskedColumns = state.masked

  /** The format of a write, with its prepared scope. */
  private[spark] def withPrepared(write: PreparedWrite): EncryptedFormat =
    of(state.copy(prepared = Some(write)))

  private[spark] def prepared: Option[PreparedWrite] = state.write

  /** The format of a relation for which [[UseSnapshots]] has looked for snapshots. */
  private[spark] def withSeal(found: SealState): EncryptedFormat = of(state.copy(sealing = found))

  /** The format of a write of which a rule knows whether it seals the table after its commit. */
  private[spark] def withWriteSeal(writing: WriteSeal): EncryptedFormat = of(state.copy(writing = writing))

  private[spark] def writeSeal: WriteSeal = Option(state.writing).getOrElse(WriteSeal.NotEvaluated)

  private[spark] def sealState: SealState = state.sealState

  override def shortName(): String = FormatName.Format

  /** What `EXPLAIN` and the SQL tab call the format of a scan. */
  override def toString: String = "PmeParquet" + state.label.fold("")(files => s" (${files.text})")
  override def hashCode(): Int = state.identity.hashCode()

  // Spark keeps a plan node if its copy equals it, and plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: EncryptedFormat => state.identity == that.state.identity
    case _ => false
  }

  override def inferSchema(
      session: SparkSession,
      parameters: Map[String, String],
      files: Seq[FileStatus]
  ): Option[StructType] = PmeSparkException.translated {
    reader.foreach(_.settle(session))
    val options = ConfResolver.spelled(parameters)
    val resolver = new ConfResolver(session, origin)
    val sealOf = SealState.ofFile(session, resolver, options) _
    SchemaInference.infer(session, options, files, resolver.read(options), sealOf)
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
    reader.foreach(_.readBy(session))
    val resolver = new ConfResolver(session, origin)
    val spelled = ConfResolver.spelled(options)
    val scope = resolver.scan(spelled, requiredSchema)
    PmeCryptoFactory.useForRead(hadoopConf, scope)
    RowReader
      .conf(SparkAccess.sqlConf(session), StructType(partitionSchema.fields ++ requiredSchema.fields))
      .foreach { case (name, value) =>
        hadoopConf.set(name, value)
      }
    // This call also prepares the configuration, which both readers need.
    val spark = super.buildReaderWithPartitionValues(
      session,
      dataSchema,
      partitionSchema,
      requiredSchema,
      filters,
      options,
      hadoopConf
    )
    val seal = SealState.broadcast(session, state.sealState, hadoopConf)(
      resolver.snapshots(spelled).settings,
      sessionRules.install()
    )
    val opening = FileOpening(session, hadoopConf, scope, requiredSchema, seal)
    if (resolver.usesPages(spelled) || SealState.needsPages(state.sealState.isSealed)) {
      val result = StructType(partitionSchema.fields ++ requiredSchema.fields)
      val rules = SparkReadRules.of(SparkAccess.sqlConf(session), result, options)
      val rows = RowPredicate.of(state.filters, requiredSchema)
      val scan = PagedScan(rules, requiredSchema, partitionSchema, filters, rows, state.nullChecks)
      val masking = MaskedScan.of(session, scope.settings.masking, state.conditions, masked, sessionRules)
      new TranslatedRead(new PagesRead(opening.conf, scope, scan, masking, opening.seal), opening)
    } else new GatedRead(spark, opening)
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = true
}
