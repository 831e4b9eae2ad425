/**
 * Moves tables of encrypted ORC files to encrypted Parquet. Start with `OrcMigration`. `OrcSource` finds the files,
 * `OrcLook` opens the footer of each, `OrcRefusals` says what has no equal in Parquet, `MigrationPlanning` decides on keys,
 * and `OrcFileCopy` writes and verifies one file.
 */
package io.pmeparquet.spark.admin.migration;
