package io.pmeparquet.spark.rules

import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.{BucketSpec, CatalogTable}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.types.{StructField, StructType}

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.options.{ConfResolver, PreparedWrite}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.EncryptedFormat
import io.pmeparquet.spark.session.{DeltaClasses, FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.write.ColumnPlan
import io.pmeparquet.PmeErrors

/**
 * Checks the options of a new table before the catalog keeps and shows them, and an overwrite before Spark deletes the
 * old files. Spark calls a file format only afterwards, and then a misspelt key would cost the table. Only in an
 * optimizer rule can we see every overwrite in time and know its partition columns.
 *
 * ''Driver only.''
 */
private[spark] object PreWriteCheck extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: InsertIntoHadoopFsRelationCommand =>
      write.fileFormat match {
        case format: EncryptedFormat =>
          PmeSparkException.translated {
            RowsAtRisk.checkWrite(SparkSession.active, write)
            check(write, format)
          }
        case format: OrcFormat =>
          PmeSparkException.translated {
            RowsAtRisk.checkWrite(SparkSession.active, write)
            format.checkWrite(
              SparkSession.active,
              ConfResolver.spelled(write.options),
              dataSchema(write),
              write.partitionColumns.map(_.name),
              write.bucketSpec,
              replaces = write.mode == SaveMode.Overwrite
            )
          }
          write
        case other: ParquetFileFormat if !DeltaClasses.isDeltas(other) =>
          checkNames(
            ConfResolver.spelled(write.options),
            write.partitionColumns.map(_.name),
            write.bucketSpec
          )
          write
        case _ => plan
      }
    case create: CreateDataSourceTableCommand => checkTable(create.table); plan
    case create: CreateDataSourceTableAsSelectCommand =>
      checkTable(create.table)
      checkKeysOfNew(create.table)
      plan
    case _ => plan
  }

  /** For Spark's own `parquet` with our crypto factory, which sees neither partitions nor buckets. */
  private def checkNames(
      options: Map[String, String],
      partitions: Seq[String],
      buckets: Option[BucketSpec]
  ): Unit = if (partitions.nonEmpty || buckets.isDefined) PmeSparkException.translated {
    val session = SparkSession.active
    val conf = SparkAccess.hadoopConf(session, options)
    if (CryptoFactory.isOurs(conf)) {
      val keys = ConfiguredKeys.of(conf).columns.map(ColumnKeys.parse(_))
      ColumnPlan.checkPartitions(session, partitions, keys)
      ColumnPlan.checkBuckets(session, buckets, keys)
    }
  }

  private def checkTable(table: CatalogTable): Unit =
    if (table.provider.exists(_.equalsIgnoreCase("parquet")))
      checkNames(table.storage.properties, table.partitionColumnNames, table.bucketSpec)
    else if (table.provider.exists(FormatName.names))
      PmeSparkException.translated {
        val resolver = new ConfResolver(SparkSession.active)
        resolver.checkNames(table.storage.properties)
        if (table.bucketSpec.isDefined)
          ColumnPlan.checkBuckets(
            SparkSession.active,
            table.bucketSpec,
            resolver.columnKeys(table.storage.properties)
          )
      }

  /**
   * Spark does not tell a format the table that a statement creates and fills, so files would not be under the master keys
   * in its property, but under keys of these names in the KMS.
   */
  private def checkKeysOfNew(table: CatalogTable): Unit = PmeSparkException.translated {
    val session = SparkSession.active
    val resolver = new ConfResolver(session)
    val options = table.storage.properties
    for (name <- resolver.orcKeyProperty(options))
      if (
        table.properties.contains(name) && FormatOptions.ofTable(table).ours &&
        !session.sessionState.catalog.tableExists(table.identifier) && !resolver.orc(options).namesMasterKeys
      ) throw PmeErrors.orcKeysOfNewTable(table.identifier.unquotedString, name)
  }

  /** @return the write, with a prepared scope for when Spark asks its format to prepare the job */
  private def check(write: InsertIntoHadoopFsRelationCommand, format: EncryptedFormat): LogicalPlan = {
    val session = SparkSession.active
    val options = ConfResolver.spelled(write.options)
    val resolver = new ConfResolver(session, format.origin)
    ColumnPlan.checkPartitions(session, write.partitionColumns.map(_.name), resolver.columnKeys(options))
    ColumnPlan.checkBuckets(session, write.bucketSpec, resolver.columnKeys(options))
    if (write.mode != SaveMode.Overwrite) write
    else {
      val conf = SparkAccess.hadoopConf(session, options)
      WriteRules.check(conf)
      val settings = resolver.writeSettings(options, conf)
      val leaves = ColumnPlan.leaves(session, dataSchema(write))
      // Before we call the KMS: if columns and keys are swapped, we would ask it for a column's name.
      if (!format.prepared.exists(_.hasChecked(settings, write.outputPath, leaves)))
        ColumnPlan.check(leaves, settings.files)
      // Spark applies a rule until it changes nothing, so the write may be prepared already.
      if (format.prepared.exists(_.waitsFor(settings, write.outputPath))) write
      else {
        val prepared = PreparedWrite.of(settings, conf, write.outputPath, leaves)
        PlanFields.withFormat(write)(_.withPrepared(prepared))
      }
    }
  }

  private def dataSchema(write: InsertIntoHadoopFsRelationCommand): StructType = {
    val partitions = write.partitionColumns.map(_.exprId).toSet
    StructType(write.outputColumnNames.zip(write.query.output).collect {
      case (name, column) if !partitions.contains(column.exprId) =>
        StructField(name, column.dataType, column.nullable)
    })
  }
}
