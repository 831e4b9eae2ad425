/**
 * Opens every module of a file and reports each that does not open, without decoding values. `FileVerification`
 * begins, `FileWalk` goes over row groups and columns, `PageWalk` over the pages of a chunk; a `Finding` is one line
 * of the result. To add a finding about a column chunk, start with `FileWalk`, and place it with `Finding.inChunk` or
 * `Finding.inModule`; about a file, start with `FileVerification.of`; about several files, with `ReadableColumns` in
 * jvm/spark. Messages are in `FileErrors` of core. Every finding also fails a copy (`copy/CopyCheck`).
 */
package io.pmeparquet.parquet.verify;
