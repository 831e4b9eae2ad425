package io.pmeparquet.spark.admin;

import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;

/** Spark's check of column names. In Java, because Scala hides it from code outside Spark's packages. */
final class ColumnNames {
  private ColumnNames() {}

  static void requireDistinct(StructType schema, boolean caseSensitive) {
    SchemaUtils.checkSchemaColumnNameDuplication(schema, caseSensitive);
  }
}
