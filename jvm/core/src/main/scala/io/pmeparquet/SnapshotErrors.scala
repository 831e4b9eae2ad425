package io.pmeparquet

import io.pmeparquet.Condition._

/** Snapshots of tables: lists of files that are sealed. */
private[pmeparquet] trait SnapshotErrors extends ErrorTexts {

  /** For a write that names no keys. */
  def keysOfSnapshot(table: String, readable: Seq[String]): PmeException =
    fail(
      NoKey,
      s"$table: the write names no keys, and those of the newest snapshot cannot be used: it states columns without a key " +
        s"(${listed(readable)}). Name the keys, with unlistedColumns=plaintext for these columns."
    )

  /** Whether a failure says that a snapshot is not what its sealer made. */
  def isOfSeal(failed: PmeException): Boolean =
    failed.condition == SnapshotNotAuthentic || failed.condition == SnapshotMismatch

  /** @param where the table, or a file of it */
  def snapshotMismatch(where: String, why: String): PmeException =
    fail(
      SnapshotMismatch,
      s"$where: the table is not as its snapshot lists it: $why. If the change is yours, seal the table again " +
        "(pme.seal). If not, restore the files. To read the table without its snapshot, set snapshot=off."
    )

  /** @param option that requires a snapshot */
  def noSnapshot(table: String, option: String): PmeException =
    fail(
      SnapshotMismatch,
      s"$table: the table has no snapshot, and option $option requires one. Seal the table (pme.seal), or find out who " +
        "removed its snapshots."
    )

  /** @param version the newest that this session has read */
  def snapshotsGone(table: String, version: String): PmeException =
    fail(
      SnapshotNotAuthentic,
      s"$table: the table has no snapshot, but this session has read version $version. If you overwrote the table, " +
        "seal it (pme.seal). If not, find out who removed its snapshots. To read the table without a snapshot, set snapshot=off."
    )

  def snapshotNotAuthentic(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      SnapshotNotAuthentic,
      s"$where: the snapshot is not authentic: $why. Check the keys and the place of the table. If they are right, restore " +
        "the snapshots. If the table was copied or moved, or you give up its history, remove the snapshots and seal it " +
        "again (pme.seal).",
      cause
    )

  /** For a seal that needs a key which the options do not name. */
  def snapshotKeyMissing(where: String, algorithm: String, key: String): PmeException =
    fail(
      SnapshotNotAuthentic,
      s"$where: the snapshot is signed ($algorithm, key '$key'), and verifyKey is not set, so its signature cannot be " +
        "verified. Set verifyKey to a reference to the public key, or read without the snapshot (snapshot=off)."
    )

  def oldSnapshot(where: String, why: String): PmeException =
    fail(
      SnapshotNotAuthentic,
      s"$where: the newest snapshot is older than it should be: $why. Somebody may have put back an earlier state of the " +
        "table. If you did, seal the table again (pme.seal), or set snapshot=off."
    )

  /**
   * For a table whose name is a link. Its snapshots name the place that the link leads to, so they fit wherever it leads.
   *
   * @param pin that would bind the read to this table
   */
  def linkedTable(table: String, location: String, pin: String): PmeException =
    fail(
      SnapshotNotAuthentic,
      s"$table: the name of the table is a link to $location, and whoever can change the link can lead readers to another " +
        s"table. Name that place, or the table that you expect: minSnapshot=$pin."
    )

  def snapshotDamaged(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      SnapshotDamaged,
      s"$where: the snapshot is damaged: $why. If an overwrite of the table was interrupted, overwrite it again. If not, " +
        "restore the file, or look at the table's files, remove the snapshots and seal it again in a new session (pme.seal).",
      cause
    )

  def snapshotExpired(where: String, version: String, cause: Throwable): PmeException =
    fail(
      SnapshotDamaged,
      s"$where: version $version of the snapshot has expired while it was read. Run the query again. If it needs this " +
        "version, keep more of them (pme.expire_snapshots).",
      cause
    )

  def snapshotConflict(where: String): PmeException =
    fail(
      SnapshotConflict,
      s"$where: another process sealed the table at the same time, and its version stands. Seal the table again (pme.seal)."
    )

  def noPublication(where: String): PmeException =
    cannotPublish(
      where,
      "only local disks, HDFS, S3A, ADLS Gen2 and Google Cloud Storage have a step that publishes a file without replacing one",
      ""
    )

  def oldHadoopAws(where: String, cause: Throwable = null): PmeException =
    cannotPublish(
      where,
      "this client of S3 has no conditional writes (fs.option.create.conditional.overwrite)",
      "Use s3a:// with hadoop-aws 3.4.2 or newer, do not set fs.s3a.create.conditional.enabled to false, or ",
      cause
    )

  def flatDataLake(where: String): PmeException =
    cannotPublish(
      where,
      "this storage account has no hierarchical namespace, without which a rename is not one step",
      "Use an account that has one, or "
    )

  def storeOverwrites(where: String): PmeException =
    cannotPublish(
      where,
      "the store replaced an object although the request forbade it, so two processes could seal the same version",
      "Use a store with conditional writes (If-None-Match), or "
    )

  private def cannotPublish(
      where: String,
      why: String,
      other: String,
      cause: Throwable = null
  ): PmeException =
    refused(
      where,
      s"sealing a table in this file system is not supported: $why",
      s"${other}set snapshotLocation to a directory on a file system that can, for example HDFS.".capitalize,
      cause
    )

  /** @param columns the columns of the table */
  def unknownIndexColumn(table: String, column: String, columns: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"$table: the table has no column '$column' to index. " +
        (if (columns.isEmpty) "It has no files, so its columns are not known. Seal it without indexes first."
         else s"Its columns are: ${listed(columns)}. Name one of them.")
    )

  /** @param indexed the columns that have one */
  def noIndex(table: String, column: String, indexed: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"$table: column '$column' has no such index to drop. " +
        (if (indexed.isEmpty) "The table has no index." else s"The table's indexes are: ${listed(indexed)}.")
    )

  /** @param indexed the columns of the table's indexes */
  def noIndexOfKey(table: String, pattern: String, indexed: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"$table: option indexKeys names '$pattern', but no index has such a column. " +
        (if (indexed.isEmpty) "No column has an index." else s"The columns with one are: ${listed(indexed)}.")
    )

  /** @param text the request, which holds no secret */
  def badIndex(text: String, why: String): PmeException =
    fail(
      BadOption,
      s"index $text: $why. Give an index as pme.MinMax, pme.ValueList, pme.Bloom or pme.IndexClass, and each column and " +
        "kind once."
    )

  def indexTooLarge(table: String, index: String, bytes: String, most: String): PmeException =
    refused(
      table,
      s"index $index has $bytes bytes, and a read holds at most $most bytes of an index in memory",
      "Seal the table with a larger fpp or a smaller max, or without this index."
    )

  /** For an index whose key is another one than its column's, in a seal that an HMAC makes. */
  def indexKeyNotNamed(table: String, index: String, key: String, dataKey: String): PmeException =
    fail(
      BadOption,
      s"$table: in the version before, index $index has the key '$key', and its column has '$dataKey'. Everybody with the " +
        s"footer's master key could have written that. Name the key again in indexKeys: '$key' to keep it, or '$dataKey'."
    )

  /** @param index that cannot be read */
  def oldIndexUnreadable(table: String, index: String, why: String, cause: Throwable): PmeException =
    fail(
      SnapshotDamaged,
      s"$table: the version before has an index $index that cannot be read: $why. Drop the index (pme.drop_index), and " +
        "seal the table with it again.",
      cause
    )

  /** For a seal that would load a class because the version before names it. */
  def classNotAllowed(table: String, className: String): PmeException =
    fail(
      BadOption,
      s"$table: the version before has an index of class $className, which option indexClasses does not name. Name it, " +
        "give the indexes of this version, or drop the index (pme.drop_index)."
    )

  /** @param at what was done: "a seal" or "a query" */
  def summaryClassFailed(className: String, at: String, why: String, cause: Throwable): PmeException =
    fail(
      BadOption,
      s"index class $className: the class failed in $at: $why. Correct the " +
        "class or its settings, or drop its indexes (pme.drop_index).",
      cause
    )

  def badSummaryClass(className: String, why: String, cause: Throwable = null): PmeException =
    fail(
      BadOption,
      s"index class $className: the class cannot be used: $why. Name a public class with a public constructor without " +
        "parameters that implements io.pmeparquet.parquet.summary.SummaryClass, and put it on the class path.",
      cause
    )

  def outsideSealedTable(file: String): PmeException =
    snapshotMismatch(file, "the file is outside the table's directory, and a snapshot lists only files in it")

  def snapshotTooLarge(table: String): PmeException =
    refused(
      table,
      "the table's snapshot would be too large to be read: it has too many columns, or indexes of very long values",
      "Seal it with fewer indexes, or split the table."
    )

  def badVerifyKey(option: String, why: String): PmeException =
    fail(
      BadOption,
      s"option $option: the reference does not lead to a public key: $why. Refer to a PEM file with one public key " +
        "(openssl pkey -pubout) or certificate (keytool -exportcert -rfc)."
    )

  /** For a write whose data is committed. */
  def writtenNotSealed(table: String, why: String, cause: Throwable): PmeException =
    fail(
      SnapshotMismatch,
      s"$table: the data is written, but the table is not sealed, so reads refuse it: $why. Solve that, and seal the " +
        "table (pme.seal).",
      cause
    )

  def cannotSealWrite: PmeException =
    refused(
      "option snapshot",
      "the table is sealed, or snapshot=update asks for it, and this write cannot seal it after its commit: it is that of a " +
        "stream, or of a session that did not plan it",
      "For a stream, write in foreachBatch, which seals each batch, or write to another table."
    )

  /** For an operation that would change the files of a sealed table, and cannot seal it. */
  def sealedTable(operation: String, table: String, remedy: String): PmeException =
    refused(
      table,
      s"the table is sealed, and $operation would leave it with files that no snapshot lists",
      remedy
    )

  /** For a stream over a sealed table. */
  def logOfSealedTable(log: String): PmeException =
    fail(
      SnapshotMismatch,
      s"$log: the sealed table has the log of a stream that wrote to it, by which Spark would choose the files of this " +
        "stream, and no seal covers it. Find out who put it there, and remove it: streams do not write to sealed tables."
    )

  /** @param index the class of Spark's that lists the files */
  def unknownListing(index: String): PmeException =
    refused(
      index,
      "reading a sealed table by this listing of Spark is not supported: it is not known how to compare it with the list",
      "Load the table by its path."
    )

  /** For files that lie in a table, and that no version lists, before a write makes the first version. */
  def unsealedFiles(table: String, files: Int): PmeException =
    fail(
      SnapshotMismatch,
      s"$table: the table has $files files and no snapshot, and a write seals only its own files. Look at the files, and " +
        "seal the table first: pme.seal(…, expect=\"unsealed\")."
    )

  /**
   * For a seal that would vouch for files which nobody has confirmed.
   *
   * @param state the last version, or that there is none
   * @param changes the files, each with what happened to it
   * @param expect what confirms them
   */
  def unconfirmedChanges(table: String, state: String, changes: Seq[String], expect: String): PmeException =
    fail(
      SnapshotMismatch,
      s"$table: $state: ${shortened(changes)}. A seal vouches for all files, so look at these. If they are right, seal with " +
        s"expect=$expect."
    )

  private def shortened(names: Seq[String]): String = {
    val more = names.size - MostNamed
    names.take(MostNamed).mkString(", ") + (if (more > 0) s" and $more more" else "")
  }

  private val MostNamed = 20

  /** For option or argument `expect` of a seal. */
  def badExpect(value: String): PmeException =
    fail(
      BadOption,
      s"expect: '${value.take(100)}' confirms nothing. Give unsealed, the number of files that changed, or the last version: " +
        "its number, '<table id>:<version>', or at least 12 digits of its digest."
    )

  /** For metadata of Xskipper; whoever reads it goes on without. */
  def xskipperUnusable(where: String, why: String): PmeException =
    fail(
      SnapshotDamaged,
      s"$where: the Xskipper metadata cannot be used: $why. No file is skipped by it. Refresh the index in Xskipper, or " +
        "export it again (pme.export_xskipper)."
    )

  def xskipperTarget(target: String, why: String): PmeException =
    fail(
      BadOption,
      s"$target: the directory cannot be a metadata store: $why. Name an empty or new directory."
    )

  /** @param index as users name it */
  def xskipperIndex(table: String, index: String, why: String, remedy: String): PmeException =
    refused(table, s"index $index cannot be exported for Xskipper: $why", remedy)
}
