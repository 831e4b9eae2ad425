/**
 * The operations on tables that Python, the command and SQL call, with one object for each: `Verification`, `Rotation`,
 * `KeyUsage`, `TableCopies`, `WritePlan`, `Doctor`. It lists a table's files (`TableFiles`) and distributes
 * them to tasks; `jvm/parquet` works on one file. Start with `Verification`, a short one; `TableFunctions` makes SQL
 * functions of some of them.
 */
package io.pmeparquet.spark.admin;
