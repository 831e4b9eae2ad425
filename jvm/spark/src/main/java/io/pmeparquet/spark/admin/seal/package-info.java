/**
 * Makes versions of sealed tables, lists and deletes them, and exports their indexes. Start with `Sealing`. `SealingJob`
 * makes one version; `SealRule` decides what a version may list, and `VersionContents` what it says of its files.
 * `SealedGuard` compares a table with its snapshot, for operations that copy or verify it.
 */
package io.pmeparquet.spark.admin.seal;
