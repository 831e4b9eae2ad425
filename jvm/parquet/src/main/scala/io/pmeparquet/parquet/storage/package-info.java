/**
 * Files that we write next to data, and the listed files of a table. `OwnFiles` is the only way to create, find and
 * remove a file of ours; `FileReplacement` replaces one file with another; `RunDirectory` is the hidden directory of a
 * run, and `StagedTable` a table that grows in one: a `CopiedTable`, or a `ResumableTable` that a later run continues;
 * `MaterialFiles` holds key material beside a file. Knows file systems, and no Parquet. Start with `OwnFiles`.
 */
package io.pmeparquet.parquet.storage;
