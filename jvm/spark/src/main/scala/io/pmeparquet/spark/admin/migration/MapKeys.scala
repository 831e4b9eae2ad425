package io.pmeparquet.spark.admin.migration

import org.apache.spark.sql.catalyst.expressions.SpecializedGetters
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/**
 * Looks for keys of maps that are NULL: ORC stores them, Spark and Parquet have none, and Spark takes for the key what is
 * behind the NULL. ''Crosses the wire.''
 */
private[migration] final class MapKeys(schema: StructType) extends Serializable {
  private val columns = schema.fields.zipWithIndex.filter { case (field, _) =>
    MapKeys.hasMap(field.dataType)
  }

  /** The column of a row that has one, if any. The row must be as the file's reader makes it. */
  def nullIn(row: InternalRow): Option[String] =
    columns.find { case (field, at) => MapKeys.hasNull(row, at, field.dataType) }.map(_._1.name)
}

private[migration] object MapKeys {
  def hasMap(kind: DataType): Boolean = kind match {
    case _: MapType => true
    case ArrayType(element, _) => hasMap(element)
    case StructType(fields) => fields.exists(field => hasMap(field.dataType))
    case _ => false
  }

  private def hasNull(holder: SpecializedGetters, at: Int, kind: DataType): Boolean =
    hasMap(kind) && !holder.isNullAt(at) && (kind match {
      case MapType(key, value, _) =>
        val map = holder.getMap(at)
        val keys = map.keyArray()
        (0 until map.numElements())
          .exists(keys.isNullAt) || hasNull(keys, key) || hasNull(map.valueArray(), value)
      case ArrayType(element, _) => hasNull(holder.getArray(at), element)
      case StructType(fields) =>
        val struct = holder.getStruct(at, fields.length)
        fields.indices.exists(field => hasNull(struct, field, fields(field).dataType))
      case _ => false
    })

  private def hasNull(list: ArrayData, element: DataType): Boolean =
    hasMap(element) && (0 until list.numElements()).exists(hasNull(list, _, element))
}
