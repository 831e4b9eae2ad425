package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, Secret, SecretReference}
import io.pmeparquet.keys.{Kms, KmsSettings, KmsUse}
import io.pmeparquet.kms.client.{DriverOptionReader, ProcessSecrets}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{
  Level,
  OptionSpec,
  OptionValues,
  PmeOptions,
  ReadSettings,
  SecretOptions,
  Settings,
  StoredOptions
}
import io.pmeparquet.spark.keys.DriverRoute
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * The options of one read or write, each with the level that it comes from, and the KMS that they name. It separates the
 * user's own options from those of a stored definition, and says what the latter may do. Made by [[ConfResolver]]. It does
 * not change: each value is resolved once, when it is first asked for. ''Driver only'': it resolves references to secrets.
 *
 * @param origin where the options come from
 */
private[spark] final class ResolvedOptions(
    session: SparkSession,
    origin: OptionOrigin,
    options: Map[String, String]
) {
  private val sources = new OptionSources(session)

  val caseSensitive: Boolean = SparkAccess.sqlConf(session).caseSensitiveAnalysis

  private lazy val table: Option[Seq[String]] = origin match {
    case OptionOrigin.Stored(name, _, _) => name
    case _ => None
  }

  /** Whether the options are those of a table that the session trusts. */
  lazy val isOfTrustedTable: Boolean = table.exists(new TrustedTables(session).contains(_))

  /** Those that somebody else may have written, and that the session does not trust. */
  private lazy val stored: Map[String, String] = origin match {
    // Trust in a table does not cover a view of it.
    case of: OptionOrigin.Stored if isOfTrustedTable => of.notOfTable(options)
    case _ => origin.stored(options)
  }

  /** The user's own options. */
  private lazy val others = options.filterNot { case (name, _) => stored.contains(name) }

  /** The values by precedence: option > session conf > Hadoop conf. Fails if an option is unknown, or not allowed here. */
  lazy val values: OptionValues = {
    sources.checkNames(options)
    val ofSession = sources.ofSession
    SecretOptions.requireReferences(ofSession)
    val below = Map[Level, Map[String, String]](
      Level.SessionConf -> ofSession,
      Level.HadoopConf -> sources.ours(sources.ofHadoop)
    )
    if (stored.nonEmpty) rules(new OptionValues(below)).check(stored)
    new OptionValues(below + (Level.Option -> sources.ours(options)))
  }

  /** The values that the user or the session gives. */
  lazy val own: OptionValues = withoutHadoop(others)

  /** The values of options that have no names in Hadoop's configuration. */
  def withoutHadoop: OptionValues = withoutHadoop(options)

  private def withoutHadoop(options: Map[String, String]) = new OptionValues(
    Map(
      Level.Option -> sources.ours(options),
      Level.SessionConf -> sources.ofSession,
      Level.HadoopConf -> Map.empty[String, String]
    )
  )

  /**
   * What a stored definition may set.
   *
   * @param session the options of the session and of Hadoop's configuration
   */
  private def rules(session: OptionValues): StoredOptions = {
    // Errors tell the user to trust this table. If the session trusts it already, that does not help.
    val untrusted = table.filterNot(_ => isOfTrustedTable).map(TrustedTables.spelled)
    lazy val hadoop = SparkAccess.hadoopConf(this.session, Map.empty)
    new StoredOptions(untrusted, session, name => Option(hadoop.get(name)))
  }

  /** If the session says how columns must be protected, a table cannot say otherwise. */
  def checkPolicy(): Unit = if (stored.nonEmpty) {
    val without = new ResolvedOptions(session, origin, others).values
    rules(values).checkPolicy(stored, without, values, caseSensitive)
  }

  /** What a reader with these options accepts. */
  def readSettings: ReadSettings = Settings.forRead(values, caseSensitive)

  /**
   * As [[readSettings]], for a read of files. The reader says which master key opens files that name none. A table cannot.
   */
  def fileReadSettings: ReadSettings = {
    val settings = readSettings
    val ofTable = new OptionValues(Map(Level.Option -> sources.ours(stored)))
    val namesKey = Seq(PmeOptions.FooterKey, PmeOptions.UniformKey).exists(ofTable.find(_).isDefined)
    if (namesKey && !settings.directKeys) settings.copy(keyOfFilesWithoutMetadata = None) else settings
  }

  /** The configuration that a KMS gets. A KMS sees no option from a stored definition, unless the session trusts the table. */
  lazy val conf: Configuration = SparkAccess.hadoopConf(session, others)
  private lazy val secrets = new ProcessSecrets(conf, settingOf)

  private def settingOf(name: String) =
    session.conf.getOption(name).orElse(session.sparkContext.getConf.getOption(name))

  private def configured = new DriverOptionReader(values, conf, secrets, stored.keySet)

  def kmsSettings: KmsSettings = KmsAccess.settings(configured)

  /** The KMS that the options name. The driver calls it. */
  def openKms(): Kms = KmsAccess.open(kmsSettings, conf)

  /** The KMS that the options name, called from where `callFrom` says. */
  def kmsUse: KmsUse = {
    val fromDriver = values.choice(PmeOptions.CallFrom) == "driver"
    val settings = kmsSettings
    DriverRoute.warnWhereReadable(session)
    KmsUse(settings, if (fromDriver) Some(DriverRoute.open()) else None)
  }

  /** The secret that an option refers to; none if it is not set. */
  def secret(option: OptionSpec): Option[Secret] = configured.secret(option)

  /** The secret that an argument of a call refers to, which is no option. */
  def secret(argument: String, reference: String): Secret =
    secrets.resolve(argument, SecretReference.parse(argument, reference))
}

/** The tables whose definitions the session trusts: `spark.datasource.pme-parquet.trustedTables`. ''Driver only.'' */
private[spark] final class TrustedTables(session: SparkSession) {
  private val conf = SparkAccess.sqlConf(session)

  /** @param name catalog, database and table */
  def contains(name: Seq[String]): Boolean = listed.exists { trusted =>
    trusted.size == name.size && trusted.zip(name).forall { case (one, other) => isSame(one, other) }
  }

  private def isSame(one: String, other: String) =
    if (conf.caseSensitiveAnalysis) one == other else one.equalsIgnoreCase(other)

  private def listed: Seq[Seq[String]] =
    conf.getAllConfs
      .collect { case (name, value) if name.equalsIgnoreCase(TrustedTables.Setting) => value }
      .flatMap(_.split(","))
      .map(_.trim)
      .filter(_.nonEmpty)
      .map(parsed)
      .toSeq

  private def parsed(text: String): Seq[String] = {
    def bad = PmeErrors.badOption(
      PmeOptions.TrustedTables.name,
      text,
      "names of the form catalog.database.table, separated by commas"
    )
    val parts =
      try session.sessionState.sqlParser.parseMultipartIdentifier(text)
      catch { case _: ParseException => throw bad }
    if (parts.size != TrustedTables.Parts) throw bad
    parts
  }
}

private[spark] object TrustedTables {
  val Setting: String = FormatName.SessionPrefix + PmeOptions.TrustedTables.name
  private val Parts = 3

  /** The name as the setting takes it. */
  def spelled(name: Seq[String]): String =
    name.map(part => if (part.matches("\\w+")) part else s"`${part.replace("`", "``")}`").mkString(".")
}
