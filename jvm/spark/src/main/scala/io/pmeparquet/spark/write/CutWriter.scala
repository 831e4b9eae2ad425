package io.pmeparquet.spark.write

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.parquet.ParquetWriteSupport
import org.apache.spark.sql.execution.datasources.OutputWriter

import io.pmeparquet.columns.KeyValues

/**
 * A writer that begins another file where values that name keys change. Spark moves whole directories when it commits
 * ([[CutCommit]]), so it need not know of the other files. One file is open at a time. ''Executor only.''
 *
 * @param first the path of the first file, which Spark has chosen
 * @param extension what names of files end with
 * @param open begins a file that states values
 */
private[write] final class CutWriter(
    first: String,
    extension: String,
    values: CutValues,
    open: (String, KeyValues) => OutputWriter
) extends OutputWriter {
  private var writer: Option[OutputWriter] = None
  private var files = 0

  override def path(): String = first

  override def write(row: InternalRow): Unit = {
    if (values.isOther(row)) begin()
    writer.get.write(row)
  }

  private def begin(): Unit = {
    close()
    val path = if (files == 0) first else s"${first.stripSuffix(extension)}-k$files$extension"
    writer = Some(open(path, values.stated))
    files += 1
  }

  override def close(): Unit = {
    val ended = writer
    writer = None
    ended.foreach(_.close())
  }
}

/** Writes rows as Spark does, into a file that states values of its own. parquet-java makes one for each file. */
private[spark] final class StatingWriteSupport extends ParquetWriteSupport {
  override def init(conf: Configuration): WriteContext = {
    val made = super.init(conf)
    // Not `get`, which fills in what a value has between braces after '$'.
    val stated = Option(conf.getRaw(StatingWriteSupport.Values))
      .getOrElse(throw new IllegalStateException("internal error: a file without the values of its keys"))
    val entries = new java.util.HashMap[String, String](made.getExtraMetaData)
    entries.put(KeyValues.Entry, stated)
    new WriteContext(made.getSchema, entries)
  }
}

private[write] object StatingWriteSupport {
  private val Values = "pme.parquet.key.values"

  /** The configuration of one file. */
  def configured(conf: Configuration, stated: KeyValues): Configuration = {
    val own = new Configuration(conf)
    if (own.get(ParquetOutputFormat.WRITE_SUPPORT_CLASS) != classOf[ParquetWriteSupport].getName)
      throw new IllegalStateException("internal error: Spark writes rows in another way")
    own.set(ParquetOutputFormat.WRITE_SUPPORT_CLASS, classOf[StatingWriteSupport].getName)
    own.set(Values, stated.json)
    own
  }
}
