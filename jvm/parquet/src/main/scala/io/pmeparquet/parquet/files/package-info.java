/**
 * Files that we make beside data, and the files of a table as they are listed. `OwnFiles` is the one way to make,
 * find and remove a file of ours; `FileReplacement` puts a file in the place of another; `RunDirectory` is the hidden
 * directory of a run, and `StagedTable` the table that grows in one; `MaterialFiles` are key material beside a file.
 * Knows file systems, and no Parquet. Start with `OwnFiles`.
 */
package io.pmeparquet.parquet.files;
