package io.pmeparquet.parquet.standalone

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileDecryptionProperties
import org.apache.parquet.schema.MessageType

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.keys.{KeyAudit, KeyBroker, KeyPurpose, KeySource, KmsSettings, KmsUse}
import io.pmeparquet.kms.client.ConfigurationDigest
import io.pmeparquet.options.{FileSettings, OptionValues, ReadSettings, SessionNames, Settings, WriteSettings}
import io.pmeparquet.parquet.admission.{Admissions, FileDecryption}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.OpenFiles
import io.pmeparquet.parquet.scope.{
  Expiring,
  KeyCalls,
  KmsTrial,
  ReadScope,
  ScopeCache,
  ScopeRegistry,
  Scopes,
  WriteScope
}
import io.pmeparquet.parquet.write.WriteRules

/**
 * Scopes for who uses parquet-java without Spark's source of this format: a Hadoop configuration by itself says what to encrypt,
 * and where the keys are. The driver of a Spark that knows the configuration calls the KMS ([[ConfigurationBroker]]), or
 * else this process.
 *
 * Configurations that differ at most in what differs from task to task share a scope, and so the answers of the KMS, for as
 * long as keys may be kept (`parquet.encryption.cache.lifetime.seconds`).
 */
private[pmeparquet] object ConfigurationScopes extends Expiring {
  private val MaxKept = 64
  private val readers = new RecentValues[String, ReadScope](MaxKept, Long.MaxValue)
  private val writers = new RecentValues[String, WriteScope](MaxKept, Long.MaxValue)

  ScopeRegistry.own(this)

  /**
   * The properties that open a file; none for a plaintext file that the configuration allows. No other check has
   * seen the file, so its footer is checked here, before parquet-java reads it.
   *
   * @param path none if parquet-java was given a file without its path
   * @throws io.pmeparquet.PmeException if the file is refused, or the configuration does not say what it must
   */
  def admit(conf: Configuration, path: Option[Path]): Option[FileDecryptionProperties] = {
    val scope = path.filter(isLog(conf, _)).fold(read(conf, inLog = false))(_ => read(conf, inLog = true))
    path match {
      case None if scope.settings.allowPlaintextFiles && scope.settings.columns.isEmpty => None
      case None =>
        throw PmeErrors.unsupported(
          "a read with parquet.crypto.factory.class",
          "a file without its path",
          "the factory cannot look at the file",
          "Give parquet-java the path of the file, as a Hadoop Path."
        )
      case Some(file) =>
        val version = FileVersion.of(file, conf)
        scope.cache(CheckedFooters).get(version) {
          OpenFiles
            .read(scope, version, conf, scope.counters)
            .requireUnstated(scope.settings, "parquet.crypto.factory.class")
          false
        }
        FileDecryption.admit(scope, file, conf)
    }
  }

  /** Whether a file at the place of a table's log is one of a log. Its footer, which says so, is under the footer's key. */
  private def isLog(conf: Configuration, file: Path): Boolean = TableLogs.mayContain(file) && {
    val scope = read(conf, inLog = true)
    val version = FileVersion.of(file, conf)
    scope.cache(CheckedFooters).get(version) {
      TableLogs.contain(file, OpenFiles.read(scope, version, conf, scope.counters).schema)
    }
  }

  private def read(conf: Configuration, inLog: Boolean): ReadScope = {
    val job = identityOf(conf)
    readers.getFor(if (inLog) TableLogs.identityOf(job) else job) {
      val values = ConfigurationOptions.of(conf, withColumns = !inLog)
      val settings = Settings.forRead(values, caseSensitive = true)
      val scope = ConfigurationBroker
        .find(conf, values)
        .map(Scopes.readThroughBroker(_, settings))
        .getOrElse {
          val audit = ConfigurationBroker.ownAudit(values, KeyPurpose.Read)
          Scopes.forRead(KmsUse(ConfigurationOptions.kms(values, conf), None, audit), settings, conf)
        }
      scope -> settings.kekLifetimeMillis
    }
  }

  /**
   * @param path of the new file; none if parquet-java was given a file without its path, which is then no file of a table's
   *   log: all keys of columns count
   * @param schema of the new file
   * @throws io.pmeparquet.PmeException if the configuration names no key, or the KMS refuses one
   */
  def write(conf: Configuration, path: Option[Path], schema: MessageType): WriteScope = {
    WriteRules.check(conf)
    WriteRules.checkTask(conf)
    requireNoPolicy(conf)
    val job = identityOf(conf)
    val inLog = path.exists(TableLogs.contain(_, schema))
    writers.getFor(if (inLog) TableLogs.identityOf(job) else job) {
      val values = ConfigurationOptions.of(conf, withColumns = !inLog)
      Settings.requireKeys(values)
      val scope = ConfigurationBroker.find(conf, values) match {
        case Some(broker) =>
          Scopes.writeThroughBroker(broker, settings(values, AtDriver, AtDriver.audit).files)
        case None =>
          val audit = ConfigurationBroker.ownAudit(values, KeyPurpose.Write)
          val own = settings(values, ConfigurationOptions.kms(values, conf), audit)
          Scopes.forWrite(own, tableDirectory = "", conf)
      }
      scope -> Settings.lifetimeMillis(values)
    }
  }

  /** Spark gives a write's configuration the settings of its session. Only the driver of Spark's source reads policies. */
  private def requireNoPolicy(conf: Configuration): Unit =
    if (conf.asScala.exists(entry => SessionNames.isPolicy(entry.getKey)))
      throw PmeErrors.policyOfFactory("a write with parquet.crypto.factory.class")

  private[standalone] def settings(
      values: OptionValues,
      kms: => KmsSettings,
      audit: KeyAudit
  ): WriteSettings = {
    // If it names neither keys nor a KMS, the error is about the keys.
    Settings.requireKeys(values)
    val settings = Settings.forWrite(values, KmsUse(kms, None, audit), caseSensitive = true)
    refuseUnsafe(settings)
    settings
  }

  /** The driver knows which KMS it is. */
  private[standalone] case object AtDriver extends KmsSettings {
    override def kind: String = "driver"
    override def isInProcess: Boolean = false

    /** It records what it calls. */
    val audit: KeyAudit = KeyAudit.off(KeyPurpose.Write)
  }

  /** Settings of a task may be what a secret refers to, so secrets count as well. */
  private def identityOf(conf: Configuration) =
    ConfigurationDigest.ofJob(conf, ConfigurationOptions.referredTo(conf))

  /** Jobs of MapReduce write files under other names first, and move them. Decision 0011 is about readable footers. */
  private def refuseUnsafe(settings: WriteSettings): Unit = {
    val files = settings.files
    CryptoProvider.requireOfJvm(files.cryptoProvider)
    if (files.externalMaterial || files.aadPrefix.exists(_.template.contains('{')))
      throw PmeErrors.unsupported(
        "a write with parquet.crypto.factory.class",
        "keyMaterial=external, or an aadPrefix with {table}, {path} or {file},",
        "the factory does not know where the file will be when the job is done",
        "Use keyMaterial=internal, and an aadPrefix that is the same for all files."
      )
    if (files.plaintextFooter)
      throw PmeErrors.unsupported(
        "a write with parquet.crypto.factory.class",
        "plaintextFooter=true",
        "parquet-java writes the sizes of protected values into a readable footer",
        "Use plaintextFooter=false."
      )
  }

  /** Files whose footers were checked a moment ago, and whether they are a log's. */
  private object CheckedFooters extends ScopeCache[FileVersion, Boolean] {
    override def empty(settings: ReadSettings): RecentValues[FileVersion, Boolean] =
      new RecentValues(Admissions.MaxFiles, Admissions.LifetimeMillis)
  }

  override def sweep(): Unit = {
    readers.sweep()
    writers.sweep()
  }

  override def close(): Unit = {
    readers.clear()
    writers.clear()
  }
}

