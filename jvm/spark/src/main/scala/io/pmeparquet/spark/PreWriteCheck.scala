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

/**
 * Judges the options of a new table before the catalog keeps and shows them, and an overwrite before Spark deletes what is there. Spark asks a file format only afterwards, and a misspelt key
 * would then cost the table. A rule of the optimizer is the one place that every overwrite passes first.
 *
 * ''Driver only.''
 */
private[spark] object PreWriteCheck extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case write: InsertIntoHadoopFsRelationCommand
          if write.mode == SaveMode.Overwrite && write.fileFormat.isInstanceOf[PmeFileFormat] =>
        PmeSparkException.translated(check(write))
      case create: CreateDataSourceTableCommand if isOurs(create.table) =>
        PmeSparkException.translated(
          new ConfResolver(SparkSession.active).checkNames(create.table.storage.properties)
        )
      case create: CreateDataSourceTableAsSelectCommand if isOurs(create.table) =>
        PmeSparkException.translated(
          new ConfResolver(SparkSession.active).checkNames(create.table.storage.properties)
        )
      case _ => ()
    }
    plan
  }

  private def isOurs(table: CatalogTable): Boolean =
    table.provider.exists(_.equalsIgnoreCase(PmeDataSource.Name))

  private def check(write: InsertIntoHadoopFsRelationCommand): Unit = {
    val session = SparkSession.active
    val options = ConfResolver.spelled(write.options)
    val conf = SparkAccess.hadoopConf(session, options)
    io.pmeparquet.parquet.WriteRules.check(conf)
    val settings = new ConfResolver(session).prepareWrite(options, conf, write.outputPath)
    ColumnPlan.check(session, dataSchema(write), settings.files)
  }

  private def dataSchema(write: InsertIntoHadoopFsRelationCommand): StructType = {
    val partitions = write.partitionColumns.map(_.exprId).toSet
    StructType(write.outputColumnNames.zip(write.query.output).collect {
      case (name, column) if !partitions.contains(column.exprId) =>
        StructField(name, column.dataType, column.nullable)
    })
  }
}
