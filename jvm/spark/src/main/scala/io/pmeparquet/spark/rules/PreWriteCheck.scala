package io.pmeparquet.spark.rules

import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.catalog.{BucketSpec, CatalogTable}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand,
  ExplainCommand
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand
import org.apache.spark.sql.execution.SQLExecution

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.admin.seal.{SealingJob, WriteKeys}
import io.pmeparquet.spark.options.{OrcResolver, PreparedWrite, ResolvedOptions}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.EncryptedParquetFormat
import io.pmeparquet.spark.session.{DeltaClasses, FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.WriteSeal
import io.pmeparquet.spark.write.{ColumnPlan, CutCommit, KeyPlaces}
import io.pmeparquet.PmeErrors

/**
 * Checks the options of a new table before the catalog keeps and shows them, and an overwrite before Spark deletes the
 * old files. Spark calls a file format only afterwards, and then a misspelt key would cost the table. Only in an
 * optimizer rule can we see every overwrite in time and know its partition columns.
 *
 * ''Driver only.''
 */
private[spark] object PreWriteCheck extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    plan match {
      case write: InsertIntoHadoopFsRelationCommand => ofWrite(write)
      case create: CreateDataSourceTableCommand => checkTable(create.table); plan
      case create: CreateDataSourceTableAsSelectCommand =>
        checkTable(create.table)
        checkNew(create.table, create.mode)
        plan
      case _ => plan
    }
  }

  private def ofWrite(write: InsertIntoHadoopFsRelationCommand): LogicalPlan = {
    val session = SparkSession.active
    val options = ResolvedOptions.spelled(write.options)
    val partitions = write.partitionColumns.map(_.name)
    write.fileFormat match {
      case format: EncryptedParquetFormat =>
        RowsAtRisk.checkWrite(session, write)
        check(write, format)
      case format: OrcFormat =>
        RowsAtRisk.checkWrite(session, write)
        val replaces = write.mode == SaveMode.Overwrite
        format.checkWrite(
          session,
          options,
          ColumnPlan.dataSchema(write),
          partitions,
          write.bucketSpec,
          replaces
        )
        write
      case other: ParquetFileFormat if !DeltaClasses.isDeltas(other) =>
        checkNames(options, partitions, write.bucketSpec)
        write
      case _ => write
    }
  }

  /** For Spark's own `parquet` with our crypto factory, which sees neither partitions nor buckets. */
  private def checkNames(
      options: Map[String, String],
      partitions: Seq[String],
      buckets: Option[BucketSpec]
  ): Unit = if (partitions.nonEmpty || buckets.isDefined) {
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
    else if (table.provider.exists(FormatName.names)) {
      val session = SparkSession.active
      val options = ResolvedOptions.ofFrame(session, table.storage.properties)
      options.checkNames()
      // Spark would store the number of this write, and give it to all others.
      if (options.numberedWrite.isDefined) throw PmeErrors.seriesOfTable
      if (table.bucketSpec.isDefined)
        ColumnPlan.checkBuckets(session, table.bucketSpec, options.columnKeys)
    }

  /**
   * Spark does not tell a format the table that a statement creates and fills, so files would not be under the master keys
   * in its property, but under keys of these names in the KMS; and its columns would not have the tags of catalogs.
   */
  private def checkNew(table: CatalogTable, mode: SaveMode): Unit = {
    val session = SparkSession.active
    // Spark drops a table that it overwrites before this, or only afterwards, as 4.0.5 and later versions do.
    def isNew = mode == SaveMode.Overwrite || !session.sessionState.catalog.tableExists(table.identifier)
    if (FormatOptions.ofTable(table).ours && isNew) {
      val (name, options) =
        (table.identifier.unquotedString, ResolvedOptions.ofFrame(session, table.storage.properties))
      if (options.asksCatalogs)
        options.requireNoPolicy(
          name,
          "a table that one statement makes and fills, whose tags no catalog has yet,"
        )
      for (property <- options.orcKeyProperty if !table.provider.exists(isParquet))
        if (
          (table.properties.contains(property) || old(session, table).contains(property)) &&
          !new OrcResolver(options, None).namesMasterKeys
        ) throw PmeErrors.orcKeysOfNewTable(name, property)
    }
  }

  /** The properties of the table that a statement replaces. The new one has none of them. */
  private def old(session: SparkSession, table: CatalogTable): Map[String, String] =
    try session.sessionState.catalog.getTableMetadata(table.identifier).properties
    catch { case _: NoSuchTableException => Map.empty }

  private def isParquet(provider: String) = FormatName.names(provider) && !FormatName.isOrc(provider)

  /** @return the write, with a prepared scope for when Spark asks its format to prepare the job */
  private def check(write: InsertIntoHadoopFsRelationCommand, format: EncryptedParquetFormat): LogicalPlan = {
    val session = SparkSession.active
    val options =
      ResolvedOptions.of(session, format.origin, write.options).writing(ColumnPlan.dataSchema(write))
    val keys = options.columnKeys
    ColumnPlan.checkPartitions(session, write.partitionColumns.map(_.name), keys)
    ColumnPlan.checkBuckets(session, write.bucketSpec, keys)
    if (write.mode != SaveMode.Overwrite && !options.hasKeyTemplates) write
    else {
      val conf = options.newHadoopConf()
      WriteRules.check(conf)
      val leaves = ColumnPlan.leaves(session, ColumnPlan.dataSchema(write))
      val settings = options.writeSettings(leaves)
      // Before we call the KMS: if columns and keys are swapped, we would ask it for a column's name.
      if (!format.prepared.exists(_.hasChecked(settings, write.outputPath, leaves)))
        ColumnPlan.check(leaves, settings.files)
      // Spark applies a rule until it changes nothing, so the write may be prepared already.
      if (format.prepared.exists(_.waitsFor(settings, write.outputPath))) write
      else {
        val found = KeyPlaces.of(session, write, ColumnPlan.dataSchema(write), settings.files)
        val cut = found.filterNot(_.cut.isEmpty)
        cut.foreach(_ => CutCommit.require(write, SparkAccess.sqlConf(session), conf))
        val places = found.map(_.all)
        // Before keys are made: those that a seal would refuse, or states as destroyed.
        if (cut.isDefined || (places.isDefined && options.createsKeys))
          requireFit(
            options,
            write,
            cut.isDefined,
            WriteKeys.of(leaves, settings.files, places, write.partitionColumns.map(_.name))
          )
        val made =
          if (isExplained(session)) settings
          else options.withKeysMade(settings, write.outputPath, conf, places)
        val prepared = PreparedWrite.of(made, conf, write.outputPath, leaves, places)
        val sorted = cut.fold[LogicalPlan](write)(one => CutCommit.sorted(write, one.cut, one.columnOf))
        PlanFields.withFormat(sorted)(_.withPrepared(prepared))
      }
    }
  }

  /** @param isCut whether columns of the data name keys */
  private def requireFit(
      options: ResolvedOptions,
      write: InsertIntoHadoopFsRelationCommand,
      isCut: Boolean,
      keys: WriteKeys
  ): Unit = {
    val path = SealingJob.qualified(options, write.outputPath)
    if (WriteSeal.isNeeded(options, path)) {
      if (isCut) throw WriteSeal.keysByColumn(path.toString)
      new SealingJob(options, path.toString).requireFit(keys, SealWrites.replaced(write, SparkSession.active))
    }
  }

  /** Whether the statement that runs only shows a plan. */
  private def isExplained(session: SparkSession): Boolean =
    Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))
      .flatMap(id => Option(SQLExecution.getQueryExecution(id.toLong)))
      .exists(_.logical.isInstanceOf[ExplainCommand])
}
