package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration
import org.apache.spark.SparkThrowable

import io.pmeparquet.parquet.bytes.ParquetFailures
import io.pmeparquet.parquet.file.{FileSeal, PreReadCheck}
import io.pmeparquet.parquet.schema.WantedColumns
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.decode.UndecodedRecord
import io.pmeparquet.spark.session.{PmeSparkException, SharedConf}
import io.pmeparquet.PmeException

/**
 * What a task does to open a file: it puts the scope in place, and then passes the gate.
 *
 * ''Crosses the wire'', and brings the scope to executors: nothing else does.
 */
private[spark] final class FileOpening private (
    val conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    columns: WantedColumns,
    val seal: Option[Broadcast[FileSeal]]
) extends SplitGate {
  @transient private lazy val gate = new PreReadCheck(scope, columns, seal.map(_.value))

  override def pass(split: PartitionedFile): Unit =
    try gate.check(split.toPath, split.start, split.length, split.fileSize, conf.value.value)
    catch { case failed: Throwable => throw translate(failed, split.toPath.toString) }

  /** Translates a failure from reading or decoding pages into ours or Spark's. */
  override def translate(failed: Throwable, file: String): Throwable = failed match {
    case record: UndecodedRecord => inOurTerms(record.getCause, file).getOrElse(record.asParquetHasIt)
    case _ => inOurTerms(failed, file).getOrElse(failed)
  }

  private def inOurTerms(failed: Throwable, file: String): Option[PmeSparkException] = {
    val what =
      if (columns.columns.isEmpty) "a page"
      else s"a page of ${columns.columns.map(_.display).mkString(", ").take(500)}"
    ParquetFailures
      .ofPages(failed, file, what)(_.isInstanceOf[SparkThrowable])
      .map((ours: PmeException) => PmeSparkException.of(ours))
  }

  override def toString: String = s"FileOpening($scope)"
}

private[spark] object FileOpening {
  def apply(
      session: SparkSession,
      conf: Configuration,
      scope: ReadScope,
      required: StructType,
      seal: Option[Broadcast[FileSeal]]
  ): FileOpening =
    new FileOpening(
      SharedConf.broadcast(session, conf),
      scope,
      ScanColumns.wanted(session, required),
      seal
    )
}
