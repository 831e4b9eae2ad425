/**
 * The operations on tables that Python, the command and SQL call, with one object for each: `Verification`, `Rotation`,
 * `KeyUsage`, `TableCopies`, `WritePlan`, `Doctor`. They distribute a table's files to tasks (`job`);
 * `jvm/parquet` works on one file. The operations of sealed tables are in `seal`. Start with `Verification`, a short
 * one; `TableFunctions` makes SQL functions of some of them.
 */
package io.pmeparquet.spark.admin;
