package io.pmeparquet.spark.admin;

import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.SchemaUtils;

/** Names of columns as Spark checks them. In Java because Scala keeps that to Spark's packages. */
final class ColumnNames {
  private ColumnNames() {}

  static void requireDistinct(StructType schema, boolean caseSensitive) {
    SchemaUtils.checkSchemaColumnNameDuplication(schema, caseSensitive);
  }
}
