package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What looks at a split before Spark's own reader opens its file. ''Crosses the wire'', with the keys. */
private[spark] trait SplitGate extends Serializable {

  /** Fails, in our terms, if this reader must not read the split. */
  def pass(split: PartitionedFile): Unit

  /** A failure of Spark's reader in our terms. */
  def translate(failed: Throwable, files: String): Throwable
}

/** Spark's own V2 reader behind our gate. ''Crosses the wire.'' */
private[spark] final class GatedReaderFactory(spark: PartitionReaderFactory, gate: SplitGate)
    extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean =
    spark.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    gated(partition)(spark.createReader(partition))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    gated(partition)(spark.createColumnarReader(partition))

  private def gated[T](partition: InputPartition)(open: => PartitionReader[T]): PartitionReader[T] = {
    val files = partition.asInstanceOf[FilePartition].files
    // All files of the partition pass the gate before Spark reads any: we do not see when Spark opens each.
    files.foreach(gate.pass)
    new GatedReader(open, gate, files.map(_.toPath.toString).mkString(", ").take(1000))
  }

  override def toString: String = s"GatedReaderFactory($gate)"
}

/** It holds the gate, and so the keys, while the task reads. ''Executor only.'' */
private final class GatedReader[T](reader: PartitionReader[T], gate: SplitGate, files: String)
    extends PartitionReader[T] {
  override def next(): Boolean = inOurTerms(reader.next())
  override def get(): T = inOurTerms(reader.get())
  override def close(): Unit = reader.close()

  private def inOurTerms[A](step: => A): A =
    try step
    catch { case failed: Throwable => throw gate.translate(failed, files) }
}
