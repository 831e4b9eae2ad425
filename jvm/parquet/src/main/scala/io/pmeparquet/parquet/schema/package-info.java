/**
 * The columns of a file, by their names in Spark: leaf columns (`SchemaColumns`), those that a query wants
 * (`WantedColumns`), and those that a filter compares (`PredicateColumns`). Knows schemas of parquet-java, and neither
 * files nor keys. Start with `SchemaColumns`.
 */
package io.pmeparquet.parquet.schema;
