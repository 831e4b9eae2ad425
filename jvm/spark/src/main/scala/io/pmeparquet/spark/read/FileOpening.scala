package io.pmeparquet.spark.read

import org.apache.hadoop.conf.Configuration
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.types._
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
 * What a task does to open a file: it checks the split with the scope.
 *
 * ''Crosses the wire'', and brings the scope to executors: nothing else does.
 */
private[spark] final class FileOpening private (
    val conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    columns: WantedColumns,
    val seal: Option[Broadcast[FileSeal]]
) extends SplitAdmission {
  @transient private lazy val admission = new PreReadCheck(scope, columns, seal.map(_.value))

  override def check(split: PartitionedFile): Unit =
    try admission.check(split.toPath, split.start, split.length, split.fileSize, conf.value.value)
    catch { case failed: Throwable => throw translate(failed, split.toPath.toString) }

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

  override def toString: String = s"FileOpening($scope)"
}

private[spark] object FileOpening {
  def apply(
      session: SparkSession,
      conf: Configuration,
      scope: ReadScope,
      required: StructType,
      seal: Option[Broadcast[FileSeal]]
  ): FileOpening =
    new FileOpening(
      SharedConf.broadcast(session, conf),
      scope,
      wanted(session, required),
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
