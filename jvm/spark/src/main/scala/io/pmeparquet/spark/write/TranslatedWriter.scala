package io.pmeparquet.spark.write

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.OutputWriter
import org.apache.spark.SparkThrowable

import io.pmeparquet.parquet.write.WriteFailures
import io.pmeparquet.spark.session.PmeSparkException

/**
 * A writer of one file. What parquet-java refuses to write fails as one of our exceptions. ''Executor only.''
 *
 * @param where the table and the file, for messages
 */
private[write] final class TranslatedWriter(writer: OutputWriter, where: String) extends OutputWriter {
  override def path(): String = writer.path()
  override def write(row: InternalRow): Unit = TranslatedWriter.translated(where)(writer.write(row))
  override def close(): Unit = TranslatedWriter.translated(where)(writer.close())
}

private[write] object TranslatedWriter {
  def translated[A](where: String)(step: => A): A =
    try step
    catch {
      case failed: Throwable =>
        throw WriteFailures
          .explained(failed, where)(_.isInstanceOf[SparkThrowable])
          .fold(failed)(PmeSparkException.of)
    }
}
