package io.pmeparquet.spark.orc

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.orc.OrcConf
import org.apache.spark.{SparkThrowable, TaskContext, TaskKilledException}
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal, UnsafeProjection}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.orc.blocks.{BlockFileSystem, VerifiedFile}
import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.orc.OrcAdmission
import io.pmeparquet.parquet.file.{FileSeal, RefusedColumn}
import io.pmeparquet.spark.read.{MaskedScan, SplitAdmission, TranslatedRead}
import io.pmeparquet.spark.session.{PmeSparkException, SharedConf, SparkAccess}

/**
 * Reads a file with Spark's own reader, after a check of it, and shows NULL in columns that this reader is refused.
 * ''Crosses the wire'', with the scope.
 *
 * @param read Spark's reader of a file
 * @param result the columns of rows and batches
 */
private[orc] final class OrcRead(
    read: PartitionedFile => Iterator[InternalRow],
    admission: OrcSplitAdmission,
    result: StructType,
    masking: Option[MaskedScan]
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {
  private val translated = new TranslatedRead(read, admission)

  override def apply(file: PartitionedFile): Iterator[InternalRow] = {
    val (split, refused) = admission.translated(file) {
      val (split, found) = admission.admit(file)
      masking.foreach { masked =>
        val columns = found.map { one =>
          one.wanted -> RefusedColumn(Seq(one.display), one.display, one.masterKey, one.denied)
        }
        masked.admit(columns, file.toPath.toString)
      }
      (split, found)
    }
    val hidden = if (masking.isEmpty) Set.empty[String] else refused.map(_.wanted).toSet
    translated(
      split,
      file.toPath.toString,
      if (hidden.isEmpty) identity[AnyRef] _ else new HiddenColumns(result, hidden)
    )
  }

  override def toString: String = s"OrcRead($admission)"
}

/** The check of a split, with the keys of its read. ''Crosses the wire.'' */
private[spark] final class OrcSplitAdmission private (
    admission: OrcAdmission,
    scope: OrcScope,
    conf: Broadcast[SerializableConfiguration],
    seal: Option[Broadcast[FileSeal]]
) extends SplitAdmission {

  /**
   * @return the split for Spark's reader, which finds only what a snapshot lists there, and the wanted columns whose keys
   *   this reader is refused, if the read accepts that
   */
  private[orc] def admit(split: PartitionedFile): (PartitionedFile, Seq[OrcAdmission.Refused]) = {
    val path = split.toPath
    val listed = seal.map(_.value).flatMap { seal =>
      seal.requireLength(path, split.fileSize)
      seal.blocks(path).map(new VerifiedFile(path, _, conf.value.value))
    }
    val refused =
      admission.check(path, split.start, split.length, split.fileSize, conf.value.value, listed)
    (listed.fold(split)(at(split, _)), refused)
  }

  private def at(split: PartitionedFile, file: VerifiedFile) = {
    val place = BlockFileSystem.reading(file)
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => place.close()))
    split.copy(filePath = SparkPath.fromPath(place.path))
  }

  /** For a reader that opens the path itself. */
  override def check(split: PartitionedFile): Unit = translated(split) {
    if (admit(split)._1 ne split)
      throw new IllegalStateException("internal error: a sealed file would be opened without a comparison")
  }

  private[orc] def translated[A](split: PartitionedFile)(step: => A): A =
    try step
    catch { case failed: Throwable => throw translate(failed, split.toPath.toString) }

  /** A failure of Spark's or ORC's reader in our terms, unless Spark's users know it. */
  override def translate(failed: Throwable, files: String): Throwable = failed match {
    case _ if PmeException.find(failed).isDefined => PmeSparkException.of(PmeException.find(failed).get)
    case _ if PmeException.isOfCancelled(failed) => failed
    case _: TaskKilledException | _: SparkThrowable => failed
    // ORC decrypts anything, so a wrong key and a damaged file look alike.
    case _: IOException | _: RuntimeException =>
      PmeSparkException.of(PmeErrors.orcUnreadable(files, failed.getClass.getSimpleName, failed))
    case other => other
  }

  override def toString: String = s"OrcSplitAdmission($scope)"
}

private[spark] object OrcSplitAdmission {

  /**
   * @param conf of the read, with the key provider
   * @param wanted the columns that the read wants
   * @param seal what snapshots say of its files
   */
  def of(
      session: SparkSession,
      conf: Configuration,
      scope: OrcScope,
      dataSchema: StructType,
      wanted: StructType,
      seal: Option[Broadcast[FileSeal]]
  ): OrcSplitAdmission = {
    val byPosition = OrcConf.FORCE_POSITIONAL_EVOLUTION.getBoolean(conf)
    val columns = wanted.flatMap { field =>
      val position = dataSchema.fieldNames.indexOf(field.name)
      fieldsOf(field.dataType).map(OrcAdmission.Wanted(field.name, position, _))
    }
    val caseSensitive = SparkAccess.sqlConf(session).caseSensitiveAnalysis
    val shared = SharedConf.broadcast(session, conf)
    new OrcSplitAdmission(
      new OrcAdmission(scope, columns.toList, caseSensitive, byPosition),
      scope,
      shared,
      seal
    )
  }

  /** The paths of a column's fields: Spark leaves out fields of structs that a query does not use. */
  private def fieldsOf(column: DataType): Seq[List[String]] = column match {
    case struct: StructType if struct.nonEmpty =>
      struct.flatMap(field => fieldsOf(field.dataType).map(field.name :: _))
    case _ => Seq(Nil)
  }
}

/**
 * Shows NULL in some columns of rows and batches. A column that holds a refused one is NULL as a whole. ''Executor
 * only.''
 *
 * @param result the columns of rows and batches
 * @param hidden their names
 */
private final class HiddenColumns(result: StructType, hidden: Set[String]) extends (AnyRef => AnyRef) {
  private val places = result.fields.indices.filter(at => hidden(result(at).name))

  private lazy val projection =
    UnsafeProjection.create(result.fields.toSeq.zipWithIndex.map { case (field, at) =>
      if (places.contains(at)) Literal.create(null, field.dataType)
      else BoundReference(at, field.dataType, nullable = true)
    })

  override def apply(element: AnyRef): AnyRef = element match {
    case batch: ColumnarBatch =>
      val columns = Array.tabulate[ColumnVector](batch.numCols) { at =>
        if (places.contains(at)) nulls(at, batch.numRows) else batch.column(at)
      }
      new ColumnarBatch(columns, batch.numRows)
    case row: InternalRow => projection(row)
    case other =>
      throw new IllegalStateException(s"internal error: a reader returned ${other.getClass.getName}")
  }

  private def nulls(at: Int, rows: Int): ColumnVector = {
    val vector = new OnHeapColumnVector(rows.max(1), result(at).dataType)
    vector.putNulls(0, rows)
    vector.setIsConstant()
    vector
  }
}
