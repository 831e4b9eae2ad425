package io.pmeparquet.spark.rules

import java.io.FileNotFoundException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, Path}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.{FileSourceScanExec, LogicalRDD, SparkPlan}
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.datasources.{FileScanRDD, InsertIntoHadoopFsRelationCommand}
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation, FileScan}

import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.read.{EncryptedFileScan, EncryptedParquetFormat, PmeScan}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.stream.SealedSink
import io.pmeparquet.PmeErrors

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
    // Partitions would be replaced without the rows that the query leaves out.
    else if (isDynamic && leavesOutFiles(write.query) && inputs(write.query).exists(overlap(target, _)))
      throw PmeErrors.unsupported(
        target.toString,
        "an overwrite of what a read with deniedFiles=skip reads",
        "rows that the read leaves out would be lost",
        "Remove deniedFiles."
      )
    // A table of the catalog has its columns from its definition.
    else if (write.catalogTable.isEmpty && (write.mode == SaveMode.Append || isDynamic)) {
      val columns = write.partitionColumns.map(_.name)
      layout(fs, target).filter(_ != columns).foreach { found =>
        throw PmeErrors.otherPartitions(target.toString, found, columns)
      }
    }
  }

  private def leavesOutFiles(plan: LogicalPlan): Boolean = PlanFields.nodes(plan).exists {
    case FileRelation(files, format: EncryptedParquetFormat) =>
      ResolvedOptions.of(files.sparkSession, format.origin, files.options).leavesOutFiles
    case scanned: DataSourceV2ScanRelation =>
      scanned.scan match {
        case ours: PmeScan => ours.leavesOutFiles
        case _ => false
      }
    case _ => false
  }

  /** Of a stream that starts. Spark has made its sink before, and with it an empty directory for the list of files. */
  def checkStream(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    // Each of its batches is looked at as any write is.
    case write: WriteToStream if write.sink.isInstanceOf[SealedSink] => ()
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
