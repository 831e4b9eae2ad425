package io.pmeparquet.spark.read

import java.io.Closeable

import org.apache.spark.sql.catalyst.{FileSourceOptions, InternalRow}
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader}
import org.apache.spark.sql.execution.datasources.v2.FilePartitionReaderFactory
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Functions of the V1 side that read a file, behind Spark's V2 scan. ''Crosses the wire.''
 *
 * @param rows reads a file row by row
 * @param batches reads a file batch by batch
 * @param result the columns of a row
 * @param columnar whether Spark may ask for batches
 */
private[spark] final class FileReaderFactory(
    rows: PartitionedFile => Iterator[InternalRow],
    batches: PartitionedFile => Iterator[InternalRow],
    result: StructType,
    columnar: Boolean,
    override val options: FileSourceOptions
) extends FilePartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean = columnar

  override def buildReader(file: PartitionedFile): PartitionReader[InternalRow] =
    new UnsafeRowReader(new IteratorReader(rows(file)), result)

  // Spark passes batches through iterators of rows.
  override def buildColumnarReader(file: PartitionedFile): PartitionReader[ColumnarBatch] =
    new IteratorReader(batches(file).asInstanceOf[Iterator[ColumnarBatch]])

  override def toString: String = s"FileReaderFactory($rows)"
}

/**
 * Copies rows that are views of batches, as Spark's own scans do. In Spark 3.5, an expression that is interpreted takes a
 * null within a struct of such a view for a value. ''Executor only.''
 */
private[spark] final class UnsafeRowReader(rows: PartitionReader[InternalRow], schema: StructType)
    extends PartitionReader[InternalRow] {
  private lazy val projection = UnsafeProjection.create(schema)

  override def next(): Boolean = rows.next()
  override def get(): InternalRow = rows.get() match {
    case unsafe: UnsafeRow => unsafe
    case view => projection(view)
  }
  override def close(): Unit = rows.close()
}

/** ''Executor only.'' */
private[spark] final class IteratorReader[T <: AnyRef](elements: Iterator[T]) extends PartitionReader[T] {
  // `hasNext` of Spark's iterators moves to the next element.
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
