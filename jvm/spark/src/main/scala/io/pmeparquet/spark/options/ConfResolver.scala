package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.keys.{Kms, KmsUse}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{
  Level,
  Masking,
  OptionValues,
  PmeOptions,
  ReadSettings,
  SecretOptions,
  Settings,
  SnapshotSettings,
  WriteSettings
}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * The one place where options become settings. Precedence: option of this read or write > session conf
 * `spark.datasource.pme-parquet.<option>` > Hadoop conf `parquet.encryption.*`. Every way into the format calls it.
 *
 * ''Driver only'': it resolves references to secrets.
 *
 * @param origin where the options come from
 */
final class ConfResolver private[spark] (session: SparkSession, origin: OptionOrigin) {

  /** For options that the user gave to this operation. */
  def this(session: SparkSession) = this(session, OptionOrigin.Frame)

  private val definition = new DefinitionOptions(session, origin)
  private val sources = new OptionSources(session)
  import sources.ours

  /** V1 is the default, because Spark offers most features on it. [[AggregatePushDown]] explains the exception. */
  def usesV2Scan(options: Map[String, String]): Boolean = Settings.scan(valuesOf(options)) == "v2"

  def allowsV2Scan(options: Map[String, String]): Boolean = Settings.scan(valuesOf(options)) != "v1"

  /**
   * Whether a read goes through our page pipeline. If the pipeline does not work with this Spark, Spark's own reader
   * reads.
   */
  def usesPages(options: Map[String, String]): Boolean = {
    val pages = Settings.reader(valuesOf(options)) != "spark" && PipelineCheck.fits()
    if (!pages && masking(options).isDefined)
      throw PmeErrors.unsupported(
        "deniedColumns and missingKeys",
        "reading refused columns as NULL",
        "the page pipeline does not work with this Spark",
        "Remove them."
      )
    pages
  }

  /**
   * What the read does with columns whose keys the KMS refuses; none: the read fails. Rules call this for each plan, so
   * it does not copy Hadoop's configuration: the options that it depends on have no names there.
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

  /** Like [[read]], for a scan of rows. */
  def scan(options: Map[String, String], schema: StructType): ReadScope = {
    val byNumber = SQLConf.PARQUET_FIELD_ID_READ_ENABLED
    val scope = read(options)
    if (
      scope.settings.columns.isDefined && SparkAccess.sqlConf(session).getConf(byNumber) &&
      ParquetUtils.hasFieldIds(schema)
    ) throw PmeErrors.columnsByNumber(byNumber.key)
    scope
  }

  /** Like [[read]], for a caller that compares columns and their keys itself. */
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

  /** Whether the options, the session or Hadoop's configuration name a KMS. */
  def namesKms(options: Map[String, String]): Boolean = {
    val values = valuesOf(options)
    PmeOptions.kmsOptions.exists(values.find(_).isDefined)
  }

  /** Whether a write with these options names keys. */
  def namesKeys(options: Map[String, String]): Boolean = {
    val values = valuesOf(options)
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey).exists(values.find(_).isDefined)
  }

  /** The KMS that the options name. The driver calls it. */
  def kms(options: Map[String, String]): Kms = {
    val values = valuesOf(options)
    val resolver = kmsResolver(options)
    KmsAccess.open(resolver.resolve(values), resolver.conf)
  }

  /** The kind of the KMS that the options name: `keystore`, `vault`, … or a class. */
  def kmsKind(options: Map[String, String]): String = kmsResolver(options).resolve(valuesOf(options)).kind

  /** The secret that an argument of a call refers to. */
  def secret(argument: String, reference: String): Secret = kmsResolver(Map.empty).secret(argument, reference)

  /** What the options say of snapshots. */
  def snapshots(options: Map[String, String]): SnapshotResolver = {
    val values = valuesOf(options)
    val resolver = kmsResolver(options)
    new SnapshotResolver(values, resolver, kmsUse(values, resolver), readSettings(options), kms(options))
  }

  /**
   * The store of Xskipper's by which a read skips files. The read itself or its session names it, and never a stored
   * definition: whoever makes a store can hide rows.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the read accepts only what is signed
   */
  def xskipperStore(options: Map[String, String]): Option[StoreResolver] =
    ownValues(options).text(PmeOptions.XskipperStore).map(_.trim).filter(_.nonEmpty).map { directory =>
      val values = valuesOf(options)
      SnapshotSettings.of(values).requireUnsignedAllowed()
      val resolver = kmsResolver(options)
      new StoreResolver(directory, kmsUse(values, resolver), settingsOf(values), resolver.conf)
    }

  /** Whether a write with these options seals the table after its commit. */
  def sealsAfterWrite(options: Map[String, String]): Boolean =
    SnapshotSettings.sealsAfterWrite(valuesOf(options))

  /**
   * What the options say of ORC files.
   *
   * @param property wrapped master keys in a property of the table
   */
  def orc(options: Map[String, String], property: Option[String] = None): OrcResolver = {
    val values = valuesOf(options)
    val resolver = kmsResolver(options)
    new OrcResolver(
      values,
      ownValues(options),
      property,
      resolver,
      kmsUse(values, resolver),
      checkPolicy(options, values),
      definition.isOfTrustedTable,
      SparkAccess.sqlConf(session).caseSensitiveAnalysis
    )
  }

  /** The values that the user or the session gives. */
  private def ownValues(options: Map[String, String]) = new OptionValues(
    Map(
      Level.Option -> ours(definition.without(options)),
      Level.SessionConf -> sources.ofSession,
      Level.HadoopConf -> Map.empty[String, String]
    )
  )

  /** The property of tables in which options say that wrapped master keys are. A table's definition cannot say so. */
  def orcKeyProperty(options: Map[String, String]): Option[String] =
    ownValues(options).text(PmeOptions.OrcKeyProperty).map(_.trim).filter(_.nonEmpty)

  /** A KMS sees no option from a stored definition, unless the session trusts the table. */
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
    valuesOf(options).text(PmeOptions.ColumnKeys).map(ColumnKeys.parse(_))

  /** The one key for all columns and the footer, if the options name one. */
  def uniformKey(options: Map[String, String]): Option[String] =
    valuesOf(options).text(PmeOptions.UniformKey)

  /** The checked options of a write. This calls no KMS. */
  def writeSettings(options: Map[String, String], conf: Configuration): WriteSettings = {
    val values = valuesOf(options)
    // If a write names neither keys nor a KMS, the error is about the keys.
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
    SecretOptions.requireReferences(session)
    val below = Map[Level, Map[String, String]](
      Level.SessionConf -> session,
      Level.HadoopConf -> ours(sources.ofHadoop)
    )
    val stored = definition.in(options)
    if (stored.nonEmpty) definition.rules(new OptionValues(below)).check(stored)
    new OptionValues(below + (Level.Option -> ours(options)))
  }

  /** Fails if an option is unknown, or if this origin may not set it. */
  def check(options: Map[String, String]): Unit = {
    valuesOf(options)
    ()
  }

  /** See [[OptionSources.checkNames]]. */
  def checkNames(options: Map[String, String]): Unit = sources.checkNames(options)
}

object ConfResolver {
  val SessionPrefix: String = FormatName.SessionPrefix

  /** Options as the user spelled them: Spark's maps give their keys in lower case. */
  def spelled(options: Map[String, String]): Map[String, String] = options match {
    case insensitive: CaseInsensitiveMap[String @unchecked] => insensitive.originalMap
    case other => other
  }
}
