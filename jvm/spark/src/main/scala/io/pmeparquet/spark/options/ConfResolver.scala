package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.keys.{Kms, KmsUse}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{Level, Masking, OptionValues, PmeOptions, ReadSettings, Settings, WriteSettings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * The one place where options become settings: option of this read or write > session conf
 * `spark.datasource.pme-parquet.<option>` > Hadoop conf `parquet.encryption.*`. Every way into the format calls it.
 *
 * ''Driver only'': this is where references to secrets are resolved.
 *
 * @param origin whose the options are
 */
final class ConfResolver private[spark] (session: SparkSession, origin: OptionOrigin) {

  /** For options that the user gave to what is done with them. */
  def this(session: SparkSession) = this(session, OptionOrigin.Frame)

  private val definition = new DefinitionOptions(session, origin)
  private val sources = new OptionSources(session)
  import sources.ours

  /** V1 unless asked for: it is the path on which Spark gives most. [[AggregatePushDown]] tells the exception. */
  def usesV2Scan(options: Map[String, String]): Boolean = Settings.scan(valuesOf(options)) == "v2"

  def allowsV2Scan(options: Map[String, String]): Boolean = Settings.scan(valuesOf(options)) != "v1"

  /** Whether a read goes through our page pipeline; where this Spark does not fit it, through Spark's own reader. */
  def usesPages(options: Map[String, String]): Boolean = {
    val pages = Settings.reader(valuesOf(options)) != "spark" && PipelineCheck.fits()
    if (!pages && masking(options).isDefined)
      throw PmeErrors.unsupported(
        "deniedColumns",
        "reading refused columns as NULL",
        "the page pipeline does not work with this Spark",
        "Remove deniedColumns."
      )
    pages
  }

  /**
   * What becomes of columns whose keys are refused; none: the read fails. Asked for in each plan, so without a copy of
   * Hadoop's configuration, in which the options that it depends on have no names.
   */
  def masking(options: Map[String, String]): Option[Masking] =
    Settings.masking(
      new OptionValues(
        Map(
          Level.Option -> ours(options),
          Level.SessionConf -> sources.ofSession,
          Level.HadoopConf -> Map.empty[String, String]
        )
      )
    )

  def read(options: Map[String, String]): ReadScope = read(options, identity)

  /** As [[read]], for a scan of rows. */
  def scan(options: Map[String, String], schema: StructType): ReadScope = {
    val byNumber = SQLConf.PARQUET_FIELD_ID_READ_ENABLED
    val scope = read(options)
    if (
      scope.settings.columns.isDefined && SparkAccess.sqlConf(session).getConf(byNumber) &&
      ParquetUtils.hasFieldIds(schema)
    ) throw PmeErrors.columnsByNumber(byNumber.key)
    scope
  }

  /** As [[read]], for somebody who compares columns and their keys himself. */
  def readUnjudged(options: Map[String, String]): ReadScope = read(options, _.copy(columns = None))

  private def read(options: Map[String, String], change: ReadSettings => ReadSettings): ReadScope = {
    val values = valuesOf(options)
    val resolver = kmsResolver(options)
    val stored = new OptionValues(Map(Level.Option -> ours(definition.in(options))))
    val settings = DefinitionOptions.withoutKeyOfTable(settingsOf(values), stored)
    checkPolicy(options, values)
    Scopes.forRead(kmsUse(values, resolver), change(settings), resolver.conf)
  }

  /** If the session says how columns must be protected, a table cannot say otherwise. */
  private def checkPolicy(options: Map[String, String], values: OptionValues): Unit = {
    val stored = definition.in(options)
    if (stored.nonEmpty)
      definition
        .rules(values)
        .checkPolicy(
          stored,
          valuesOf(definition.without(options)),
          values,
          SparkAccess.sqlConf(session).caseSensitiveAnalysis
        )
  }

  /** What a reader with these options accepts. */
  def readSettings(options: Map[String, String]): ReadSettings = settingsOf(valuesOf(options))

  private def settingsOf(values: OptionValues) =
    Settings.forRead(values, SparkAccess.sqlConf(session).caseSensitiveAnalysis)

  /** Whether options, or the session, name a KMS at all. */
  def namesKms(options: Map[String, String]): Boolean = {
    val values = valuesOf(options)
    PmeOptions.kmsOptions.exists(values.find(_).isDefined)
  }

  /** The KMS that options lead to, for the driver to call. */
  def kms(options: Map[String, String]): Kms = {
    val values = valuesOf(options)
    val resolver = kmsResolver(options)
    KmsAccess.open(resolver.resolve(values), resolver.conf)
  }

  /** A KMS sees no option that a definition says, unless the session trusts its table. */
  private def kmsResolver(options: Map[String, String]): KmsResolver =
    new KmsResolver(session, definition.without(options), definition.in(options).keySet)

  private def kmsUse(values: OptionValues, resolver: KmsResolver): KmsUse = {
    val fromDriver = values.choice(PmeOptions.CallFrom) == "driver"
    val settings = resolver.resolve(values)
    DriverRoute.warnWhereReadable(session)
    KmsUse(settings, if (fromDriver) Some(DriverRoute.open()) else None)
  }

  /** @param conf the job's */
  def write(options: Map[String, String], conf: Configuration, outputPath: Path): WriteScope =
    PreparedWrite.scope(writeSettings(options, conf), conf, outputPath, None)

  def columnKeys(options: Map[String, String]): Option[ColumnKeys] =
    valuesOf(options).text(PmeOptions.ColumnKeys).map(ColumnKeys.parse)

  /** The one key of everything, where options name one. */
  def uniformKey(options: Map[String, String]): Option[String] =
    valuesOf(options).text(PmeOptions.UniformKey)

  /** The checked options of a write; no KMS is asked. */
  def writeSettings(options: Map[String, String], conf: Configuration): WriteSettings = {
    val values = valuesOf(options)
    // A write that names no key is told so, and not that its KMS is missing too.
    Settings.requireKeys(values)
    Settings.forWrite(
      values,
      kmsUse(values, kmsResolver(options)),
      SparkAccess.sqlConf(session).caseSensitiveAnalysis
    )
  }

  private def valuesOf(options: Map[String, String]): OptionValues = {
    checkNames(options)
    val session = sources.ofSession
    sources.refuseSecrets(session)
    val below = Map[Level, Map[String, String]](
      Level.SessionConf -> session,
      Level.HadoopConf -> ours(sources.ofHadoop)
    )
    val stored = definition.in(options)
    if (stored.nonEmpty) definition.rules(new OptionValues(below)).check(stored)
    new OptionValues(below + (Level.Option -> ours(options)))
  }

  /** Fails where an option is not one that this origin may name, or none at all. */
  def check(options: Map[String, String]): Unit = {
    valuesOf(options)
    ()
  }

  /** As [[OptionSources.checkNames]]. */
  def checkNames(options: Map[String, String]): Unit = sources.checkNames(options)
}

object ConfResolver {
  val SessionPrefix: String = FormatName.SessionPrefix

  /** Options as the user spelled them: Spark's maps forget the case when they are walked through. */
  def spelled(options: Map[String, String]): Map[String, String] = options match {
    case insensitive: CaseInsensitiveMap[String @unchecked] => insensitive.originalMap
    case other => other
  }
}
