package io.pmeparquet.spark.session

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.SparkSession

/** What the format asks of a session. The same for every Spark it is compiled for. */
private[spark] object SparkAccess {
  def sqlConf(session: SparkSession): SQLConf = session.sessionState.conf

  /** A copy of the session's Hadoop configuration, with the options of a read or write on top. */
  def hadoopConf(session: SparkSession, options: Map[String, String]): Configuration =
    session.sessionState.newHadoopConfWithOptions(options)

  /** As Spark does where it puts options into a configuration by itself. */
  def setOptions(conf: Configuration, options: Map[String, String]): Unit = options.foreach {
    case (name, value) =>
      if (value != null && !PathOptions.contains(name.toLowerCase(java.util.Locale.ROOT)))
        conf.set(name, value)
  }

  /** What Spark's schema converter reads from a configuration; Spark sets it only on its own way. */
  def setSchemaFlags(conf: Configuration, sqlConf: SQLConf): Unit = {
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING.key, sqlConf.isParquetBinaryAsString)
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP.key, sqlConf.isParquetINT96AsTimestamp)
    conf.setBoolean(SQLConf.CASE_SENSITIVE.key, sqlConf.caseSensitiveAnalysis)
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED.key, sqlConf.parquetInferTimestampNTZEnabled)
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG.key, sqlConf.legacyParquetNanosAsLong)
    // Settings that later Sparks add are read from the configuration too, so all are handed over.
    sqlConf.getAllConfs.foreach { case (name, value) =>
      if (name.startsWith("spark.sql.parquet.")) conf.set(name, value)
    }
  }

  private val PathOptions = Set("path", "paths")
}
