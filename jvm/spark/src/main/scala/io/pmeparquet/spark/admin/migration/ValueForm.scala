package io.pmeparquet.spark.admin.migration

import org.apache.spark.sql.catalyst.expressions.{SpecializedGetters, XXH64}
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}

/**
 * The form of a value: where NULLs are in it, and how many elements each list has. Spark's hash of values passes over
 * both, so `[1, NULL]` and `[NULL, 1]`, or `[]` and `[NULL]`, have one hash.
 */
private[migration] object ValueForm {
  // Unlike any number of elements.
  private val Null = -1L
  private val Present = -2L

  /** @param before what was hashed before: the value itself */
  def hash(holder: SpecializedGetters, at: Int, kind: DataType, before: Long): Long =
    if (holder.isNullAt(at)) XXH64.hashLong(Null, before)
    else
      kind match {
        case ArrayType(element, _) => hash(holder.getArray(at), element, before)
        case MapType(key, value, _) =>
          val map = holder.getMap(at)
          hash(map.valueArray(), value, hash(map.keyArray(), key, before))
        case StructType(fields) =>
          val struct = holder.getStruct(at, fields.length)
          fields.indices.foldLeft(XXH64.hashLong(Present, before)) { (sum, field) =>
            hash(struct, field, fields(field).dataType, sum)
          }
        case _ => XXH64.hashLong(Present, before)
      }

  private def hash(list: ArrayData, element: DataType, before: Long): Long =
    (0 until list.numElements()).foldLeft(XXH64.hashLong(list.numElements().toLong, before)) { (sum, at) =>
      hash(list, at, element, sum)
    }
}
