package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.SettingNames
import io.pmeparquet.spark.session.SparkAccess

/**
 * Settings of a running session that begin with `spark.hadoop.`: Spark takes its prefix away only from what was set before
 * it started. A value that the resolved configuration has as well, or that Spark started with, is not late.
 * ''Driver only.''
 *
 * @param asks which names count, without the prefix
 */
private[spark] final case class LateSettings(session: SparkSession, asks: String => Boolean) {

  /** The names, as they are spelt. */
  def of(resolved: Configuration): Seq[String] =
    SparkAccess.sqlConf(session).getAllConfs.toSeq.collect {
      case (name, value) if isLate(name, value, resolved) => name
    }

  private def isLate(name: String, value: String, resolved: Configuration) =
    SettingNames.hasSparkPrefix(name) && asks(SettingNames.bare(name)) &&
      resolved.getRaw(SettingNames.bare(name)) != value && session.sparkContext.getConf
        .get(name, null) != value
}

private[spark] object LateSettings {
  val Why = "Spark takes spark.hadoop. away only from settings that it has when it starts"
  val Remedy = "Set them without spark.hadoop. in a running session, or before Spark starts, or remove them."
}
