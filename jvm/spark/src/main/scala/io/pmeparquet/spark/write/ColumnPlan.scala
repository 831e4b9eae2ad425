package io.pmeparquet.spark.write

import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.catalog.BucketSpec
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, KeyPlan, LeafColumn}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.spark.session.SparkAccess

/** The schema of a write as the key plan sees it. ''Driver only.'' */
private[spark] object ColumnPlan {

  /** Fails if `columnKeys` does not fit the columns, before any file is written. */
  def check(leaves: Seq[LeafColumn], settings: FileSettings): Unit = {
    KeyPlan.of(leaves, settings.columnKeys, settings.unlisted, settings.caseSensitive)
    ()
  }

  /** The columns of the files of a write, without those that name partitions. */
  def dataSchema(write: InsertIntoHadoopFsRelationCommand): StructType = {
    val partitions = write.partitionColumns.map(_.exprId).toSet
    StructType(write.outputColumnNames.zip(write.query.output).collect {
      case (name, column) if !partitions.contains(column.exprId) =>
        StructField(name, column.dataType, column.nullable, column.metadata)
    })
  }

  /** The leaf columns of the files that Spark writes for this schema. */
  def leaves(session: SparkSession, dataSchema: StructType): Seq[LeafColumn] =
    SchemaColumns.leaves(fileSchema(session, dataSchema))

  /** The schema of the files that Spark writes for this schema. */
  def fileSchema(session: SparkSession, dataSchema: StructType): MessageType =
    new SparkToParquetSchemaConverter(SparkAccess.sqlConf(session)).convert(dataSchema)

  /** Fails if `columnKeys` covers a partition column: its values become names of directories. */
  def checkPartitions(session: SparkSession, columns: Seq[String], keys: Option[ColumnKeys]): Unit =
    KeyPlan.checkPartitions(columns, keys, SparkAccess.sqlConf(session).caseSensitiveAnalysis)

  /** Fails if `columnKeys` covers a column of the buckets: a hash of its values becomes a part of names of files. */
  def checkBuckets(session: SparkSession, buckets: Option[BucketSpec], keys: Option[ColumnKeys]): Unit =
    KeyPlan.checkBuckets(
      buckets.toSeq.flatMap(_.bucketColumnNames),
      keys,
      SparkAccess.sqlConf(session).caseSensitiveAnalysis
    )
}
