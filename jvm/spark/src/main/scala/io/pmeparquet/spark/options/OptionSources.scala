package io.pmeparquet.spark.options

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{
  ParquetNames,
  PmeOptions,
  PrefixedOptions,
  SecretOptions,
  SessionNames,
  SettingNames,
  UnknownOptions
}
import io.pmeparquet.spark.session.{FormatName, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * The places that have options: a read, write or table, the session, and Hadoop's configuration. This class knows which
 * names are ours, and refuses secrets as values. It does not know what options mean. ''Driver only.''
 */
private[options] final class OptionSources(session: SparkSession) {

  /** Our options among these, by their lower-case names. */
  def ours(values: Map[String, String]): Map[String, String] =
    values.collect {
      case (name, value) if ParquetNames.isOption(name) && value != null => lower(name) -> value
    }

  /** Fails for names that were meant for us, and that nobody reads. */
  def ofSession: Map[String, String] = {
    val prefix = FormatName.SessionPrefix
    val own = SparkAccess.sqlConf(session).getAllConfs.toSeq.flatMap { case (name, value) =>
      SessionNames.optionOf(name).map { option =>
        if (!SessionNames.isRead(name)) throw PmeErrors.unknownOption("session conf", name, prefix + option)
        if (!ParquetNames.isOption(option)) throw UnknownOptions.unknownSessionConf(name, option)
        option -> value
      }
    }
    PrefixedOptions.once(own, prefix)
  }

  /** Settings of the session that are in Hadoop's configuration, where nobody reads them, or came there too late. */
  private def requireHeard(): Unit = {
    session.sparkContext.hadoopConfiguration.iterator.asScala.map(_.getKey).foreach { name =>
      if (SessionNames.optionOf(name).isDefined) throw PmeErrors.sessionsInHadoop(name)
    }
    val late = LateSettings.of(session, session.sparkContext.hadoopConfiguration, isJavas)
    if (late.nonEmpty)
      throw PmeErrors.settingsNotHeard("pme-parquet", late, LateSettings.Why, LateSettings.Remedy)
  }

  // Rules and reads ask often, and a copy of Hadoop's configuration takes a millisecond. Most sessions have none of these.
  def ofHadoop: Map[String, String] = {
    requireHeard()
    if (!SparkAccess.hadoopNames(session).exists(isJavas)) Map.empty
    else {
      SparkAccess.hadoopNames(session).filter(isJavas).foreach(SettingNames.check)
      val conf = SparkAccess.hadoopConf(session, Map.empty)
      val below = conf.getPropsWithPrefix(PmeOptions.ParquetPrefix).asScala.toMap
      below.map { case (name, value) => (PmeOptions.ParquetPrefix + name) -> value }
    }
  }

  /** Fails if an option is unknown or holds a secret. Catalogs keep options before anything uses them. */
  def checkNames(options: Map[String, String]): Unit = {
    options.keys.foreach(UnknownOptions.check)
    val named = ours(options)
    SecretOptions.requireReferences(named)
    for ((option, what) <- OptionSources.ofSessions if named.contains(lower(option.name)))
      throw PmeErrors.contradiction(
        option.name,
        s"only the session can say $what, not the options of a read, write or table",
        s"Set ${FormatName.SessionPrefix}${option.name} in the session."
      )
  }

  // In any letters: names in others are errors.
  private def isJavas(name: String) = lower(name).startsWith(PmeOptions.ParquetPrefix)

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

private object OptionSources {

  /** What only a session can set, and what it says. */
  private val ofSessions = Seq(
    PmeOptions.TrustedTables -> "which tables it trusts",
    PmeOptions.PolicyKey -> "whose policies it trusts",
    PmeOptions.MinPolicy -> "which policies are too old",
    PmeOptions.PolicyAddresses -> "where policies may come from",
    PmeOptions.TagSource -> "which catalog it asks for tags",
    PmeOptions.DeltaPredicates -> "what the logs of its Delta tables may show",
    PmeOptions.DeltaProperties -> "which properties its Delta tables may have"
  )
}

/**
 * Settings of a running session that begin with `spark.hadoop.`: Spark takes its prefix away only from what was set before
 * it started. A value that the resolved configuration has as well, or that Spark started with, is not late.
 * ''Driver only.''
 */
private[spark] object LateSettings {
  val Why = "Spark takes spark.hadoop. away only from settings that it has when it starts"
  val Remedy = "Set them without spark.hadoop. in a running session, or before Spark starts, or remove them."

  /**
   * The names, as they are spelt.
   *
   * @param asks which names count, without the prefix
   */
  def of(session: SparkSession, resolved: Configuration, asks: String => Boolean): Seq[String] =
    SparkAccess.sqlConf(session).getAllConfs.toSeq.collect {
      case (name, value)
          if SettingNames.hasSparkPrefix(name) && asks(SettingNames.bare(name)) &&
            resolved.getRaw(SettingNames.bare(name)) != value &&
            session.sparkContext.getConf.get(name, null) != value =>
        name
    }
}
