package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

import io.pmeparquet.parquet.bytes.ReadCounters

/**
 * The page pipeline behind Spark's V2 scan. ''Crosses the wire'', with the scope.
 *
 * @param rows reads a split row by row
 * @param batches reads a split batch by batch
 * @param result the columns of its rows
 * @param columnar whether Spark may ask for batches
 */
private[spark] final class PagesReaderFactory(
    rows: PagesRead,
    batches: PagesRead,
    result: StructType,
    opening: FileOpening,
    columnar: Boolean,
    options: FileSourceOptions
) extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    counted(_.createReader(partition))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    counted(_.createColumnarReader(partition))

  private def counted[T](reader: FilesOfTask => PartitionReader[T]): PartitionReader[T] = {
    val counters = rows.countersOfTask()
    new CountedReader(reader(new FilesOfTask(counters)), counters)
  }

  override def toString: String = "PagesReaderFactory"

  /** Spark's reader of a partition's files, one after another. ''Executor only.'' */
  private final class FilesOfTask(counters: ReadCounters) extends FilePartitionReaderFactory {
    override def options: FileSourceOptions = PagesReaderFactory.this.options

    override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] =
      new UnsafeRowReader(new IteratorReader(read(rows)(file)), result)

    // Spark passes batches through iterators of rows.
    override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] =
      new IteratorReader(read(batches)(file).asInstanceOf[Iterator[ColumnarBatch]])

    private def read(pages: PagesRead) = new TranslatedRead(pages(_, counters), opening)
  }
}

/** Reports to Spark what a task has counted so far. ''Executor only.'' */
private final class CountedReader[T](reader: PartitionReader[T], counters: ReadCounters)
    extends PartitionReader[T] {
  override def next(): Boolean = reader.next()
  override def get(): T = reader.get()
  override def close(): Unit = reader.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = ReadMetrics.of(counters)
}