/**
 * Tries out the keys of a file in a table's log in the way that the crypto factory has in this process: by the driver, if
 * it knows the configuration, or by the KMS itself. It touches no file.
 *
 * @param isByDriver whether the driver calls the KMS
 * @param isAsAsked false if the options let the driver call the KMS, and it does not know this configuration
 */
private[pmeparquet] final class LogTrial private (
    source: KeySource,
    files: FileSettings,
    val isByDriver: Boolean,
    val isAsAsked: Boolean
) {

  /** The name of the KMS in messages. */
  def describe: String = source.describe

  def keys: Seq[String] = files.masterKeys

  /** @throws io.pmeparquet.PmeException if the KMS refuses the key */
  def of(masterKeyId: String, where: String): KeyCalls = KmsTrial.calls(source, files, masterKeyId, where)
}

private[pmeparquet] object LogTrial {

  /** @throws io.pmeparquet.PmeException as a write would: for the options, or if the KMS cannot be opened */
  def of(conf: Configuration): LogTrial = of(conf, ConfigurationBroker.find(conf, _))

  private[standalone] def of(conf: Configuration, find: OptionValues => Option[KeyBroker]): LogTrial = {
    import ConfigurationScopes.AtDriver
    val values = ConfigurationOptions.of(conf, withColumns = false)
    Settings.requireKeys(values)
    find(values) match {
      case Some(broker) =>
        val files = ConfigurationScopes.settings(values, AtDriver, AtDriver.audit).files
        new LogTrial(broker, files, isByDriver = true, isAsAsked = true)
      case None =>
        val audit = ConfigurationBroker.ownAudit(values, KeyPurpose.Try)
        val settings = ConfigurationScopes.settings(values, ConfigurationOptions.kms(values, conf), audit)
        val source = Scopes.open(settings.use, conf, lifetimeMillis = 0).source
        new LogTrial(source, settings.files, isByDriver = false, !ConfigurationBroker.mayAsk(values))
    }
  }
}
