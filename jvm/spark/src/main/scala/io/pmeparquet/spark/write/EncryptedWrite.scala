package io.pmeparquet.spark.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.{Job, TaskAttemptContext}
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.spark.{SparkThrowable, TaskContext}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.KeyValues
import io.pmeparquet.parquet.scope.WriteScope
import io.pmeparquet.parquet.storage.MaterialFiles
import io.pmeparquet.parquet.write.{FileSealer, SizeStatistics, WriteFailures, WriteRules, WrittenFooter}
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.options.{OptionOrigin, PreparedWrite, ResolvedOptions, StreamBatch}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.{WriteSeal, WrittenFiles}

/** The start of a write job: it resolves and checks the settings, and makes the keys. ''Driver only.'' */
private[spark] object EncryptedWrite {

  /**
   * @param origin where the options come from
   * @param prepared the scope of this write, if a rule has made it
   * @param seal whether the caller seals the table after its commit
   * @param spark Spark's own preparation of the job, which reads the job's configuration
   */
  def prepare(
      session: SparkSession,
      origin: OptionOrigin,
      prepared: Option[PreparedWrite],
      seal: WriteSeal,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType
  )(spark: => OutputWriterFactory): OutputWriterFactory = PmeSparkException.translated {
    val conf = job.getConfiguration
    val resolved = ResolvedOptions.of(session, origin, options).writing(dataSchema)
    // Streaming sinks pass a configuration without the options. Spark's own source then ignores them.
    SparkAccess.setOptions(conf, resolved.spelled)
    WriteRules.check(conf)
    val leaves = ColumnPlan.leaves(session, dataSchema)
    val settings = resolved.writeSettings(leaves)
    val output = FileOutputFormat.getOutputPath(job)
    resolved.requireTagsOfBatch(output.toString)
    val written = WriteSeal.begun(seal, resolved, output)
    if (!prepared.exists(_.hasChecked(settings, output, leaves))) ColumnPlan.check(leaves, settings.files)
    val cut = CutColumns.inData(settings.files, dataSchema, WriteRules.tableDirectory(output))
    if (written.isDefined && !cut.isEmpty) throw WriteSeal.keysByColumn(output.toString)
    if (!cut.isEmpty && prepared.isEmpty)
      throw CutCommit.unsupported(
        output.toString,
        "this write does not know which values its rows have, or lists its files one by one",
        "Write with df.write or INSERT: in a stream, with foreachBatch."
      )
    val scope = PreparedWrite.scope(settings, conf, output, prepared, StreamBatch.query(session).isDefined)
    PmeCryptoFactory.useForWrite(conf, scope)
    val factory = new PmeOutputWriterFactory(spark, scope, written, cut)
    seal.begin()
    factory
  }
}

/**
 * Wraps Spark's writer factory, and brings the write's scope to executors. ''Crosses the wire.''
 *
 * @param written gets each file; none if nobody seals the table
 * @param cut the columns at whose values it cuts files
 */
private final class PmeOutputWriterFactory(
    factory: OutputWriterFactory,
    scope: WriteScope,
    written: Option[WrittenFiles],
    cut: CutColumns
) extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String = factory.getFileExtension(context)

  override def newInstance(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext
  ): OutputWriter =
    if (cut.isEmpty) writerOf(path, dataSchema, context, context.getConfiguration)
    else {
      val where = whereOf(path)
      def open(file: String, stated: KeyValues) = {
        val conf = StatingWriteSupport.configured(context.getConfiguration, stated)
        val own = new TaskAttemptContextImpl(conf, context.getTaskAttemptID)
        writerOf(file, dataSchema, own, context.getConfiguration)
      }
      TranslatedWriter.translated(where) {
        val values = cut.of(dataSchema, where)
        new TranslatedWriter(new CutWriter(path, getFileExtension(context), values, open), where)
      }
    }

  // Not the path, which is that of a task's attempt until the commit.
  private def whereOf(path: String) = s"${scope.tableDirectory}, file ${new Path(path).getName}"

  /** @param conf of the task, which outlives the file */
  private def writerOf(
      path: String,
      dataSchema: StructType,
      context: TaskAttemptContext,
      conf: Configuration
  ): OutputWriter = {
    val where = whereOf(path)
    TranslatedWriter.translated(where) {
      val file = new Path(path)
      val settings = scope.settings
      WriteRules.checkPath(file, settings)
      written.foreach(_.requireInside(file))
      // A streaming sink does not tell the format its partition columns: only the directories show them.
      val partitions = WriteRules.partitionColumns(file, scope.tableDirectory)
      settings.checkPartitions(partitions)
      if (settings.externalMaterial) removeMaterialOnFailure(file, conf)
      val writer = factory.newInstance(path, dataSchema, context)
      closedOnFailure(writer) {
        if (settings.plaintextFooter) SizeStatistics.turnOff(writer, path)
        FileSealer.install(writer, scope, context.getConfiguration, where)
      }
      val translated = new TranslatedWriter(writer, where)
      written.fold[OutputWriter](translated)(new ReportedWriter(translated, _, context.getConfiguration))
    }
  }

  private def closedOnFailure(writer: OutputWriter)(step: => Unit): Unit =
    try step
    catch {
      case failed: Throwable =>
        writer.close()
        throw failed
    }

  // A streaming sink writes directly to the table's directory, and removes only the files that it knows.
  private def removeMaterialOnFailure(file: Path, conf: Configuration): Unit =
    Option(TaskContext.get()).foreach {
      _.addTaskFailureListener((_, _) => MaterialFiles.remove(file, conf))
    }

  override def toString: String = s"PmeOutputWriterFactory($scope)"
}

/** Reports the file to the seal of the table, once it is whole. */
private final class ReportedWriter(writer: OutputWriter, written: WrittenFiles, conf: Configuration)
    extends OutputWriter {
  override def write(row: InternalRow): Unit = writer.write(row)
  override def path(): String = writer.path()

  override def close(): Unit = {
    writer.close()
    PmeSparkException.translated {
      val file = new Path(path())
      written.report(file, WrittenFooter.read(file, conf))
    }
  }
}

/**
 * A writer of one file. What parquet-java refuses to write fails as one of our exceptions. ''Executor only.''
 *
 * @param where the table and the file, for messages
 */
private final class TranslatedWriter(writer: OutputWriter, where: String) extends OutputWriter {
  override def path(): String = writer.path()
  override def write(row: InternalRow): Unit = TranslatedWriter.translated(where)(writer.write(row))
  override def close(): Unit = TranslatedWriter.translated(where)(writer.close())
}

private object TranslatedWriter {
  def translated[A](where: String)(step: => A): A =
    try step
    catch {
      case failed: Throwable =>
        throw WriteFailures
          .explained(failed, where)(_.isInstanceOf[SparkThrowable])
          .fold(failed)(PmeSparkException.of)
    }
}
