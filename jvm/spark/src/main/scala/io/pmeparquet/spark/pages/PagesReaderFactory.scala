package io.pmeparquet.spark.pages

import java.io.Closeable

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The page pipeline behind Spark's V2 scan. ''Crosses the wire'', with the scope.
 *
 * @param rows reads a split row by row
 * @param batches reads a split batch by batch
 * @param columnar whether Spark may ask for batches
 */
private[spark] final class PagesReaderFactory(
    rows: PartitionedFile => Iterator[InternalRow],
    batches: PartitionedFile => Iterator[InternalRow],
    columnar: Boolean,
    override val options: FileSourceOptions
) extends FilePartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] =
    new IteratorReader(rows(file))

  // Spark hands batches through iterators of rows.
  override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] =
    new IteratorReader(batches(file).asInstanceOf[Iterator[ColumnarBatch]])

  override def toString: String = "PagesReaderFactory"
}

/** ''Executor only.'' */
private final class IteratorReader[T <: AnyRef](elements: Iterator[T]) extends PartitionReader[T] {
  // Spark's iterators move on when they are asked whether there is more.
  private var current: T = _

  override def next(): Boolean = {
    val more = elements.hasNext
    if (more) current = elements.next()
    more
  }

  override def get(): T = current

  override def close(): Unit = elements match {
    case closeable: Closeable => closeable.close()
    case _ => ()
  }
}
