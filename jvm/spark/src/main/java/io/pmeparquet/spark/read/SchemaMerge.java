package io.pmeparquet.spark.read;

import org.apache.spark.sql.types.StructType;

/**
 * Merges schemas like Spark's own sources. In Java, because Scala hides that method from code outside Spark's packages,
 * and our classes do not belong there.
 */
final class SchemaMerge {
  private SchemaMerge() {}

  static StructType merge(StructType left, StructType right, boolean caseSensitive) {
    return left.merge(right, caseSensitive);
  }
}
