package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  InsertIntoHadoopFsRelationCommand,
  PartitionDirectory,
  PartitioningUtils
}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.spark.admin.seal.{Replaced, SealedSnapshot, SealingJob}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.EncryptedFormat
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshots.{WriteSeal, WrittenFiles}

/**
 * A write to a sealed table, or with `snapshot=update`, seals the table after its commit. What can fail is tried here,
 * before Spark touches a file: the signing key, and whether the table is as its newest version lists it. The next version
 * lists the files that this version lists and the write left, and those that the write's own tasks made. ''Driver only.''
 */
private[spark] object SealWrites extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: InsertIntoHadoopFsRelationCommand =>
      write.fileFormat match {
        case format: EncryptedFormat if format.writeSeal == WriteSeal.Unjudged =>
          PmeSparkException.translated(judged(write, format))
        case _ => plan
      }
    case _ => plan
  }

  private def judged(write: InsertIntoHadoopFsRelationCommand, format: EncryptedFormat): LogicalPlan = {
    val session = SparkSession.active
    val resolver = new ConfResolver(session, format.origin)
    val options = ConfResolver.spelled(write.options)
    val path = SealingJob.qualified(session, options, write.outputPath)
    if (!WriteSeal.isNeeded(session, resolver, options, path))
      PlanFields.withFormat(write)(_.withWriteSeal(WriteSeal.Unsealed))
    else {
      val job = new SealingJob(session, path.toString, options, resolver)
      job.prepare(replaced(write, session))
      val files = WrittenFiles.of(session, path)
      val index = new SealOnRefresh(path, write.fileIndex, () => job.sealWritten(files.committed))
      PlanFields.withFormat(withIndex(write, index))(_.withWriteSeal(WriteSeal.AfterCommit(files)))
    }
  }

  /** What Spark removes of the files that are there: `InsertIntoHadoopFsRelationCommand.deleteMatchingPartitions`. */
  private def replaced(write: InsertIntoHadoopFsRelationCommand, session: SparkSession): Replaced =
    if (write.mode != SaveMode.Overwrite) Replaced.Nothing
    else if (isDynamic(write, session)) Replaced.WrittenPartitions
    else if (write.staticPartitions.isEmpty) Replaced.All
    else Replaced.Below(PartitioningUtils.getPathFragment(write.staticPartitions, write.partitionColumns))

  /** Whether Spark writes to a directory of its own, and replaces partitions only when all is written. */
  def isDynamic(write: InsertIntoHadoopFsRelationCommand, session: SparkSession) = {
    val mode = ConfResolver
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
 */
private final class SealOnRefresh(table: Path, spark: Option[FileIndex], seal: () => SealedSnapshot)
    extends FileIndex {
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
          PmeErrors.writtenNotSealed(table.toString, ours.problem.stripSuffix("."), ours)
        }
    }
  }
}
