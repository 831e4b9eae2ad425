package io.pmeparquet.spark.read

import java.io.Closeable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * Looks at a split before Spark's own reader opens its file. The page pipeline needs none: it makes the same checks page by
 * page. ''Crosses the wire'', with the keys.
 */
private[spark] trait SplitAdmission extends Serializable {

  /** Fails, in our terms, if this reader must not read the split. */
  def check(split: PartitionedFile): Unit

  /** A failure of Spark's reader in our terms. */
  def translate(failed: Throwable, files: String): Throwable
}

/** Spark's own V1 reader of a file, which reads only what is admitted. ''Crosses the wire.'' */
private[spark] final class AdmittedRead(
    read: PartitionedFile => Iterator[InternalRow],
    admission: SplitAdmission
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {
  private val translated = new TranslatedRead(read, admission)

  override def apply(file: PartitionedFile): Iterator[InternalRow] = {
    admission.check(file)
    translated(file)
  }

  override def toString: String = s"AdmittedRead($admission)"
}

/** A function that reads a file, and translates failures into ours. ''Crosses the wire.'' */
private[spark] final class TranslatedRead(
    read: PartitionedFile => Iterator[InternalRow],
    admission: SplitAdmission
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  override def apply(file: PartitionedFile): Iterator[InternalRow] = apply(file, identity)

  /** @param shown makes of each row or batch what the scan returns */
  def apply(file: PartitionedFile, shown: AnyRef => AnyRef): Iterator[InternalRow] = {
    val path = file.toPath.toString
    val rows =
      try read(file)
      catch { case failed: Throwable => throw admission.translate(failed, path) }
    // Spark passes batches through iterators of rows, so this must not cast elements.
    new TranslatedElements(rows.asInstanceOf[Iterator[AnyRef]], shown, admission, path)
      .asInstanceOf[Iterator[InternalRow]]
  }

  override def toString: String = s"TranslatedRead($admission)"
}

/**
 * Passes rows or batches on, and translates failures into ours. It holds the admission, and so the keys, while the task
 * reads: ORC asks for keys as it goes. ''Executor only.''
 */
private final class TranslatedElements(
    elements: Iterator[AnyRef],
    shown: AnyRef => AnyRef,
    admission: SplitAdmission,
    file: String
) extends Iterator[AnyRef]
    with Closeable {
  override def hasNext: Boolean = translated(elements.hasNext)
  override def next(): AnyRef = translated(shown(elements.next()))

  private def translated[A](step: => A): A =
    try step
    catch { case failed: Throwable => throw admission.translate(failed, file) }

  override def close(): Unit = elements match {
    case closeable: Closeable => closeable.close()
    case _ => ()
  }

  override def toString: String = s"TranslatedElements($admission)"
}

/** Spark's own V2 reader, which reads only what is admitted. ''Crosses the wire.'' */
private[spark] final class AdmittedReaderFactory(spark: PartitionReaderFactory, admission: SplitAdmission)
    extends PartitionReaderFactory {
  override def supportColumnarReads(partition: InputPartition): Boolean =
    spark.supportColumnarReads(partition)

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    admitted(partition)(spark.createReader(partition))

  override def createColumnarReader(partition: InputPartition): PartitionReader[ColumnarBatch] =
    admitted(partition)(spark.createColumnarReader(partition))

  private def admitted[T](partition: InputPartition)(open: => PartitionReader[T]): PartitionReader[T] = {
    val files = partition.asInstanceOf[FilePartition].files
    // All files of the partition are checked before Spark reads any: we do not see when Spark opens each.
    files.foreach(admission.check)
    new AdmittedReader(open, admission, files.map(_.toPath.toString).mkString(", ").take(1000))
  }

  override def toString: String = s"AdmittedReaderFactory($admission)"
}

/** It holds the admission, and so the keys, while the task reads. ''Executor only.'' */
private final class AdmittedReader[T](reader: PartitionReader[T], admission: SplitAdmission, files: String)
    extends PartitionReader[T] {
  override def next(): Boolean = inOurTerms(reader.next())
  override def get(): T = inOurTerms(reader.get())
  override def close(): Unit = reader.close()

  private def inOurTerms[A](step: => A): A =
    try step
    catch { case failed: Throwable => throw admission.translate(failed, files) }
}
