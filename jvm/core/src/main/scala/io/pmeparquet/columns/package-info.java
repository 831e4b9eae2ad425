/**
 * Which key protects which column. `ColumnKeys` parses the option `columnKeys`; `KeyDraft` applies it to the columns
 * of a schema, with everything that is wrong; `KeyPlan` is a draft without mistakes, and a write uses it.
 * `ColumnPolicy` is what a read requires of a file. Knows names and paths of columns, and no Parquet class. Start with
 * `KeyDraft.of`.
 */
package io.pmeparquet.columns;
