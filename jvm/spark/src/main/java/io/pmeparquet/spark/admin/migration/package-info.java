/**
 * Moves tables of encrypted ORC files to encrypted Parquet. Start with `OrcMigration`. `OrcSource` finds the files,
 * `OrcFileCheck` opens the footer of each and refuses what has no equal in Parquet, `MigrationPlanning` decides on keys,
 * and `OrcFileCopy` writes and verifies one file.
 */
package io.pmeparquet.spark.admin.migration;
