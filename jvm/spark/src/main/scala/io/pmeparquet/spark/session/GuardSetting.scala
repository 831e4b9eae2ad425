package io.pmeparquet.spark.session

import org.apache.spark.SparkConf

/**
 * The setting that has Delta commit through the guard. Delta takes one store for all schemes, or one for each scheme and
 * refuses both, so those that the user has set move below the guard. It names no class of Delta's.
 */
private[pmeparquet] object GuardSetting {
  val Name = "spark.delta.logStore.class"
  private val Class = "delta.logStore.class"
  private val OfScheme = """delta\.logStore\.(.+)\.impl""".r
  private val Spark = "spark."
  private val Below = "spark.pme-parquet."

  /** Has all logs that Delta opens from now on in this application committed through the guard. */
  def install(conf: SparkConf): Unit = conf.synchronized {
    conf.getAll.foreach { case (name, value) =>
      name.stripPrefix(Spark) match {
        case bare @ (Class | OfScheme(_)) if !name.startsWith(Below) =>
          conf.remove(name)
          if (value != FormatName.LogStoreClass) conf.set(Below + bare, value)
        case _ => ()
      }
    }
    conf.set(Name, FormatName.LogStoreClass)
  }

  def storeBelow(conf: SparkConf, scheme: String): Option[String] =
    conf.getOption(s"${Below}delta.logStore.$scheme.impl").orElse(conf.getOption(Below + Class))

  /** Whether new logs are committed through the guard. */
  def isSet(conf: SparkConf): Boolean = conf.getOption(Name).contains(FormatName.LogStoreClass)
}
