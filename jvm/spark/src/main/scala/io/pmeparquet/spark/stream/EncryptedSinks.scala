package io.pmeparquet.spark.stream

import java.lang.reflect.InvocationTargetException

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Dataset, Row, SQLContext, SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.encoders.{ExpressionEncoder, RowEncoder}
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.sources.{DataSourceRegister, StreamSinkProvider}
import org.apache.spark.sql.streaming.OutputMode

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.options.{ResolvedOptions, StreamBatch}
import io.pmeparquet.spark.read.EncryptedFileFormat
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.spark.snapshot.WriteSeal
import io.pmeparquet.PmeErrors

/**
 * The sinks of streams. Spark asks a format that is a [[StreamSinkProvider]] for one, and otherwise takes its own, which keeps
 * a list of its files beside them and cannot seal a table. ''Driver only.''
 */
private[spark] trait EncryptedSinks extends StreamSinkProvider {
  this: EncryptedFileFormat with DataSourceRegister =>

  override def createSink(
      context: SQLContext,
      parameters: Map[String, String],
      partitionColumns: Seq[String],
      mode: OutputMode
  ): Sink = PmeSparkException.translated {
    val session = context.sparkSession
    val options = ResolvedOptions.of(session, origin, parameters)
    val path = parameters
      .collectFirst { case (name, value) if name.equalsIgnoreCase("path") => value }
      .getOrElse(throw PmeErrors.missingOption("path", "to write a stream"))
    if (mode != OutputMode.Append())
      throw PmeErrors.unsupported(
        path,
        s"output mode ${mode.toString.toLowerCase(java.util.Locale.ROOT)}",
        "a file never changes once it is written",
        "Use output mode append."
      )
    options.requireTagsOfStream(path)
    options.numberedWrite.foreach { _ =>
      throw PmeErrors.contradiction(
        PmeOptions.WriteSeries.name,
        "each stream is a series of its own, whose numbers are those of its batches",
        "Remove it."
      )
    }
    if (options.values.flag(PmeOptions.CreateKeys) && options.hasKeyTemplates)
      throw PmeErrors.unsupported(
        path,
        "createKeys=true in a stream",
        "tasks find out which keys a batch needs",
        "Make the keys first, or write each batch in foreachBatch."
      )
    val named = new Path(path)
    // Later, the session may have another working directory.
    val table = named.getFileSystem(options.newHadoopConf()).makeQualified(named)
    if (WriteSeal.isNeeded(options, table))
      new SealedSink(this, table.toString, options.spelled, partitionColumns)
    else SparksSink.of(session, table.toString, this, parameters, partitionColumns)
  }
}

/** Spark's own sink of files, whose class Spark 4.1 has moved. */
private object SparksSink {
  private val Package = "org.apache.spark.sql.execution.streaming"

  def of(
      session: SparkSession,
      path: String,
      format: EncryptedFileFormat,
      parameters: Map[String, String],
      partitionColumns: Seq[String]
  ): Sink = {
    val kind: Class[_] =
      try Class.forName(s"$Package.sinks.FileStreamSink")
      catch { case _: ClassNotFoundException => Class.forName(s"$Package.FileStreamSink") }
    try
      kind.getConstructors.head
        .newInstance(session, path, format, partitionColumns, parameters)
        .asInstanceOf[Sink]
    catch { case failed: InvocationTargetException => throw failed.getCause }
  }
}

/**
 * Appends each batch of a stream to a sealed table, by a write of its own that seals the next version. The stream is a series
 * of writes: a version states the last batch that it has, so a batch that is repeated after a kill adds its rows once.
 * ''Driver only.''
 *
 * @param format of the files, by which rules find whose sink this is
 * @param options those of the stream, as the user spelled them
 */
private[spark] final class SealedSink(
    format: EncryptedFileFormat with DataSourceRegister,
    path: String,
    options: Map[String, String],
    partitionColumns: Seq[String]
) extends Sink {

  override def addBatch(batch: Long, data: DataFrame): Unit = {
    val series = s"stream ${SealedSink.queryOf(data.sparkSession)}"
    val own = options.filterNot { case (option, _) =>
      SealedSink.OfStream.exists(_.equalsIgnoreCase(option))
    } ++
      Map(PmeOptions.WriteSeries.name -> series, PmeOptions.WriteNumber.name -> batch.toString)
    val write = (rows: Dataset[Row], _: Long) =>
      rows.write
        .format(format.shortName())
        .options(own)
        .mode(SaveMode.Append)
        .partitionBy(partitionColumns: _*)
        .save(path)
    // It makes a frame of the stream's rows, which a batch query may use.
    new ForeachBatchSink[Row](write, ExpressionEncoder(RowEncoder.encoderFor(data.schema)))
      .addBatch(batch, data)
  }

  override def toString: String = s"SealedSink[${format.shortName()}, $path]"
}

private object SealedSink {

  /** What the writer of a stream adds to the options. */
  private val OfStream = Seq("path", "checkpointLocation", "queryName")

  /** The id of a query, which its checkpoint keeps. */
  private def queryOf(session: SparkSession): String =
    StreamBatch.query(session).getOrElse {
      throw new IllegalStateException("internal error: a batch without the id of its query")
    }
}
