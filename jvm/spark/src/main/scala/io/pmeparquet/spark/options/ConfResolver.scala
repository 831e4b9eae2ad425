package io.pmeparquet.spark.options

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.keys.Kms
import io.pmeparquet.options.{Masking, PmeOptions, ReadSettings, Settings, SnapshotSettings, WriteSettings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * The one place where options become settings. Precedence: option of this read or write > session conf
 * `spark.datasource.pme-parquet.<option>` > Hadoop conf `parquet.encryption.*`. Every way into the format calls it. It
 * makes one [[ResolvedOptions]] of each map of options.
 *
 * ''Driver only'': it resolves references to secrets.
 *
 * @param origin where the options come from
 */
final class ConfResolver private[spark] (session: SparkSession, origin: OptionOrigin) {

  /** For options that the user gave to this operation. */
  def this(session: SparkSession) = this(session, OptionOrigin.Frame)

  private def resolved(options: Map[String, String]) = new ResolvedOptions(session, origin, options)

  private def valuesOf(options: Map[String, String]) = resolved(options).values

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
    Settings.masking(resolved(options).withoutHadoop)

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
  def readWithoutColumns(options: Map[String, String]): ReadScope = read(options, _.copy(columns = None))

  private def read(options: Map[String, String], change: ReadSettings => ReadSettings): ReadScope = {
    val found = resolved(options)
    val settings = found.fileReadSettings
    found.checkPolicy()
    Scopes.forRead(found.kmsUse, change(settings), found.conf)
  }

  /** What a reader with these options accepts. */
  def readSettings(options: Map[String, String]): ReadSettings = resolved(options).readSettings

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
  def kms(options: Map[String, String]): Kms = resolved(options).openKms()

  /** The kind of the KMS that the options name: `keystore`, `vault`, … or a class. */
  def kmsKind(options: Map[String, String]): String = resolved(options).kmsSettings.kind

  /** The secret that an argument of a call refers to. */
  def secret(argument: String, reference: String): Secret = resolved(Map.empty).secret(argument, reference)

  /** What the options say of snapshots. */
  def snapshots(options: Map[String, String]): SnapshotResolver = new SnapshotResolver(resolved(options))

  /**
   * The store of Xskipper's by which a read skips files. The read itself or its session names it, and never a stored
   * definition: whoever makes a store can hide rows.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the read accepts only what is signed
   */
  def xskipperStore(options: Map[String, String]): Option[StoreResolver] = {
    val found = resolved(options)
    found.own.text(PmeOptions.XskipperStore).map(_.trim).filter(_.nonEmpty).map { directory =>
      SnapshotSettings.of(found.values).requireUnsignedAllowed()
      new StoreResolver(directory, found)
    }
  }

  /** Whether a write with these options seals the table after its commit. */
  def sealsAfterWrite(options: Map[String, String]): Boolean =
    SnapshotSettings.sealsAfterWrite(valuesOf(options))

  /**
   * What the options say of ORC files.
   *
   * @param property wrapped master keys in a property of the table
   */
  def orc(options: Map[String, String], property: Option[String] = None): OrcResolver =
    new OrcResolver(resolved(options), property)

  /** The property of tables in which options say that wrapped master keys are. A table's definition cannot say so. */
  def orcKeyProperty(options: Map[String, String]): Option[String] =
    resolved(options).own.text(PmeOptions.OrcKeyProperty).map(_.trim).filter(_.nonEmpty)

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
    val found = resolved(options)
    // If a write names neither keys nor a KMS, the error is about the keys.
    Settings.requireKeys(found.values)
    Settings.forWrite(found.values, found.kmsUse, found.caseSensitive)
  }

  /** Fails if an option is unknown, or if this origin may not set it. */
  def check(options: Map[String, String]): Unit = {
    valuesOf(options)
    ()
  }

  /** See [[OptionSources.checkNames]]. */
  def checkNames(options: Map[String, String]): Unit = new OptionSources(session).checkNames(options)
}

object ConfResolver {
  val SessionPrefix: String = FormatName.SessionPrefix

  /** Options as the user spelled them: Spark's maps give their keys in lower case. */
  def spelled(options: Map[String, String]): Map[String, String] = options match {
    case insensitive: CaseInsensitiveMap[String @unchecked] => insensitive.originalMap
    case other => other
  }
}

/** Whether this Spark has what the page pipeline needs. If not, this logs a warning once. ''Driver only.'' */
private[spark] object PipelineCheck {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val warned = new AtomicBoolean

  def fits(): Boolean = VectorizedLink.failure match {
    case None => true
    case Some(why) =>
      if (warned.compareAndSet(false, true))
        log.warn(
          "reader=spark is used instead of reader=pages, because reader=pages does not work with this Spark: {}",
          why
        )
      false
  }
}
