package io.pmeparquet.spark.session

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.SparkSession
import org.apache.spark.SPARK_VERSION

/** What the format asks of a session. It compiles unchanged for every Spark version. */
private[pmeparquet] object SparkAccess {
  def sqlConf(session: SparkSession): SQLConf = session.sessionState.conf

  /** A copy of the session's Hadoop configuration, with the options of a read or write added. */
  def hadoopConf(session: SparkSession, options: Map[String, String]): Configuration =
    session.sessionState.newHadoopConfWithOptions(options)

  /** A value of the session's Hadoop configuration, which this does not copy. */
  private def hadoopValue(session: SparkSession, name: String): Option[String] =
    Option(sqlConf(session).getConfString(name, null))
      .orElse(Option(session.sparkContext.hadoopConfiguration.get(name)))

  /** The names in the session's Hadoop configuration, which this does not copy. */
  def hadoopNames(session: SparkSession): Iterator[String] =
    sqlConf(session).getAllConfs.keysIterator ++
      session.sparkContext.hadoopConfiguration.iterator.asScala.map(_.getKey)

  /** The value of an option, in any case, or else of the session's Hadoop configuration. */
  def valueOf(session: SparkSession, options: Map[String, String], name: String): Option[String] =
    options
      .collectFirst { case (key, value) if key.equalsIgnoreCase(name) => value }
      .orElse(hadoopValue(session, name))

  /** Sets options in the same way as Spark. */
  def setOptions(conf: Configuration, options: Map[String, String]): Unit = options.foreach {
    case (name, value) =>
      if (value != null && !PathOptions.contains(name.toLowerCase(java.util.Locale.ROOT)))
        conf.set(name, value)
  }

  /** Sets what Spark's schema converter reads from a configuration: Spark sets it only on its own code paths. */
  def setSchemaFlags(conf: Configuration, sqlConf: SQLConf): Unit = {
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING.key, sqlConf.isParquetBinaryAsString)
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP.key, sqlConf.isParquetINT96AsTimestamp)
    conf.setBoolean(SQLConf.CASE_SENSITIVE.key, sqlConf.caseSensitiveAnalysis)
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED.key, sqlConf.parquetInferTimestampNTZEnabled)
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG.key, sqlConf.legacyParquetNanosAsLong)
    // Later Spark versions read more settings from the configuration, so this copies all of them.
    sqlConf.getAllConfs.foreach { case (name, value) =>
      if (name.startsWith("spark.sql.parquet.")) conf.set(name, value)
    }
  }

  private val PathOptions = Set("path", "paths")
}

/**
 * Differences between Spark versions that only the version number shows. If a class or member shows a difference, we
 * look for that instead: a vendor's Spark may have it under another version.
 */
private[spark] object SparkVersions {

  /** Spark 4 added RPC over TLS; older versions ignore the setting. */
  def hasRpcOverTls(version: String): Boolean = !isThree(version)

  /** Whether a relation in the text of a view may have options besides its table's: since Spark 4. */
  val viewsMayHaveOptions: Boolean = !isThree(SPARK_VERSION)

  /** Whether the session of a `DataFrameReader` is the active one while it creates a relation: since Spark 4. */
  val readersAreActive: Boolean = !isThree(SPARK_VERSION)

  private def isThree(version: String) = version.startsWith("3.")
}
