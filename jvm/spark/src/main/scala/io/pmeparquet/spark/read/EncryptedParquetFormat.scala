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
import io.pmeparquet.spark.options.{FormatOrigin, PreparedWrite, ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.{FilesLabel, LeavesFilesOut, SealState}

/**
 * What one instance of the format knows about its relation or scan beyond what Spark passes to a format.
 *
 * @param filters the filters of a scan, as Spark's expressions
 * @param prepared the scope that a rule has made for a write
 * @param files how many files a scan reads; none if it is no scan of a sealed table
 * @param nullChecks the columns, and fields of structs, that the plan only tests for NULL
 */
private[spark] final case class FormatState(
    notes: FormatNotes,
    filters: Seq[Expression] = Nil,
    @transient prepared: Option[PreparedWrite] = None,
    @transient files: Option[FilesLabel] = None,
    nullChecks: Set[Seq[String]] = Set.empty
) {

  /**
   * What decides whether two formats are equal. Column ids do not count: Spark gives the columns of each scan of a
   * table new ids. Equal filters have equal labels, which only take time.
   */
  def identity: Seq[Any] = Seq(
    notes.identity,
    filters.map(FormatState.withoutIds),
    write,
    label.isDefined,
    nullChecks
  )

  // Transient fields are null in a deserialized instance.
  def label: Option[FilesLabel] = Option(files).flatten
  def write: Option[PreparedWrite] = Option(prepared).flatten
}

private[spark] object FormatState {

  /** The state of an instance that Spark creates. */
  def of(whose: FormatOrigin): FormatState = FormatState(FormatNotes.of(whose))

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
abstract class EncryptedParquetFormat private[spark] (private val state: FormatState)
    extends ParquetFileFormat
    with EncryptedFileFormat
    with LeavesFilesOut {
  private[spark] override type Noted = EncryptedParquetFormat

  @transient @volatile private var scanned: Option[LeftOutFiles] = None

  override def filesLeftOut: Long = Option(scanned).flatten.fold(0L)(_.count)

  /** The same format with another state. */
  private[spark] def of(state: FormatState): EncryptedParquetFormat

  private[spark] def sessionRules: SessionRules

  /** The V2 side of the format, for these files and options. */
  private[spark] def v2Table(
      session: SparkSession,
      options: Map[String, String],
      paths: Seq[String],
      schema: StructType
  ): Table

  /** The format of a scan with these filters. */
  private[spark] def withFilters(filters: Seq[Expression]): EncryptedParquetFormat = of(
    state.copy(filters = filters)
  )

  /** The format of a scan that says how many files it reads. */
  private[spark] def withFiles(files: FilesLabel): EncryptedParquetFormat = of(
    state.copy(files = Some(files))
  )

  private[spark] override def notes: FormatNotes = state.notes

  private[spark] override def withNotes(notes: FormatNotes): EncryptedParquetFormat = of(
    state.copy(notes = notes)
  )

  /** The format of a scan whose plan only tests these columns for NULL. */
  private[spark] def withNullChecks(columns: Set[Seq[String]]): EncryptedParquetFormat =
    if (columns == state.nullChecks) this else of(state.copy(nullChecks = columns))

  /** The format of a write, with its prepared scope. */
  private[spark] def withPrepared(write: PreparedWrite): EncryptedParquetFormat =
    of(state.copy(prepared = Some(write)))

  private[spark] def prepared: Option[PreparedWrite] = state.write

  override def shortName(): String = FormatName.Format

  /** What `EXPLAIN` and the SQL tab call the format of a scan. */
  override def toString: String = "PmeParquet" + state.label.fold("")(files => s" (${files.text})")
  override def hashCode(): Int = state.identity.hashCode()

  // Spark keeps a plan node if its copy equals it, and plans equal scans only once.
  override def equals(other: Any): Boolean = other match {
    case that: EncryptedParquetFormat => state.identity == that.state.identity
    case _ => false
  }

  override def inferSchema(
      session: SparkSession,
      parameters: Map[String, String],
      files: Seq[FileStatus]
  ): Option[StructType] = PmeSparkException.translated {
    reader.foreach(_.settle(session))
    SchemaInference.infer(ResolvedOptions.of(session, origin, parameters), files)
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
    val resolved = ResolvedOptions.of(session, origin, options)
    val scope = resolved.scanScope(requiredSchema)
    PmeCryptoFactory.useForRead(hadoopConf, scope)
    val result = StructType(partitionSchema.fields ++ requiredSchema.fields)
    SparkReadRules.ofRowReader(SparkAccess.sqlConf(session), result).foreach { case (name, value) =>
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
    val seal = SealState.broadcast(session, sealState, hadoopConf)(
      new SnapshotResolver(resolved).settings,
      sessionRules.install()
    )
    val spelled = SpelledPartitions.of(session, scope.settings, partitionSchema, options)
    val admission = ParquetSplitAdmission(session, hadoopConf, scope, requiredSchema, spelled, seal)
    if (resolved.usesPages || SealState.needsPages(sealState.isSealed)) {
      val rules = SparkReadRules.of(SparkAccess.sqlConf(session), result, options)
      val rows = RowPredicate.of(state.filters, requiredSchema)
      val scan = PagedScan(rules, requiredSchema, partitionSchema, filters, rows, state.nullChecks)
      val masking = MaskedScan.of(session, scope.settings.masking, notes.conditions, masked)(
        sessionRules.install()
      )
      scanned = Some(new LeftOutFiles)
      val denied = DeniedFiles.of(session, scope.settings, scanned.get)
      new TranslatedRead(
        new PagesRead(admission.conf, scope, scan, masking, denied, spelled, admission.seal),
        admission
      )
    } else new AdmittedRead(spark, admission)
  }

  override def isSplitable(session: SparkSession, options: Map[String, String], path: Path): Boolean = true
}
