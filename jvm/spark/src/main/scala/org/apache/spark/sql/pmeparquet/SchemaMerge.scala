package org.apache.spark.sql.pmeparquet

import org.apache.spark.sql.types.StructType

/** Lives in Spark's package because Spark merges schemas for its own sources only. */
object SchemaMerge {
  def merge(left: StructType, right: StructType, caseSensitive: Boolean): StructType =
    left.merge(right, caseSensitive)
}
