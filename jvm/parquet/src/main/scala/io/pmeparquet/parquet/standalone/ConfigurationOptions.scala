package io.pmeparquet.parquet.standalone

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, SecretReference}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsSettings}
import io.pmeparquet.kms.client.{DriverOptionReader, ProcessSecrets}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.options.{
  AuditSettings,
  DeltaNames,
  Level,
  NamedKeys,
  OptionValues,
  ParquetNames,
  PmeOptions,
  PrefixedOptions,
  SettingNames,
  Settings
}

/**
 * The options in a Hadoop configuration: `pme-parquet.<option>`, and parquet-java's `parquet.encryption.*`, which the
 * former override.
 */
private[standalone] object ConfigurationOptions {
  private val Prefix = PmeOptions.FactoryPrefix

  private val OfColumns: Set[String] =
    Seq(PmeOptions.ColumnKeys, PmeOptions.Unlisted)
      .flatMap(option => option.name +: option.parquetName.map(PmeOptions.ParquetPrefix + _).toSeq)
      .map(lower)
      .toSet

  /**
   * @param withColumns false for a file without the columns of the table, which the footer's key protects
   * @throws io.pmeparquet.PmeException for an unknown or misspelt name, a secret as a value, and an option that promises
   *   what only Spark's source does
   */
  def of(conf: Configuration, withColumns: Boolean = true): OptionValues = {
    conf.asScala.map(_.getKey).filterNot(SettingNames.hasSparkPrefix).foreach(SettingNames.check)
    val own = PrefixedOptions
      .of(conf.getPropsWithPrefix(Prefix).asScala.toSeq, Prefix)
      .filter { case (name, _) => withColumns || !OfColumns.contains(lower(name)) }
    val below = PrefixedOptions
      .once(
        conf
          .getPropsWithPrefix(PmeOptions.ParquetPrefix)
          .asScala
          .toSeq
          .map { case (name, value) => (PmeOptions.ParquetPrefix + name) -> value }
          .filter { case (name, _) => ParquetNames.isOption(name) } ++ ofDelta(conf)
      )
      .filter { case (name, _) => withColumns || !OfColumns.contains(name) }
    val values = new OptionValues(Map(Level.SessionConf -> own, Level.HadoopConf -> below))
    refuseSparks(values)
    values
  }

  /** What a Delta table says by the names of Delta's draft, by parquet-java's names. */
  private def ofDelta(conf: Configuration): Seq[(String, String)] =
    conf.asScala.map(_.getKey).filter(DeltaNames.concerns).toSeq.flatMap { name =>
      val value = conf.get(name)
      if (!DeltaNames.isSafe(name, value)) throw PmeErrors.deltaDraft(name)
      DeltaNames.javas(name).map(_ -> value)
    }

  /** The names of settings that secrets refer to (`conf:NAME`). */
  def referredTo(conf: Configuration): Seq[String] =
    Seq(Prefix, PmeOptions.ParquetPrefix)
      .flatMap(prefix => conf.getPropsWithPrefix(prefix).asScala.values)
      .flatMap(SecretReference.find(_))
      .collect { case SecretReference("conf", name) => name }
      .distinct
      .sorted

  /** The KMS of these options. */
  def kms(values: OptionValues, conf: Configuration): KmsSettings = {
    val secrets = new ProcessSecrets(conf, name => Option(conf.get(name)))
    KmsAccess.settings(new DriverOptionReader(values, conf, secrets, Set.empty))
  }

  /** How uses of keys are recorded. */
  def audit(values: OptionValues, purpose: KeyPurpose, others: String => Seq[String]): KeyAudit =
    AuditSettings.of(values, others, purpose, None)

  private def refuseSparks(values: OptionValues): Unit =
    PmeOptions.ofSparkOnly
      .filter(option =>
        values.text(option).exists(!option.values.headOption.orElse(option.default).contains(_))
      )
      .foreach { option =>
        throw PmeErrors.contradiction(
          option.name,
          "parquet.crypto.factory.class leads parquet-java to this format's keys, and only format(\"pme-parquet\") of Spark " +
            "does what this option asks for",
          s"Remove $Prefix${option.name}."
        )
      }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

/**
 * Spark skips a file on any failure if it is set to, also one that is altered, plaintext or refused. Rules of a session
 * refuse such a read before it runs; this is for who has no rules.
 */
private[parquet] object SkippedFiles {
  private val Options = Seq("ignoreCorruptFiles", "ignoreMissingFiles")
  private val OfSession = "spark.sql.files."

  /** @throws io.pmeparquet.PmeException which Spark does not take for a corrupt file, if nothing makes it another exception */
  def refuse(conf: Configuration): Unit = find(conf).foreach { name =>
    throw PmeErrors.skippedFiles(name, "a read with parquet.crypto.factory.class")
  }

  /** An option of the read, in any letters, overrides the session's setting. */
  private def find(conf: Configuration): Option[String] = {
    val options = conf.asScala
      .map(_.getKey)
      .filter(name => Options.exists(_.equalsIgnoreCase(name)))
      .toSeq
    val on = options.filter(conf.getBoolean(_, false))
    val ofSession = Options
      .filterNot(name => options.exists(_.equalsIgnoreCase(name)))
      .map(OfSession + _)
      .filter(conf.getBoolean(_, false))
    (on ++ ofSession).headOption
  }
}

/**
 * What the crypto factory finds in a Hadoop configuration, for rules that check a statement before anything is written.
 * They must not look for names of options themselves: names differ in case, and one level of options overrides another.
 */
private[pmeparquet] object ConfiguredKeys {

  /** @throws io.pmeparquet.PmeException for options that every write would refuse */
  def of(conf: Configuration): NamedKeys = Settings.namedKeys(ConfigurationOptions.of(conf))

  /**
   * Whether a file in a table's log would get a key.
   *
   * @throws io.pmeparquet.PmeException as [[of]]
   */
  def forLogs(conf: Configuration): Boolean = {
    val named = Settings.namedKeys(ConfigurationOptions.of(conf, withColumns = false))
    Seq(named.footer, named.uniform).flatten.exists(_.nonEmpty)
  }
}
