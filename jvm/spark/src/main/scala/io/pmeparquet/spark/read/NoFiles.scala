package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, Count, CountStar}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Answers pushed aggregates where a read has no files, and leaves files to another factory. ''Crosses the wire.''
 *
 * @param values what Spark's functions return for no rows: 0 for counts, NULL for the others
 * @param result the schema of these values
 */
private[spark] final class NoFiles private (
    files: PartitionReaderFactory,
    values: List[Any],
    result: StructType
) extends PartitionReaderFactory {

  override def supportColumnarReads(partition: InputPartition): Boolean =
    !NoFiles.is(partition) && files.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    if (!NoFiles.is(partition)) files.createReader(partition)
    else
      new UnsafeRowReader(
        new IteratorReader(Iterator.single[InternalRow](new GenericInternalRow(values.toArray))),
        result
      )

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    files.createColumnarReader(partition)

  override def toString: String = s"NoFiles($files)"
}

private[spark] object NoFiles {

  /** The partition of a read without files. */
  def partition: InputPartition = FilePartition(0, Array.empty)

  private def is(partition: InputPartition) = partition match {
    case of: FilePartition => of.files.isEmpty
    case _ => false
  }

  /** ''Driver only.'' */
  def or(
      files: PartitionReaderFactory,
      aggregation: Aggregation,
      result: StructType
  ): PartitionReaderFactory = {
    val values = aggregation.aggregateExpressions().toList.map {
      case _: Count | _: CountStar => Long.box(0)
      case _ => null
    }
    new NoFiles(files, values, result)
  }
}
