package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, Secret, SecretReference}
import io.pmeparquet.columns.{ColumnKeys, FilePlace, KeyNames, LeafColumn}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, Kms, KmsSettings, KmsUse}
import io.pmeparquet.kms.client.{DriverOptionReader, ProcessSecrets}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{
  AuditSettings,
  Level,
  Masking,
  NumberedWrite,
  OptionSpec,
  OptionValues,
  PmeOptions,
  ReadSettings,
  SecretOptions,
  Settings,
  SnapshotSettings,
  StoredOptions,
  WriteSettings
}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.policy.Policy
import io.pmeparquet.spark.decode.VectorizedLink
import io.pmeparquet.spark.keys.{DriverRoute, KeyCallers}
import io.pmeparquet.spark.session.SparkAccess

/**
 * The options of one read, write or operation, and the settings that follow from them. Precedence: option of this read
 * or write > session conf `spark.datasource.pme-parquet.<option>` > Hadoop conf `parquet.encryption.*`. It separates
 * the user's own options from those of a stored definition, and says what the latter may do.
 *
 * Every way into the format makes one, and hands it on: an operation at its start, a rule for each plan node, a file
 * format or table for each call of Spark. It does not change: each value is resolved once, when it is first asked for.
 * So nobody keeps it for another query, for which the session may have other settings.
 *
 * ''Driver only'': it resolves references to secrets.
 *
 * @param origin where the options come from
 * @param spelled the options as the user spelled them
 * @param operation what the keys are for, if this is neither a read nor a write
 * @param schema of what is written, whose metadata may have tags of a policy
 * @param isSource whether files are read to bring them to the session's policy, which they then need not follow yet
 */
