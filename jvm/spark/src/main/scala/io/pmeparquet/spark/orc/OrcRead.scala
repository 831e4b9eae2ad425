package io.pmeparquet.spark.orc

import java.io.{Closeable, IOException}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.{SparkThrowable, TaskKilledException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.parquet.file.RefusedColumn
import io.pmeparquet.spark.read.MaskedScan
import io.pmeparquet.spark.session.PmeSparkException

/**
 * Reads a file with Spark's own reader, after a look at it, and shows NULL in columns that this reader is refused.
 * ''Crosses the wire'', with the scope.
 */
private[orc] final class OrcRead private (
    read: PartitionedFile => Iterator[InternalRow],
    scope: OrcScope,
    gate: OrcSplitGate,
    result: StructType,
    masking: Option[MaskedScan]
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  override def apply(file: PartitionedFile): Iterator[InternalRow] = {
    val path = file.toPath
    def translated[A](step: => A): A =
      try step
      catch { case failed: Throwable => throw OrcRead.translate(failed, path.toString) }
    val refused = translated {
      val found = gate.check(file)
      masking.foreach { masked =>
        val columns = found.map { one =>
          one.wanted -> RefusedColumn(Seq(one.display), one.display, one.masterKey, one.denied)
        }
        masked.admit(columns, path.toString)
      }
      found
    }
    val rows = translated(read(file)).asInstanceOf[Iterator[AnyRef]]
    val hidden = if (masking.isEmpty) Set.empty[String] else refused.map(_.wanted).toSet
    val shown = if (hidden.isEmpty) identity[AnyRef] _ else new HiddenColumns(result, hidden)
    new ReadElements(rows, shown, OrcRead.translate(_, path.toString), scope)
      .asInstanceOf[Iterator[InternalRow]]
  }

  override def toString: String = s"OrcRead($scope)"
}

private[orc] object OrcRead {

  /**
   * @param spark Spark's reader of a file
   * @param required the columns that the scan reads
   */
  def of(
      session: SparkSession,
      spark: PartitionedFile => Iterator[InternalRow],
      conf: Configuration,
      scope: OrcScope,
      dataSchema: StructType,
      required: StructType,
      partitions: StructType,
      masking: Option[MaskedScan]
  ): OrcRead = {
    val gate = OrcSplitGate.of(session, conf, scope, dataSchema, required)
    new OrcRead(spark, scope, gate, StructType(required.fields ++ partitions.fields), masking)
  }

  /** A failure of Spark's or ORC's reader in our terms, unless Spark's users know it. */
  def translate(failed: Throwable, file: String): Throwable = failed match {
    case _ if PmeException.find(failed).isDefined => PmeSparkException.of(PmeException.find(failed).get)
    case _ if PmeException.isOfCancelled(failed) => failed
    case _: TaskKilledException | _: SparkThrowable => failed
    // ORC decrypts anything, so a wrong key and a damaged file look alike.
    case _: IOException | _: RuntimeException =>
      PmeSparkException.of(PmeErrors.orcUnreadable(file, failed.getClass.getSimpleName, failed))
    case other => other
  }
}

/** Passes rows or batches on. It holds the scope while the task reads: ORC asks for keys as it goes. ''Executor only.'' */
private final class ReadElements(
    elements: Iterator[AnyRef],
    shown: AnyRef => AnyRef,
    translate: Throwable => Throwable,
    scope: OrcScope
) extends Iterator[AnyRef]
    with Closeable {
  override def hasNext: Boolean =
    try elements.hasNext
    catch { case failed: Throwable => throw translate(failed) }

  override def next(): AnyRef =
    try shown(elements.next())
    catch { case failed: Throwable => throw translate(failed) }

  override def close(): Unit = elements match {
    case closeable: Closeable => closeable.close()
    case _ => ()
  }

  override def toString: String = s"ReadElements($scope)"
}
