package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{
  FileIndex,
  InsertIntoHadoopFsRelationCommand,
  PartitionDirectory
}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.spark.admin.SealingJob
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.read.EncryptedFormat
import io.pmeparquet.spark.session.PmeSparkException

/**
 * `snapshot=update` of a write: the write seals the table after its commit. What can fail is tried here, before Spark
 * touches a file: the signing key, and whether the table is as its newest version lists it. The next version then takes
 * over only files that a version listed or this write made. ''Driver only.''
 */
private[spark] object SealWrites extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: InsertIntoHadoopFsRelationCommand =>
      write.fileFormat match {
        case format: EncryptedFormat if !format.sealsAfterWrite =>
          PmeSparkException.translated(sealing(write, format))
        case _ => plan
      }
    case _ => plan
  }

  private def sealing(write: InsertIntoHadoopFsRelationCommand, format: EncryptedFormat): LogicalPlan = {
    val session = SparkSession.active
    val resolver = new ConfResolver(session, format.origin)
    val options = ConfResolver.spelled(write.options)
    if (!resolver.sealsAfterWrite(options)) write
    else {
      val job = new SealingJob(session, write.outputPath.toString, options, resolver)
      job.prepare(write.mode == SaveMode.Overwrite && write.partitionColumns.isEmpty)
      val index = new SealOnRefresh(write.outputPath, write.fileIndex, job)
      PlanFields.withFormat(withIndex(write, index))(_.withSealAfterWrite)
    }
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
private final class SealOnRefresh(table: Path, spark: Option[FileIndex], job: SealingJob) extends FileIndex {
  override def rootPaths: Seq[Path] = spark.fold(Seq(table))(_.rootPaths)
  override def listFiles(partitions: Seq[Expression], data: Seq[Expression]): Seq[PartitionDirectory] =
    spark.fold(Seq.empty[PartitionDirectory])(_.listFiles(partitions, data))
  override def inputFiles: Array[String] = spark.fold(Array.empty[String])(_.inputFiles)
  override def sizeInBytes: Long = spark.fold(0L)(_.sizeInBytes)
  override def partitionSchema: StructType = spark.fold(new StructType)(_.partitionSchema)

  override def refresh(): Unit = PmeSparkException.translated {
    spark.foreach(_.refresh())
    try {
      job.seal()
      ()
    } catch {
      case failed: Throwable =>
        throw PmeException.find(failed).fold(failed) { ours =>
          PmeErrors.writtenNotSealed(table.toString, ours.problem.stripSuffix("."), ours)
        }
    }
  }
}
