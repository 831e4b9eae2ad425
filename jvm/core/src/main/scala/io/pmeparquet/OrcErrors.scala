package io.pmeparquet

import io.pmeparquet.Condition._

/** Encrypted ORC: its keys, and files that contradict themselves or their reader. */
private[pmeparquet] trait OrcErrors extends ErrorTexts { self: CopyErrors =>

  /** @param key with its version */
  def orcKeyMissing(where: String, key: String, kms: String, cause: Throwable): PmeException =
    fail(
      KeyDenied,
      s"$where: $kms does not have ORC master key '$key'. Ask for the key, or leave out the columns that it protects. To " +
        "read NULL in their place, set deniedColumns=null.",
      cause
    )

  /** @param key with its version */
  def orcNeedsMasterKey(where: String, key: String, kms: String): PmeException =
    fail(
      KeyDenied,
      s"$where: the file needs ORC master key '$key' itself, and $kms does not give keys out. Set orcMasterKeys to the " +
        "wrapped master key (pme.wrap_orc_key), or use the KMS that the file was written with."
    )

  /** @param why sentences that say which key is refused, and what to do */
  def orcStatisticsDenied(files: String, why: String, denied: Throwable): PmeException =
    fail(
      KeyDenied,
      s"$files: Spark asks for statistics of files, and ORC's reader opens those of every column at once. $why " +
        "Or set scan=v1, which reads the data of the columns that the query uses.",
      denied
    )

  def orcProviderAlone: PmeException =
    refused(
      "orc.key.provider=pme",
      "this read or write does not bring its keys",
      "In Spark, add io.pmeparquet.spark.PmeExtensions to spark.sql.extensions, or use format(\"pme-orc\")."
    )

  /** @param setting of Spark, which has Spark read the table itself */
  def orcReadByHive(table: String, setting: String): PmeException =
    refused(
      table,
      "Hive's SerDe does not get the keys of its ORC files, and could show masks in place of data",
      s"Set $setting to true, and Spark reads the table itself."
    )

  /** @param off the settings of Spark that are false, and that would have Spark write itself */
  def orcWrittenByHive(where: String, off: Seq[String]): PmeException =
    refused(
      where,
      "Hive's SerDe does not encrypt ORC files, so it would leave the columns of orc.encrypt readable",
      if (off.isEmpty) "Create the table first, and write to it with INSERT, which Spark does itself."
      else s"Set ${listed(off)} to true, and Spark writes the files itself."
    )

  /** A warning. */
  def masksShown(key: String): String =
    s"A read of ORC files was refused key '$key', and orcMasks=allow shows masks in place of the data."

  def orcDamaged(file: String, why: String, cause: Throwable = null): PmeException =
    fail(DamagedFile, s"$file: the ORC file is damaged: $why. Restore it from its source.", cause)

  /** For what a later version of the format may have. */
  def orcUnknown(file: String, why: String, cause: Throwable = null): PmeException =
    refused(
      file,
      s"this version cannot read the ORC file: $why",
      "Use a later version, or other files.",
      cause
    )

  /**
   * For a key that decrypts the statistics of a column to something that they cannot be.
   *
   * @param key its name and version
   */
  def orcWrongKey(file: String, column: String, key: String, why: String): PmeException =
    fail(
      NotAuthentic,
      s"$file: column '$column' does not open with key '$key': $why. The key is wrong, or the file was altered (AES-CTR " +
        "cannot tell which). Check that the KMS has the writer's key. If it has, restore the file."
    )

  /** @param what the name of its failure */
  def orcUnreadable(where: String, what: String, cause: Throwable): PmeException =
    fail(
      DamagedFile,
      s"$where: ORC's reader failed ($what): the file is damaged, or was encrypted with another " +
        "key (AES-CTR cannot tell which). Check that this is the KMS of the writer. If it is, restore the file.",
      cause
    )

  def orcNotVerified(where: String, column: String): PmeException =
    fail(
      KeyDenied,
      s"$where, column '$column': this reader does not have its key, so nothing of the column was verified. Name the KMS of " +
        "the writer, or ask for the key."
    )

  /** @param column that options ask a Bloom filter for */
  def orcBloomFilter(column: String): PmeException =
    fail(
      BadOption,
      s"option orc.bloom.filter.columns: column '$column' is encrypted, and ORC's writer stores Bloom filters of encrypted " +
        "columns readable: anybody could try out values. Remove the column from the option."
    )

  /** @param column that a mask cannot mask */
  def orcRedactedText(mask: String, column: String): PmeException =
    badMask(mask, s"ORC's writer fails when it redacts texts, as in column '$column'; use nullify or sha256")

  def orcPlaintext(where: String): PmeException =
    fail(
      PlaintextFile,
      s"$where: no column of the file is encrypted. Find out who wrote it. To read such files, set plaintextFiles=allow."
    )

  /** @param found how the column is protected, as a phrase */
  def orcColumnKey(where: String, column: String, asked: String, found: String, by: String): PmeException =
    fail(
      if (found == OrcErrors.Plaintext) PlaintextFile else KeyMetadata,
      s"$where, column '$column': $by requires $asked, and the column is $found. Find out who wrote the file, or correct the " +
        "option."
    )

  /** @param option that means something in Parquet */
  def notInOrc(option: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"option $option: $why. $remedy")

  def orcByPosition(where: String): PmeException =
    refused(
      where,
      "columnKeys names columns, and Spark reads this file by position: its columns have other names",
      "Remove columnKeys, or write the file with the names of its columns."
    )

  def orcKeysOfTable: PmeException =
    fail(
      BadOption,
      "option orcMasterKeys: the definition of the table, or a property of it, has the master keys of this write, so its " +
        "author could read what is written. Set orcMasterKeys in the options of the write or in the session, or list the " +
        "table in spark.datasource.pme-parquet.trustedTables."
    )

  /** @param property of the new table */
  def orcKeysOfNewTable(table: String, property: String): PmeException =
    refused(
      table,
      s"Spark does not hand over property '$property' while it creates a table from a query, so the files would not be under " +
        "the master keys in it",
      "Create the table first, and write to it with INSERT; or set orcMasterKeys in the session."
    )

  def noOrcKey: PmeException =
    fail(
      NoKey,
      "The write names no key, so it would encrypt nothing. Set columnKeys, as in 'pii: ssn, address'."
    )

  /** @param why a clause */
  def badMask(value: String, why: String): PmeException =
    fail(
      BadOption,
      s"option orc.mask: $why (in '$value'). Write 'nullify:column', 'redact,9:number' or 'sha256:column', several " +
        "separated by ';', for columns that columnKeys names."
    )

  // ---- migration to Parquet

  /** @param why a clause */
  def notMigrated(where: String, why: String, remedy: String): PmeException =
    refused(where, s"it cannot be migrated: $why", remedy)

  /** @param why a phrase */
  def migratedPartly(where: String, column: String, why: String): PmeException =
    notMigrated(
      where,
      s"column '$column' $why, so values would be lost or changed",
      "Give the table the columns and types of its files, or write the files again."
    )

  /** For a target that may be that of an earlier call. */
  def migrationThere(target: String): PmeException =
    badTarget(
      target,
      "it is not empty",
      "Name a new directory, or empty this one. If an earlier call with seal=True wrote this table and stopped before it had " +
        "sealed it, seal it with pme.seal."
    )

  /** For a column that loses its protection. */
  def migratedOpenly(source: String, column: String): PmeException =
    fail(
      BadOption,
      s"$source: column '$column' is encrypted in the source, and would be readable in the target. Name it in column_keys, or " +
        "set footer_key and leave unlisted_columns unset."
    )

  /** @param keys two master keys */
  def migratedKeysDiffer(source: String, column: String, keys: Seq[String]): PmeException =
    fail(
      BadOption,
      s"$source: column '$column' is under several keys: ${listed(keys.map(key => s"'$key'"))}. Name the key of the target in " +
        "column_keys."
    )

  def masksNotMigrated(option: String): PmeException =
    fail(
      BadOption,
      s"option $option: a migration copies no masks and no NULL in place of data, so it needs every key. Remove the option, " +
        "also from the session."
    )

  /** @param difference a sentence */
  def migratedBadly(source: String, difference: String): PmeException =
    fail(
      DamagedFile,
      s"$source: the Parquet file that was written from it failed its check: $difference Run this again. If it fails again, " +
        "check the storage of both."
    )

  def orcMasterKeySize(bits: Int): PmeException =
    fail(
      BadOption,
      s"master_key: it has $bits bits, and master keys of ORC have 128 or 256. Give 16 or 32 bytes."
    )

  def orcMasterKeyText(reference: String): PmeException =
    fail(
      BadOption,
      s"master_key: what $reference refers to is not a key in Base64. Store the 16 or 32 bytes in Base64."
    )
}

private[pmeparquet] object OrcErrors {
  val Plaintext = "not encrypted"
}
