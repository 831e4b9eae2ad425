package io.pmeparquet.spark.options

import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{PmeOptions, SecretOptions, SettingNames, UnknownOptions}
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
      case (name, value) if UnknownOptions.isKnown(name) && value != null => lower(name) -> value
    }

  def ofSession: Map[String, String] = {
    val prefix = FormatName.SessionPrefix
    SparkAccess.sqlConf(session).getAllConfs.collect {
      case (name, value) if lower(name).startsWith(prefix) =>
        val option = name.substring(prefix.length)
        if (!UnknownOptions.isKnown(option)) throw UnknownOptions.unknownSessionConf(name, option)
        lower(option) -> value
    }
  }

  // Rules and reads ask often, and a copy of Hadoop's configuration takes a millisecond. Most sessions have none of these.
  def ofHadoop: Map[String, String] =
    if (!SparkAccess.hadoopNames(session).exists(isJavas)) Map.empty
    else {
      SparkAccess.hadoopNames(session).filter(isJavas).foreach(SettingNames.check)
      val conf = SparkAccess.hadoopConf(session, Map.empty)
      val below = conf.getPropsWithPrefix(PmeOptions.ParquetPrefix).asScala.toMap
      below.map { case (name, value) => (PmeOptions.ParquetPrefix + name) -> value }
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
    PmeOptions.DeltaPredicates -> "what the logs of its Delta tables may show",
    PmeOptions.DeltaProperties -> "which properties its Delta tables may have"
  )
}