private[pmeparquet] final class ResolvedOptions private (
    val session: SparkSession,
    origin: OptionOrigin,
    val spelled: Map[String, String],
    operation: Option[KeyPurpose],
    isSource: Boolean = false,
    schema: Option[StructType] = None
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
    case of: OptionOrigin.Stored if isOfTrustedTable => of.notOfTable(spelled)
    case _ => origin.stored(spelled)
  }

  /** The user's own options. */
  private lazy val others = spelled.filterNot { case (name, _) => stored.contains(name) }

  /** The values of the session and of Hadoop's configuration. */
  private lazy val below: Map[Level, Map[String, String]] = {
    val ofSession = sources.ofSession
    SecretOptions.requireReferences(ofSession)
    Map(Level.SessionConf -> ofSession, Level.HadoopConf -> sources.ours(sources.ofHadoop))
  }

  private def over(options: Map[String, String], policies: Seq[Policy]) =
    new OptionValues(below + (Level.Option -> sources.ours(options)), policies)

  /** The values, wherever they come from: only for options that any definition may set, and that no policy is about. */
  private lazy val ofAnyOrigin: OptionValues = {
    checkNames()
    over(spelled, Nil)
  }

  /**
   * The values by precedence. Fails if an option is unknown, if this origin may not set it, or, when it is asked for, if it
   * is weaker than a policy.
   */
  lazy val values: OptionValues = {
    checkNames()
    over(spelled, policies)
  }

  /**
   * The policy of the session, and that of this read or write. They are read once, so that nothing mixes two versions. This
   * fails if the origin may not set an option: a stored definition must name no policy, which would be looked for.
   */
  lazy val policies: Seq[Policy] = {
    if (stored.nonEmpty) rules(new OptionValues(below)).check(stored)
    val found = resolver.policies(sources.ours(spelled).get(PmeOptions.Policy.name))
    if (isSource) found.map(_.forSources) else found
  }

  private def resolver = {
    // What an option adds to the configuration says nothing of policies.
    lazy val conf = SparkAccess.hadoopConf(session, Map.empty)
    lazy val ofSession = new ProcessSecrets(conf, settingOf)
    new PolicyResolver(
      session,
      below(Level.SessionConf),
      conf,
      (option, text) => ofSession.resolve(option, SecretReference.parse(option, text)),
      table,
      schema
    )
  }

  /** The values that the user or the session gives. */
  lazy val own: OptionValues = withoutHadoop(others)

  /** The values of options that have no names in Hadoop's configuration. */
  private def withoutHadoop(options: Map[String, String]) = new OptionValues(
    Map(
      Level.Option -> sources.ours(options),
      Level.SessionConf -> sources.ofSession,
      Level.HadoopConf -> Map.empty[String, String]
    )
  )

  /** Fails if an option is unknown or holds a secret. Catalogs keep options before anything uses them. */
  def checkNames(): Unit = sources.checkNames(spelled)

  /** Fails if an option is unknown, or if this origin may not set it. */
  def check(): Unit = {
    values
    ()
  }

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

  /** Whether catalogs give columns tags, which only somebody sees who knows the table. */
  def asksCatalogs: Boolean = policies.exists(_.asksCatalogs)

  /**
   * For an operation that would leave files with less than the policy requires.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if there is a policy
   */
  def requireNoPolicy(where: String, operation: String): Unit = policies.headOption.foreach { policy =>
    throw PmeErrors.unsupported(
      where,
      operation,
      s"${policy.describe} holds here",
      "Do it in a session without the policy, if its owner agrees."
    )
  }

  /**
   * For a stream: it writes to a path, also where it was started for a table.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if catalogs have tags, which it would not know
   */
  def requireTagsOfStream(where: String): Unit = if (table.isEmpty && asksCatalogs)
    requireNoPolicy(where, "a stream, which does not know the tags that a catalog gives its table,")

  /** The same where a write begins, which may be a batch of a stream: the policy may have changed since the stream began. */
  def requireTagsOfBatch(where: String): Unit =
    if (StreamBatch.query(session).isDefined) requireTagsOfStream(where)

  /** These options for a write of these columns, whose metadata may have tags of a policy. */
  def writing(schema: StructType): ResolvedOptions =
    new ResolvedOptions(session, origin, spelled, operation, isSource, Some(schema))

  /** If the session says how columns must be protected, a table cannot say otherwise. */
  def checkPolicy(): Unit =
    if (stored.nonEmpty) rules(values).checkPolicy(stored, over(others, policies), values, caseSensitive)

  // The KMS.

  /** The configuration that a KMS gets. A KMS sees no option from a stored definition, unless the session trusts the table. */
  lazy val conf: Configuration = SparkAccess.hadoopConf(session, others)
  private lazy val secrets = new ProcessSecrets(conf, settingOf)

  private def settingOf(name: String) =
    session.conf.getOption(name).orElse(session.sparkContext.getConf.getOption(name))

  private def configured = new DriverOptionReader(values, conf, secrets, stored.keySet)

  /** A copy of the session's Hadoop configuration with all options, for file systems and jobs. */
  def newHadoopConf(): Configuration = SparkAccess.hadoopConf(session, spelled)

  /** Whether the options, the session or Hadoop's configuration name a KMS. */
  def namesKms: Boolean = PmeOptions.kmsOptions.exists(values.find(_).isDefined)

  def kmsSettings: KmsSettings = KmsAccess.settings(configured)

  /** The KMS that the options name. The driver calls it. */
  def openKms(purpose: KeyPurpose): Kms = KmsAccess.open(kmsSettings, conf, audit(purpose))

  /** The KMS that the options name, called from where `callFrom` says. */
  def kmsUse(purpose: KeyPurpose): KmsUse = {
    val fromDriver = values.choice(PmeOptions.CallFrom) == "driver"
    val settings = kmsSettings
    DriverRoute.warnWhereReadable(session)
    KmsUse(settings, if (fromDriver) Some(DriverRoute.open()) else None, audit(purpose))
  }

  private def audit(purpose: KeyPurpose): KeyAudit = {
    def path = spelled.collectFirst {
      case (name, value) if name.equalsIgnoreCase("path") =>
        val path = new Path(value)
        path.getFileSystem(conf).makeQualified(path).toString
    }
    // Reads of several tables may share what opens the KMS: their events name files.
    val written =
      if (purpose == KeyPurpose.Write && operation.isEmpty) path.orElse(table.map(_.mkString("."))) else None
    val audit = AuditSettings.of(values, KeyCallers.ofApplication, operation.getOrElse(purpose), written)
    if (audit.mode.isOn) KeyCallers.of(session.sparkContext)
    audit
  }

  /** The secret that an option refers to; none if it is not set. */
  def secret(option: OptionSpec): Option[Secret] = configured.secret(option)

  /** The secret that an argument of a call refers to, which is no option. */
  def secret(argument: String, reference: String): Secret =
    secrets.resolve(argument, SecretReference.parse(argument, reference))

  // Reads.

  /**
   * V1 is the default, because Spark offers most features on it. [[AggregatePushDown]] explains the exception. Any
   * definition may say it, so this does not depend on the origin.
   */
  def usesV2Scan: Boolean = Settings.scan(ofAnyOrigin) == "v2"

  def allowsV2Scan: Boolean =
    Settings.scan(values) != "v1" && readSettings.columns.forall(_.keyColumns.isEmpty)

  /**
   * Whether a read goes through our page pipeline. If the pipeline does not work with this Spark, Spark's own reader
   * reads.
   */
  def usesPages: Boolean = {
    val pages = Settings.reader(values) != "spark" && VectorizedLink.fits()
    if (!pages && masking.isDefined)
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
  def masking: Option[Masking] = Settings.masking(withoutHadoop(spelled))

  /** What a reader with these options accepts. */
  def readSettings: ReadSettings = Settings.forRead(values, caseSensitive)

  /** Whether a read leaves out files whose footers' keys are refused. */
  def leavesOutFiles: Boolean = readSettings.deniedFiles.nonEmpty

  def readScope: ReadScope = readScope(fileReadSettings)

  /** Like [[readScope]], for a scan of rows. */
  def scanScope(schema: StructType): ReadScope = {
    val byNumber = SQLConf.PARQUET_FIELD_ID_READ_ENABLED
    val scope = readScope
    if (
      scope.settings.columns.isDefined && SparkAccess.sqlConf(session).getConf(byNumber) &&
      ParquetUtils.hasFieldIds(schema)
    ) throw PmeErrors.columnsByNumber(byNumber.key)
    scope
  }

  /** Like [[readScope]], for a caller that compares columns and their keys itself. */
  def readScopeWithoutColumns: ReadScope = readScope(fileReadSettings.copy(columns = None))

  private def readScope(settings: ReadSettings) = {
    checkPolicy()
    Scopes.forRead(kmsUse(KeyPurpose.Read), settings, conf)
  }

  /**
   * As [[readSettings]], for a read of files. The reader says which master key opens files that name none. A table cannot.
   */
  private def fileReadSettings: ReadSettings = {
    val settings = readSettings
    val ofTable = new OptionValues(Map(Level.Option -> sources.ours(stored)))
    val namesKey = Seq(PmeOptions.FooterKey, PmeOptions.UniformKey).exists(ofTable.find(_).isDefined)
    if (namesKey && !settings.directKeys) settings.copy(keyOfFilesWithoutMetadata = None) else settings
  }

  // Writes.

  /** Whether a write with these options names keys. */
  def namesKeys: Boolean =
    Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey).exists(values.find(_).isDefined)

  /** Whether names of keys depend on partitions. */
  def hasKeyTemplates: Boolean = {
    val names = Seq(PmeOptions.FooterKey, PmeOptions.UniformKey).flatMap(values.text(_)) ++
      columnKeys.toSeq.flatMap(_.entries.map(_.masterKeyId))
    KeyNames(names.toSet).columns.nonEmpty
  }

  def columnKeys: Option[ColumnKeys] = values.columnKeys

  /** The one key for all columns and the footer, if the options name one. */
  def uniformKey: Option[String] = values.text(PmeOptions.UniformKey)

  /** The checked options of a write. This calls no KMS. */
  def writeSettings: WriteSettings = {
    // If a write names neither keys nor a KMS, the error is about the keys.
    Settings.requireKeys(values)
    Settings.forWrite(values, kmsUse(KeyPurpose.Write), caseSensitive)
  }

  /** Whether a write makes keys that are missing. */
  def createsKeys: Boolean = values.flag(PmeOptions.CreateKeys)

  /**
   * As [[writeSettings]], of a write whose files will be in these places. With `createKeys`, keys that are missing are made.
   *
   * @param settings as they are before
   * @param places none if names of keys do not depend on them
   */
  def withKeysMade(
      settings: WriteSettings,
      outputPath: Path,
      conf: Configuration,
      places: Option[Seq[FilePlace]]
  ): WriteSettings = {
    val makes = createsKeys && settings.files.keyColumns.nonEmpty
    val directory = WriteRules.tableDirectory(outputPath)
    // A keystore's settings have its content.
    if (makes && places.exists(Scopes.createMissing(settings, directory, conf, _)))
      settings.copy(use = kmsUse(KeyPurpose.Write))
    else settings
  }

  /** The same for a write of these columns, which needs no other key of a policy. */
  def writeSettings(leaves: Seq[LeafColumn]): WriteSettings = {
    val settings = writeSettings
    settings.copy(files = settings.files.of(leaves))
  }

  /**
   * @param conf the job's
   * @param files where its files will be
   * @param leaves the columns of all files
   */
  def writeScope(
      conf: Configuration,
      outputPath: Path,
      files: Seq[Path],
      leaves: Seq[LeafColumn]
  ): WriteScope = {
    val places = files.map(_.getParent.toUri.getPath).distinct.map(FilePlace.of)
    val settings = withKeysMade(writeSettings(leaves), outputPath, conf, Some(places))
    Scopes.forWrite(settings, WriteRules.tableDirectory(outputPath), conf, Some(places))
  }

  /** Whether a write with these options seals the table after its commit. */
  def sealsAfterWrite: Boolean = SnapshotSettings.sealsAfterWrite(values)

  /** The place of this write in a series, if it has one. */
  def numberedWrite: Option[NumberedWrite] = NumberedWrite.of(values) { option =>
    origin match {
      case of: OptionOrigin.Stored => of.sets(option.name)
      case OptionOrigin.Frame => false
    }
  }

  /** The property of tables in which options say that wrapped master keys are. A table's definition cannot say so. */
  def orcKeyProperty: Option[String] = own.text(PmeOptions.OrcKeyProperty).map(_.trim).filter(_.nonEmpty)
}

