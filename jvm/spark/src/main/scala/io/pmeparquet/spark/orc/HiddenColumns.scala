package io.pmeparquet.spark.orc

import org.apache.spark.sql.catalyst.expressions.{BoundReference, Literal, UnsafeProjection}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}

/**
 * Shows NULL in some columns of rows and batches. A column that holds a refused one is NULL as a whole. ''Executor
 * only.''
 *
 * @param result the columns of rows and batches
 * @param hidden their names
 */
private[orc] final class HiddenColumns(result: StructType, hidden: Set[String]) extends (AnyRef => AnyRef) {
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
