package io.pmeparquet.spark.read

import java.io.Closeable

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.{FilePartition, PartitionedFile}
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration
import org.apache.spark.SparkThrowable

import io.pmeparquet.parquet.bytes.ParquetFailures
import io.pmeparquet.parquet.file.{FileSeal, PreReadCheck}
import io.pmeparquet.parquet.schema.{WantedColumn, WantedColumns}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.spark.decode.UndecodedRecord
import io.pmeparquet.spark.session.{PmeSparkException, SharedConf, SparkAccess}
import io.pmeparquet.PmeException

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

/** Checks a split of a Parquet file with the scope of the read. ''Crosses the wire'', and brings the scope to executors. */
private[spark] final class ParquetSplitAdmission private (
    val conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    columns: WantedColumns,
    val spelled: SpelledPartitions,
    val seal: Option[Broadcast[FileSeal]]
) extends SplitAdmission {
  @transient private lazy val admission = new PreReadCheck(scope, columns, seal.map(_.value))

  override def check(split: PartitionedFile): Unit =
    try {
      spelled.require(split)
      admission.check(split.toPath, split.start, split.length, split.fileSize, conf.value.value)
    } catch { case failed: Throwable => throw translate(failed, split.toPath.toString) }

  /** Translates a failure from reading or decoding pages into ours or Spark's. */
  override def translate(failed: Throwable, file: String): Throwable = failed match {
    case record: UndecodedRecord => inOurTerms(record.getCause, file).getOrElse(record.asParquetHasIt)
    case _ => inOurTerms(failed, file).getOrElse(failed)
  }

  private def inOurTerms(failed: Throwable, file: String): Option[PmeSparkException] = {
    val what =
      if (columns.columns.isEmpty) "a page"
      else s"a page of ${columns.columns.map(_.display).mkString(", ").take(500)}"
    ParquetFailures
      .ofPages(failed, file, what)(_.isInstanceOf[SparkThrowable])
      .map((ours: PmeException) => PmeSparkException.of(ours))
  }

  override def toString: String = s"ParquetSplitAdmission($scope)"
}

private[spark] object ParquetSplitAdmission {
  def apply(
      session: SparkSession,
      conf: Configuration,
      scope: ReadScope,
      required: StructType,
      spelled: SpelledPartitions,
      seal: Option[Broadcast[FileSeal]]
  ): ParquetSplitAdmission =
    new ParquetSplitAdmission(
      SharedConf.broadcast(session, conf),
      scope,
      wanted(session, required),
      spelled,
      seal
    )

  /** The leaf columns that a read of this schema needs. The check finds them in files in the same way as Spark. */
  private def wanted(session: SparkSession, schema: StructType): WantedColumns = {
    val conf = SparkAccess.sqlConf(session)
    val columns = schema.fields.toSeq.flatMap { field =>
      def id(of: StructField) = conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldId(of)
      val top = WantedColumn(
        Seq(field.name),
        fieldId = if (id(field)) Some(ParquetUtils.getFieldId(field)) else None,
        byNestedIds = anyField(field.dataType)(id)
      )
      below(field.dataType, top)
    }
    WantedColumns(columns, conf.caseSensitiveAnalysis)
  }

  private def anyField(dataType: DataType)(found: StructField => Boolean): Boolean = dataType match {
    case struct: StructType => struct.fields.exists(field => found(field) || anyField(field.dataType)(found))
    case array: ArrayType => anyField(array.elementType)(found)
    case map: MapType => anyField(map.keyType)(found) || anyField(map.valueType)(found)
    case _ => false
  }

  private def below(dataType: DataType, at: WantedColumn): Seq[WantedColumn] = {
    def child(name: String) = at.copy(path = at.path :+ name)
    def inner(name: String) = child(name).copy(inCollection = true)
    dataType match {
      case struct: StructType =>
        struct.fields.toSeq.flatMap(field => below(field.dataType, child(field.name)))
      case array: ArrayType => below(array.elementType, inner("element"))
      case map: MapType => below(map.keyType, inner("key")) ++ below(map.valueType, inner("value"))
      case udt: UserDefinedType[_] => below(udt.sqlType, at)
      case _ => Seq(at)
    }
  }
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

  override def apply(file: PartitionedFile): Iterator[InternalRow] =
    apply(file, file.toPath.toString, identity)

  /**
   * @param path of the file in messages
   * @param shown makes of each row or batch what the scan returns
   */
  def apply(file: PartitionedFile, path: String, shown: AnyRef => AnyRef): Iterator[InternalRow] = {
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
