package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.datasources.{
  DataSource,
  FileIndex,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand,
  LogicalRelation,
  PartitionDirectory,
  PartitioningAwareFileIndex,
  PartitioningUtils
}
import org.apache.spark.sql.types.StructType
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.snapshot.manifest.DataFormat
import io.pmeparquet.spark.admin.seal.{Replaced, SealResult, SealingJob, WriteKeys}
import io.pmeparquet.spark.options.{OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedParquetFormat}
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.{
  NothingSkipped,
  SealState,
  SealedIndex,
  Skipping,
  SnapshotReads,
  StoreSkipping,
  WriteSeal,
  WrittenFiles
}
import io.pmeparquet.spark.write.ColumnPlan

/**
 * Reads tables by their snapshots: finds the snapshot of each relation of ours, compares its files with those that Spark
 * has listed, and notes on the format what tasks must compare. It runs after [[TellOrigins]], since the origin decides
 * which options count. ''Driver only.''
 */
private[spark] object UseSnapshots extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case relation @ FileRelation(files, format: EncryptedFileFormat)
        if format.sealState == SealState.NotEvaluated =>
      PmeSparkException.translated(compared(relation, files, format))
  }

  private def compared(
      relation: LogicalRelation,
      files: HadoopFsRelation,
      format: EncryptedFileFormat
  ): LogicalPlan = {
    val session = SparkSession.active
    val options = ResolvedOptions.of(session, format.origin, files.options)
    // Xskipper's stores are of Parquet files.
    val store = format match {
      case _: EncryptedParquetFormat =>
        StoreSkipping.of(options, files.dataSchema, files.partitionSchema)
      case _ => None
    }
    val reads = new SnapshotReads(options)
    // A catalog can say that partitions are elsewhere, but not that the table has no snapshot.
    val own = relation.catalogTable.flatMap(_.storage.locationUri).map(new Path(_))
    val found = filesOf(files.location)
    val tables =
      reads.tables(files.location.rootPaths ++ own.map(qualified(session, _)), found.contains, found)
    val catalog = relation.catalogTable
    val roots = files.location.rootPaths
    val skipping =
      Skipping.of(options, files.dataSchema, files.partitionSchema, tables, roots, store)
    val index = new SealedIndex(files.location, reads, skipping, catalog, relation.isStreaming)
    def read(seal: SealState, location: FileIndex, options: Map[String, String]) =
      PlanFields.withRelation(relation)(
        _.copy(location = location, fileFormat = format.withSeal(seal), options = options)(files.sparkSession)
      )
    if (tables.isEmpty)
      read(SealState.Unsealed, if (store.isEmpty) files.location else index, files.options)
    else {
      index.requireListed()
      read(SealState.Sealed(tables, catalog.isDefined), index, NothingSkipped.in(files.options))
    }
  }

  private def qualified(session: SparkSession, path: Path) =
    path.getFileSystem(SparkAccess.hadoopConf(session, Map.empty)).makeQualified(path)

  /** The files below the roots of a read by path, which Spark has listed. A root may be one of them. */
  private def filesOf(index: FileIndex): Set[Path] = index match {
    case listed: PartitioningAwareFileIndex => listed.allFiles().iterator.map(_.getPath).toSet
    case _ => Set.empty
  }
}

/**
 * A write to a sealed table, or with `snapshot=update`, seals the table after its commit. What can fail is tried here,
 * before Spark touches a file: the signing key, and whether the table is as its newest version lists it. The next version
 * lists the files that this version lists and the write left, and those that the write's own tasks made. A write of a series
 * that the newest version has already does nothing. ''Driver only.''
 */
