package io.pmeparquet.spark

import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand
}
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.types.{StructField, StructType}

import io.pmeparquet.parquet.WriteRules

/**
 * Judges the options of a new table before the catalog keeps and shows them, and an overwrite before Spark deletes what
 * is there. Spark asks a file format only afterwards, and a misspelt key would then cost the table. A rule of the
 * optimizer is the one place that every overwrite passes first, and that knows the partition columns.
 *
 * ''Driver only.''
 */
private[spark] object PreWriteCheck extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case write: InsertIntoHadoopFsRelationCommand if write.fileFormat.isInstanceOf[PmeFileFormat] =>
        PmeSparkException.translated(check(write))
      case create: CreateDataSourceTableCommand => checkTable(create.table)
      case create: CreateDataSourceTableAsSelectCommand => checkTable(create.table)
      case _ => ()
    }
    plan
  }

  private def checkTable(table: CatalogTable): Unit =
    if (table.provider.exists(PmeDataSource.isNamedBy))
      PmeSparkException.translated(
        new ConfResolver(SparkSession.active).checkNames(table.storage.properties)
      )

  private def check(write: InsertIntoHadoopFsRelationCommand): Unit = {
    val session = SparkSession.active
    val options = ConfResolver.spelled(write.options)
    val origin = write.fileFormat match {
      case ours: PmeFileFormat => ours.origin
      case _ => OptionOrigin.Unknown
    }
    val resolver = new ConfResolver(session, origin)
    ColumnPlan.checkPartitions(session, write.partitionColumns.map(_.name), resolver.columnKeys(options))
    if (write.mode == SaveMode.Overwrite) {
      val conf = SparkAccess.hadoopConf(session, options)
      WriteRules.check(conf)
      val settings = resolver.writeSettings(options, conf)
      // Before the KMS is asked: with columns and keys the wrong way round it is asked for a column.
      ColumnPlan.check(session, dataSchema(write), settings.files)
      resolver.prepareWrite(settings, conf, write.outputPath)
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
