/**
 * Whether a file may be read at all: what its footer may say (`FooterPolicy`), under which keys its columns must be
 * (`ColumnCheck`), and, for whoever writes a footer again, that it has only fields that we know (`FooterFields`).
 * `FileDecryption` does it for parquet-java's own reader. Opens no page. Start with `FooterPolicy`.
 */
package io.pmeparquet.parquet.admission;
