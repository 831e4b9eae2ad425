package io.pmeparquet.spark.rules

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.{BucketSpec, CatalogTable, ExternalCatalogUtils}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  CreateDataSourceTableCommand
}
import org.apache.spark.sql.execution.datasources.{FileScanRDD, InsertIntoHadoopFsRelationCommand}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation, FileScan}
import org.apache.spark.sql.types.{StructField, StructType}

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.options.{OrcResolver, PreparedWrite, ResolvedOptions}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.{EncryptedFileScan, EncryptedParquetFormat}
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

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    plan match {
      case write: InsertIntoHadoopFsRelationCommand => ofWrite(write)
      case create: CreateDataSourceTableCommand => checkTable(create.table); plan
      case create: CreateDataSourceTableAsSelectCommand =>
        checkTable(create.table)
        checkKeysOfNew(create.table)
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
        format.checkWrite(session, options, dataSchema(write), partitions, write.bucketSpec, replaces)
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
      if (table.bucketSpec.isDefined)
        ColumnPlan.checkBuckets(session, table.bucketSpec, options.columnKeys)
    }

  /**
   * Spark does not tell a format the table that a statement creates and fills, so files would not be under the master keys
   * in its property, but under keys of these names in the KMS.
   */
  private def checkKeysOfNew(table: CatalogTable): Unit = {
    val session = SparkSession.active
    val options = ResolvedOptions.ofFrame(session, table.storage.properties)
    for (name <- options.orcKeyProperty)
      if (
        table.properties.contains(name) && FormatOptions.ofTable(table).ours &&
        !session.sessionState.catalog
          .tableExists(table.identifier) && !new OrcResolver(options, None).namesMasterKeys
      ) throw PmeErrors.orcKeysOfNewTable(table.identifier.unquotedString, name)
  }

  /** @return the write, with a prepared scope for when Spark asks its format to prepare the job */
  private def check(write: InsertIntoHadoopFsRelationCommand, format: EncryptedParquetFormat): LogicalPlan = {
    val session = SparkSession.active
    val options = ResolvedOptions.of(session, format.origin, write.options)
    val keys = options.columnKeys
    ColumnPlan.checkPartitions(session, write.partitionColumns.map(_.name), keys)
    ColumnPlan.checkBuckets(session, write.bucketSpec, keys)
    if (write.mode != SaveMode.Overwrite) write
    else {
      val conf = options.newHadoopConf()
      WriteRules.check(conf)
      val settings = options.writeSettings
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

/**
 * Refuses what Spark allows, and what loses or hides rows of an encrypted table, which often has no other copy: an overwrite
 * of files that the same query reads, files in another partition layout than the table's, and a stream into a directory
 * with other files, which are hidden as soon as the stream's list of files is there. ''Driver only.''
 */
private[spark] object RowsAtRisk {

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` */
  def checkWrite(session: SparkSession, write: InsertIntoHadoopFsRelationCommand): Unit = {
    val fs = write.outputPath.getFileSystem(SparkAccess.hadoopConf(session, write.options))
    val target = fs.makeQualified(write.outputPath)
    val isDynamic = SealWrites.isDynamic(write, session)
    if (write.mode == SaveMode.Overwrite && !isDynamic)
      inputs(write.query).find(overlap(target, _)).foreach { input =>
        throw PmeErrors.overwritesItsInput(target.toString, input.toString)
      }
    // A table of the catalog has its columns from its definition.
    else if (write.catalogTable.isEmpty && (write.mode == SaveMode.Append || isDynamic)) {
      val columns = write.partitionColumns.map(_.name)
      layout(fs, target).filter(_ != columns).foreach { found =>
        throw PmeErrors.otherPartitions(target.toString, found, columns)
      }
    }
  }

  /** Of a stream that starts. Spark has made its sink before, and with it an empty directory for the list of files. */
  def checkStream(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream if StreamSinks.isOurs(write.sink) =>
      PmeSparkException.translated {
        val log = StreamSinks.log(write.sink)
        requireNoOtherFiles(SparkAccess.hadoopConf(session, Map.empty), log, write.resolvedCheckpointLocation)
      }
    case _ => ()
  }

  private def requireNoOtherFiles(conf: Configuration, log: Path, checkpoint: String): Unit = {
    val target = log.getParent
    val fs = target.getFileSystem(conf)
    def inCheckpoint(name: String) = hasEntries(conf, new Path(checkpoint, name))
    // Files of a first batch that did not end are the stream's own.
    def interrupted = inCheckpoint("offsets") && !inCheckpoint("commits")
    if (!hasEntries(conf, log) && layout(fs, target).isDefined && !interrupted) {
      // An empty list would hide the files, too. This deletes no entry that was made meanwhile.
      fs.delete(log, false)
      throw PmeErrors.streamHidesFiles(target.toString)
    }
  }

  private def hasEntries(conf: Configuration, directory: Path) =
    entries(directory.getFileSystem(conf), directory).exists(!_.getPath.getName.startsWith("."))

  /**
   * The partition columns of the files in a directory, as its first data file or partition shows them.
   *
   * @return none if there is neither
   */
  private def layout(fs: FileSystem, directory: Path): Option[Seq[String]] =
    entries(fs, directory)
      .filterNot(TableFiles.isHidden)
      .flatMap { entry =>
        columnOf(entry) match {
          case Some(column) => layout(fs, entry.getPath).map(column +: _)
          case None if entry.isFile => Some(Nil)
          case None => None
        }
      }
      .collectFirst { case columns => columns }

  private def columnOf(entry: FileStatus): Option[String] = {
    val name = entry.getPath.getName
    val end = name.indexOf('=')
    if (entry.isDirectory && end > 0) Some(ExternalCatalogUtils.unescapePathName(name.take(end))) else None
  }

  private def entries(fs: FileSystem, directory: Path): Iterator[FileStatus] =
    try {
      val listed = fs.listStatusIterator(directory)
      Iterator.continually(listed).takeWhile(_.hasNext).map(_.next())
    } catch {
      case _: FileNotFoundException => Iterator.empty
    }

  /** The directories and files that a plan reads, also by way of cached data and of an RDD. */
  private def inputs(plan: LogicalPlan): Seq[Path] =
    PlanFields.nodes(plan).flatMap {
      case FileRelation(files, _) => files.location.rootPaths
      case scanned: DataSourceV2ScanRelation => ofScan(scanned.scan)
      case cached: InMemoryRelation => CachedNode.of(cached).flatMap(node => physical(node.node))
      case rows: LogicalRDD => filesOf(rows.rdd)
      case _ => Nil
    }

  private def ofScan(scan: Scan): Seq[Path] = scan match {
    case ours: EncryptedFileScan => ofScan(ours.spark)
    case files: FileScan => files.fileIndex.rootPaths
    case _ => Nil
  }

  private def physical(node: SparkPlan): Seq[Path] = node match {
    case scan: FileSourceScanExec => scan.relation.location.rootPaths
    case batch: BatchScanExec => ofScan(batch.scan)
    case _ => Nil
  }

  private def filesOf(rdd: RDD[_]): Seq[Path] = rdd match {
    case files: FileScanRDD => files.filePartitions.flatMap(_.files).map(_.toPath)
    case other => other.dependencies.flatMap(dependency => filesOf(dependency.rdd))
  }

  /** Whether one is the other, or below it. */
  private def overlap(target: Path, input: Path): Boolean = {
    def isBelow(inner: Path, outer: Path) =
      Iterator.iterate(inner)(_.getParent).takeWhile(_ != null).contains(outer)
    isBelow(input, target) || isBelow(target, input)
  }
}