private[pmeparquet] object ResolvedOptions {

  /** @param options as Spark hands them over */
  def of(session: SparkSession, origin: OptionOrigin, options: Map[String, String]): ResolvedOptions =
    new ResolvedOptions(session, origin, spelled(options), None)

  /** For options that the user gave to this operation, all of them. */
  def ofFrame(session: SparkSession, options: Map[String, String]): ResolvedOptions =
    of(session, OptionOrigin.Frame, options)

  /** The same for an operation, which uses keys for this purpose. */
  def ofOperation(session: SparkSession, options: Map[String, String], purpose: KeyPurpose): ResolvedOptions =
    new ResolvedOptions(session, OptionOrigin.Frame, spelled(options), Some(purpose))

  /** For files that an operation reads to write their rows again: what the session's policy requires of readers does not hold. */
  def ofSource(session: SparkSession, options: Map[String, String], purpose: KeyPurpose): ResolvedOptions =
    new ResolvedOptions(session, OptionOrigin.Frame, spelled(options), Some(purpose), isSource = true)

  /** Options as the user spelled them: Spark's maps give their keys in lower case. */
  def spelled(options: Map[String, String]): Map[String, String] = options match {
    case insensitive: CaseInsensitiveMap[String @unchecked] => insensitive.originalMap
    case other => other
  }
}
