package io.pmeparquet.spark.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.TaskAttemptContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.TaskContext

import io.pmeparquet.columns.KeyPlan
import io.pmeparquet.parquet.files.MaterialFiles
import io.pmeparquet.parquet.scope.WriteScope
import io.pmeparquet.parquet.write.{SizeStatistics, WriteRules}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshots.WrittenFiles
import io.pmeparquet.PmeErrors

/**
 * Wraps Spark's writer factory, and brings the write's scope to executors. ''Crosses the wire.''
 *
 * @param written is told of each file; none if nobody seals the table
 */
private[spark] final class PmeOutputWriterFactory(
    factory: OutputWriterFactory,
    scope: WriteScope,
    written: Option[WrittenFiles]
) extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String = factory.getFileExtension(context)

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext
  ): OutputWriter = {
    // Not the path, which is that of a task's attempt until the commit.
    val where = s"${scope.tableDirectory}, file ${new Path(path).getName}"
    TranslatedWriter.translated(where) {
      val file = new Path(path)
      val settings = scope.settings
      WriteRules.checkPath(file, settings)
      // Before the commit: a snapshot lists only files below the table's directory.
      if (written.isDefined && WriteRules.isMovedElsewhere(file))
        throw PmeErrors.sealedTable(
          "a write to a partition with a location of its own",
          scope.tableDirectory,
          "Give the partition its usual directory."
        )
      // A streaming sink does not tell the format its partition columns: only the directories show them.
      val partitions = WriteRules.partitionColumns(file, scope.tableDirectory)
      KeyPlan.checkPartitions(partitions, settings.columnKeys, settings.caseSensitive)
      if (settings.externalMaterial) removeMaterialOnFailure(file, context)
      val writer = factory.newInstance(path, dataSchema, context)
      if (settings.plaintextFooter) quietly(writer, path)
      val translated = new TranslatedWriter(writer, where)
      written.fold[OutputWriter](translated)(new ReportedWriter(translated, _, context.getConfiguration))
    }
  }

  private def quietly(writer: OutputWriter, path: String): Unit =
    try SizeStatistics.turnOff(writer, path)
    catch {
      case failed: Throwable =>
        writer.close()
        throw failed
    }

  // A streaming sink writes directly to the table's directory, and removes only the files that it knows.
  private def removeMaterialOnFailure(file: Path, context: TaskAttemptContext): Unit =
    Option(TaskContext.get()).foreach {
      _.addTaskFailureListener((_, _) => MaterialFiles.remove(file, context.getConfiguration))
    }

  override def toString: String = s"PmeOutputWriterFactory($scope)"
}

/** Tells the seal of the table about the file, once it is whole. */
private final class ReportedWriter(writer: OutputWriter, written: WrittenFiles, conf: Configuration)
    extends OutputWriter {
  override def write(row: InternalRow): Unit = writer.write(row)
  override def path(): String = writer.path()

  override def close(): Unit = {
    writer.close()
    PmeSparkException.translated(written.report(new Path(path()), conf))
  }
}
