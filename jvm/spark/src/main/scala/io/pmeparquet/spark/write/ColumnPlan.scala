package io.pmeparquet.spark.write

import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, KeyPlan}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.spark.session.SparkAccess

/** The schema of a write as the key plan sees it. ''Driver only.'' */
private[spark] object ColumnPlan {

  /** Fails where `columnKeys` does not fit the schema, before any file is written. */
  def check(session: SparkSession, dataSchema: StructType, settings: FileSettings): Unit = {
    val leaves = SchemaColumns.leaves(fileSchema(session, dataSchema))
    KeyPlan.of(leaves, settings.columnKeys, settings.unlisted, settings.caseSensitive)
  }

  /** The schema that Spark gives files with these columns. */
  def fileSchema(session: SparkSession, dataSchema: StructType): MessageType =
    new SparkToParquetSchemaConverter(SparkAccess.sqlConf(session)).convert(dataSchema)

  /** Fails where `columnKeys` takes in a column whose values become names of directories. */
  def checkPartitions(session: SparkSession, columns: Seq[String], keys: Option[ColumnKeys]): Unit =
    KeyPlan.checkPartitions(columns, keys, SparkAccess.sqlConf(session).caseSensitiveAnalysis)
}
