package io.pmeparquet.spark.read;

import org.apache.spark.sql.types.StructType;

/**
 * Merges schemas as Spark's own sources do. In Java because Scala keeps that method to Spark's packages, and classes of
 * ours have no place there.
 */
final class SchemaMerge {
  private SchemaMerge() {}

  static StructType merge(StructType left, StructType right, boolean caseSensitive) {
    return left.merge(right, caseSensitive);
  }
}
