package io.pmeparquet.spark.read

import org.apache.parquet.hadoop.ParquetInputFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Spark's reader of single rows, with `reader=spark` where its vectorized reader cannot read a schema or is off. */
private[read] object RowReader {

  /**
   * What the row reader needs: no column index. With it, parquet-java's record assembly can take a value from another page
   * (parquet-java issue 3747).
   *
   * @param schema at least what is read; a wider one costs speed only
   */
  def conf(sqlConf: SQLConf, schema: StructType): Map[String, String] = {
    val isVectorized =
      sqlConf.parquetVectorizedReaderEnabled && ParquetUtils.isBatchReadSupportedForSchema(sqlConf, schema)
    if (isVectorized) Map.empty else Map(ParquetInputFormat.COLUMN_INDEX_FILTERING_ENABLED -> "false")
  }
}
