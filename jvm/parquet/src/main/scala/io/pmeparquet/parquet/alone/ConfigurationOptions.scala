package io.pmeparquet.parquet.alone

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, SecretReference}
import io.pmeparquet.options.{Level, OptionValues, PmeOptions, PrefixedOptions, SettingNames, UnknownOptions}

/**
 * The options in a Hadoop configuration: `pme-parquet.<option>`, and parquet-java's `parquet.encryption.*`, which the
 * former override.
 */
private[alone] object ConfigurationOptions {
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
          .filter { case (name, _) => UnknownOptions.isKnown(name) }
      )
      .filter { case (name, _) => withColumns || !OfColumns.contains(name) }
    val values = new OptionValues(Map(Level.SessionConf -> own, Level.HadoopConf -> below))
    refuseSparks(values)
    values
  }

  /** The names of settings that secrets refer to (`conf:NAME`). */
  def referredTo(conf: Configuration): Seq[String] =
    Seq(Prefix, PmeOptions.ParquetPrefix)
      .flatMap(prefix => conf.getPropsWithPrefix(prefix).asScala.values)
      .flatMap(SecretReference.find(_))
      .collect { case SecretReference("conf", name) => name }
      .distinct
      .sorted

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
