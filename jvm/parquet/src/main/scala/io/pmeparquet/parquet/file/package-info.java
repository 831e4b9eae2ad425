/**
 * One file: opens and checks its footer (`OpenFiles`), holds its metadata and keys (`OpenFile`, `FileCrypto`), opens
 * indexes and Bloom filters (`Indexes`), and reads a split of it row group by row group (`SplitReader`,
 * `RowGroupReader`). `PreReadCheck` checks a file before Spark's own reader gets it. Knows scopes, and uses `chunk` for
 * pages. Start with `OpenFiles` for footers, with `SplitReader` for rows.
 */
package io.pmeparquet.parquet.file;
