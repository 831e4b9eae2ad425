package io.pmeparquet.spark.read

import org.apache.spark.sql.execution.datasources.parquet.{ParquetOptions, ParquetUtils}
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** The settings of Spark's session for reading Parquet files. ''Crosses the wire.'' */
private[spark] final case class SparkReadRules(
    vectorized: Boolean,
    returningBatch: Boolean,
    offHeap: Boolean,
    capacity: Int,
    filterPushDown: Boolean,
    recordFilter: Boolean,
    pushDownDate: Boolean,
    pushDownTimestamp: Boolean,
    pushDownDecimal: Boolean,
    pushDownStringPredicate: Boolean,
    pushDownInThreshold: Int,
    caseSensitive: Boolean,
    datetimeRebaseMode: String,
    int96RebaseMode: String,
    int96Conversion: Option[String]
)

private[spark] object SparkReadRules {

  /** ''Driver only.'' */
  def of(conf: SQLConf, result: StructType, options: Map[String, String]): SparkReadRules = {
    val parquet = new ParquetOptions(options, conf)
    SparkReadRules(
      vectorized = ParquetUtils.isBatchReadSupportedForSchema(conf, result),
      returningBatch = conf.parquetVectorizedReaderEnabled && options
        .get(FileFormat.OPTION_RETURNING_BATCH)
        .contains("true"),
      offHeap = conf.offHeapColumnVectorEnabled,
      capacity = conf.parquetVectorizedReaderBatchSize,
      // Filters name columns. If Spark finds columns by id, a name may belong to another column.
      filterPushDown =
        conf.parquetFilterPushDown && !(conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldIds(result)),
      recordFilter = conf.parquetRecordFilterEnabled,
      pushDownDate = conf.parquetFilterPushDownDate,
      pushDownTimestamp = conf.parquetFilterPushDownTimestamp,
      pushDownDecimal = conf.parquetFilterPushDownDecimal,
      pushDownStringPredicate = conf.parquetFilterPushDownStringPredicate,
      pushDownInThreshold = conf.parquetFilterPushDownInFilterThreshold,
      caseSensitive = conf.caseSensitiveAnalysis,
      datetimeRebaseMode = parquet.datetimeRebaseModeInRead,
      int96RebaseMode = parquet.int96RebaseModeInRead,
      int96Conversion = if (conf.isParquetINT96TimestampConversion) Some(conf.sessionLocalTimeZone) else None
    )
  }
}