private[spark] object SealWrites extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: InsertIntoHadoopFsRelationCommand =>
      write.fileFormat match {
        case format: EncryptedFileFormat if format.writeSeal == WriteSeal.NotEvaluated =>
          PmeSparkException.translated(sealing(write, format))
        case _ => plan
      }
    case _ => plan
  }

  private def sealing(
      write: InsertIntoHadoopFsRelationCommand,
      format: EncryptedFileFormat
  ): LogicalPlan = {
    val session = SparkSession.active
    val options = ResolvedOptions.of(session, format.origin, write.options)
    val path = SealingJob.qualified(options, write.outputPath)
    val numbered = options.numberedWrite
    if (!WriteSeal.isNeeded(options, path)) {
      numbered.foreach(_ => throw unsealedSeries)
      PlanFields.withOurs(write)(_.withWriteSeal(WriteSeal.Unsealed))
    } else {
      val job = new SealingJob(options, path.toString, formatOf(format))
      if (numbered.exists(job.has)) {
        logger.warn(
          s"$path has write ${numbered.get.number} of series '${numbered.get.series}': nothing is written"
        )
        LocalRelation()
      } else {
        val removed = replaced(write, session)
        job.prepare(removed, numbered, keysOf(write, format))
        val files = WrittenFiles.of(session, path)
        val index =
          new SealOnRefresh(
            path,
            write.fileIndex,
            () => job.sealWritten(files.committed),
            numbered.isDefined && (removed == Replaced.Nothing || removed == Replaced.All),
            job.leftNothing
          )
        val seal = WriteSeal.AfterCommit(files, () => job.begin())
        PlanFields.withOurs(withIndex(write, index))(_.withWriteSeal(seal))
      }
    }
  }

  /** The keys of the files that it will make; none for ORC, whose columns a seal does not know. */
  private def keysOf(
      write: InsertIntoHadoopFsRelationCommand,
      format: EncryptedFileFormat
  ): Option[WriteKeys] =
    format match {
      case parquet: EncryptedParquetFormat =>
        val session = SparkSession.active
        val schema = ColumnPlan.dataSchema(write)
        val leaves = ColumnPlan.leaves(session, schema)
        val options = ResolvedOptions.of(session, format.origin, write.options).writing(schema)
        val places = parquet.prepared.flatMap(_.places)
        val partitions = write.partitionColumns.map(_.name)
        Some(WriteKeys.of(leaves, options.writeSettings(leaves).files, places, partitions))
      case _ => None
    }

  private val logger = LoggerFactory.getLogger("io.pmeparquet")

  private def unsealedSeries = PmeErrors.contradiction(
    PmeOptions.WriteSeries.name,
    "only a sealed table states which writes of a series it has, and this table is not sealed",
    "Seal the table, or let its first write do it (snapshot=update)."
  )

  private def formatOf(format: EncryptedFileFormat): DataFormat = format match {
    case _: OrcFormat => DataFormat.Orc
    case _ => DataFormat.Parquet
  }

  /** Which existing files Spark removes: `InsertIntoHadoopFsRelationCommand.deleteMatchingPartitions`. */
  def replaced(write: InsertIntoHadoopFsRelationCommand, session: SparkSession): Replaced =
    if (write.mode != SaveMode.Overwrite) Replaced.Nothing
    else if (isDynamic(write, session)) Replaced.WrittenPartitions
    else if (write.staticPartitions.isEmpty) Replaced.All
    else Replaced.Below(PartitioningUtils.getPathFragment(write.staticPartitions, write.partitionColumns))

  /** Whether Spark writes to a directory of its own, and replaces partitions only when all is written. */
  def isDynamic(write: InsertIntoHadoopFsRelationCommand, session: SparkSession): Boolean = {
    val mode = ResolvedOptions
      .spelled(write.options)
      .collectFirst { case (name, value) if name.equalsIgnoreCase("partitionOverwriteMode") => value }
      .getOrElse(SparkAccess.sqlConf(session).partitionOverwriteMode.toString)
    mode.equalsIgnoreCase("dynamic") && write.staticPartitions.size < write.partitionColumns.length
  }

  /** Spark's case class has more fields in each version; the index has always been before the names of columns. */
  private def withIndex(write: InsertIntoHadoopFsRelationCommand, index: FileIndex): LogicalPlan = {
    val fields = write.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val place = fields.indexWhere(_ eq write.outputColumnNames) - 1
    if (place < 0 || !(fields(place) eq write.fileIndex))
      throw new IllegalStateException("internal error: this Spark's write has its index elsewhere")
    fields(place) = Some(index)
    write.makeCopy(fields)
  }
}

/**
 * The index of a table that is written. Spark refreshes it once, after the commit, and does nothing else with it: that is
 * the only step of a write after its commit that a format can see in every version of Spark.
 *
 * @param spark Spark's own index, if the table has one
 * @param isRepeatable whether the write can be repeated over what it has left
 * @param leftNothing whether a write that could not be sealed has left no file
 */
private final class SealOnRefresh(
    table: Path,
    spark: Option[FileIndex],
    seal: () => SealResult,
    isRepeatable: Boolean,
    leftNothing: => Boolean
) extends FileIndex {
  override def rootPaths: Seq[Path] = spark.fold(Seq(table))(_.rootPaths)
  override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] =
    spark.fold(Seq.empty[PartitionDirectory])(_.listFiles(partitions, data))
  override def inputFiles: Array[String] = spark.fold(Array.empty[String])(_.inputFiles)
  override def sizeInBytes: Long = spark.fold(0L)(_.sizeInBytes)
  override def partitionSchema: StructType = spark.fold(new StructType)(_.partitionSchema)

  override def refresh(): Unit = PmeSparkException.translated {
    spark.foreach(_.refresh())
    try {
      seal()
      ()
    } catch {
      case failed: Throwable =>
        throw PmeException.find(failed).fold(failed) { ours =>
          val why = ours.problem.stripSuffix(".")
          if (leftNothing) ours
          else if (isRepeatable) PmeErrors.seriesNotSealed(table.toString, why, ours)
          else PmeErrors.writtenNotSealed(table.toString, why, ours)
        }
    }
  }
}

/**
 * Compares the sealed tables that a stream reads with their snapshots when it starts. Each batch is compared as any read is,
 * but a table whose files are all gone makes no batch. ''Driver only.''
 */
private[spark] object SealedStreams {
  def check(session: SparkSession, plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream =>
      for (leaf <- write.inputQuery.collectLeaves(); source <- PlanFields.sourceOf(leaf))
        if (FormatName.names(source.className))
          PmeSparkException.translated(requireWhole(session, source))
    case _ => ()
  }

  private def requireWhole(session: SparkSession, source: DataSource): Unit = {
    // A table of the catalog may name no KMS, so its options are checked where its batches are read.
    val options = ResolvedOptions.spelled(source.options)
    val paths = source.paths ++ options.collect { case (name, path) if name.equalsIgnoreCase("path") => path }
    val origin =
      source.catalogTable.fold[OptionOrigin](OptionOrigin.Frame)(OptionOrigin.of(_, hasMore = true))
    val reads = new SnapshotReads(ResolvedOptions.of(session, origin, options))
    paths.distinct.foreach { path =>
      reads.requireWhole(new Path(path))
    }
  }
}
