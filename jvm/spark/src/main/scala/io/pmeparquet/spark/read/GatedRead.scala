package io.pmeparquet.spark.read

import java.io.Closeable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile

/**
 * Spark's own reader of a file, behind our gate. The page pipeline needs no gate: it makes the same checks page by
 * page. ''Crosses the wire.''
 */
private[spark] final class GatedRead(read: PartitionedFile => Iterator[InternalRow], opening: FileOpening)
    extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {
  private val translated = new TranslatedRead(read, opening)

  override def apply(file: PartitionedFile): Iterator[InternalRow] = {
    opening.pass(file)
    translated(file)
  }

  override def toString: String = s"GatedRead($opening)"
}

/** A function that reads a file, and translates failures into ours. ''Crosses the wire.'' */
private[spark] final class TranslatedRead(
    read: PartitionedFile => Iterator[InternalRow],
    opening: FileOpening
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  override def apply(file: PartitionedFile): Iterator[InternalRow] = {
    val path = file.toPath.toString
    def translate(failed: Throwable) = opening.translate(failed, path)
    val rows =
      try read(file)
      catch { case failed: Throwable => throw translate(failed) }
    // Spark passes batches through iterators of rows, so this must not cast elements.
    new GatedElements(rows.asInstanceOf[Iterator[AnyRef]], translate).asInstanceOf[Iterator[InternalRow]]
  }

  override def toString: String = s"TranslatedRead($opening)"
}

/** Passes rows or batches on, and translates failures into ours. ''Executor only.'' */
private final class GatedElements(elements: Iterator[AnyRef], translate: Throwable => Throwable)
    extends Iterator[AnyRef]
    with Closeable {
  override def hasNext: Boolean =
    try elements.hasNext
    catch { case failed: Throwable => throw translate(failed) }

  override def next(): AnyRef =
    try elements.next()
    catch { case failed: Throwable => throw translate(failed) }

  override def close(): Unit = elements match {
    case closeable: Closeable => closeable.close()
    case _ => ()
  }
}
