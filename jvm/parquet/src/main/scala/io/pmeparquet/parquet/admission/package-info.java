/**
 * Whether a file may be read at all: what its footer may state (`FooterPolicy`), which keys its columns must be under
 * (`ColumnCheck`), and, before code rewrites a footer, that it has only fields that we know (`FooterFields`).
 * `FileDecryption` does this for parquet-java's own reader. Opens no page. Start with `FooterPolicy`.
 */
package io.pmeparquet.parquet.admission;
