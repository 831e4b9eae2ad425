/**
 * Finds what is sound in a damaged file, and gives it to a reader. `FileRecovery` begins: it walks over the file as
 * `verify/FileWalk` does, and keeps the places of the pages that open. `ChunkRecovery` finds out which rows they hold,
 * and `RecoveredPages` puts NULLs in the places of the others, so that the rows of all columns fit together. A caller
 * leaves out the rows, or the cells, that `RecoveredGroup` says are lost.
 */
package io.pmeparquet.parquet.recover;
