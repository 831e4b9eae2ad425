package io.pmeparquet

import io.pmeparquet.Condition._

/**
 * All failures: ''where: what happened: why, if known. What to do.'' No text holds a key, a secret or a tag.
 *
 * `error-conditions.json` declares them, and the build makes a method of each. Here are those whose text depends on what
 * is known, and warnings. Parameters named `why` are clauses without a full stop, `remedy` is one or more sentences.
 */
object PmeErrors extends DeclaredErrors {

  // ---- options

  /**
   * @param table its full name, if known
   * @param setting of the session or the Hadoop configuration
   */
  def storedOption(option: String, table: Option[String], setting: String): PmeException =
    optionOfDefinition(
      option,
      table.fold("a stored table or view")(name => s"table $name"),
      setting,
      table.fold("")(name =>
        s", or, if you trust the author of the table, set spark.datasource.pme-parquet.trustedTables to $name"
      )
    )

  /** A warning: the same as `optionsOfOurs`, for a read. */
  def optionsOfOursOnRead(options: Seq[String], format: String): String =
    s"read: pme-parquet options (${listed(options)}) were passed to the format '$format', which ignores them; the data " +
      s"that it reads is not authenticated. Read with ${Audience.current.read}, or remove these options."

  /** For settings of encryption that what runs does not read. */
  def factoryDoesNotFit(
      statement: String,
      settings: Seq[String],
      factory: Option[String],
      ours: String
  ): PmeException = {
    val found = factory.fold("not set")(name => s"'$name', which does not read them or cannot be loaded")
    otherFactory(statement, settings, found, ours)
  }

  /** @param found the partition columns of the table's directories */
  def otherPartitions(target: String, found: Seq[String], columns: Seq[String]): PmeException = {
    def named(names: Seq[String]) = if (names.isEmpty) "no columns" else listed(names)
    val how =
      if (found.isEmpty) "without partitionBy"
      else found.map(name => s"'$name'").mkString("with partitionBy(", ", ", ")")
    partitionsDiffer(target, named(found), named(columns), how)
  }

  // ---- columns

  def unknownColumn(pattern: String, candidates: Seq[String]): PmeException = {
    // Candidates have backticks where a name has a dot.
    val quoted =
      candidates.find(column => column.contains('`') && column.replace("`", "").equalsIgnoreCase(pattern))
    val meant =
      quoted.fold("")(column =>
        s"A dot separates a struct from its fields. For the column whose name has a dot, write $column. "
      )
    noSuchColumn(pattern, meant, candidates)
  }

  /** @param denied the KMS's answer for the column's key */
  def deniedStructNulls(where: String, struct: String, key: String, denied: PmeException): PmeException =
    fail(
      denied.condition,
      s"$where: this query selects no value of '$struct' that the file has, so only a column of '$struct' can tell where " +
        s"'$struct' is NULL. Each of them has a key of its own, and none is available: master key '$key' of this one was " +
        s"refused. Leave '$struct' out of the query, ask for the key, or set deniedColumns=null.",
      denied
    )

  /**
   * A finding of verification: a plaintext column that other files encrypt.
   *
   * @param files number of files in which it is readable; at least one
   */
  def readableColumn(files: Seq[String], column: String, encryptedIn: Int): PmeException = {
    def number(count: Int) = if (count == 1) "1 file" else s"$count files"
    val others = files.slice(1, NamesOfFiles)
    val named =
      if (others.isEmpty) ""
      else others.mkString(" (also ", ", ", if (files.size > NamesOfFiles) ", …)" else ")")
    columnReadable(files.head, column, number(files.size), named, number(encryptedIn))
  }

  // ---- keys and files

  def keyNotFound(where: String, key: String, kms: String, cause: Throwable = null): PmeException = {
    // Text forms of `columnKeys` drop such spaces, JSON and options keep them.
    val spaces = if (key == key.trim) "" else "; the id begins or ends with a space, which is part of it"
    keyUnusable(where, key, s"$kms does not have it$spaces", cause)
  }

  def wrappedKeyNotAuthentic(where: String, key: String, cause: Throwable = null): PmeException =
    wrappedKeyRefused(
      where,
      key,
      "its authentication tag does not match, so either the master key of that name is not the writer's, or the key " +
        "material was altered (AES-GCM cannot tell which)",
      cause
    )

  def damaged(file: String, why: String, cause: Throwable = null): PmeException =
    if (UnfinishedFile.is(file)) unfinishedCopy(file, cause)
    else if (UnfinishedFile.isOfCompaction(file)) unfinishedCompaction(file, cause)
    else fileDamaged(file, why, cause)

  /** @param why in parquet-java's words */
  def notWritten(where: String, why: String, cause: Throwable): PmeException = {
    val remedy =
      if (why.contains("pages per chunk"))
        "Write larger pages (raise parquet.page.size and parquet.page.row.count.limit) or smaller row groups (lower " +
          "parquet.block.size)."
      else if (why.contains("row groups"))
        "Write larger row groups (raise parquet.block.size), or more files (df.repartition, maxRecordsPerFile)."
      else "Change the column, or the setting parquet.… of this write, that the message names."
    writeFailed(where, why, remedy, cause)
  }

  /** @param key of an entry in the key-value metadata, as its author wrote it */
  def readableEntry(file: String, key: String): PmeException = entryReadable(file, key.take(MaxChars))

  // ---- copies and rotation

  /** @param why a sentence */
  def badCopy(source: String, condition: Condition, why: String): PmeException =
    fail(
      condition,
      s"$source: the new file that was written from it failed its check: $why Run this again. If it fails again, check " +
        "the storage that it is written to."
    )

  /** @param differing options: the value at the beginning, and the value now */
  def encryptionUnderWay(
      table: String,
      manifest: String,
      differing: Seq[(String, String, String)]
  ): PmeException = {
    val options = differing.map { case (name, before, now) => s"$name '$before' (now '$now')" }
    encryptionWithOthers(table, manifest, options.mkString(", "))
  }

  /** @param why a sentence, with the file */
  def badEncrypted(condition: Condition, why: String): PmeException = fail(condition, why)

  /**
   * A warning.
   *
   * @param others master keys of the write that a file of the table does not have
   * @param ofTable master keys of that file that the write does not name
   */
  def otherKeysThanTable(table: String, others: Seq[String], ofTable: Seq[String]): String =
    s"$table: this write uses master keys (${listed(others)}) in place of those of the table's files " +
      s"(${listed(ofTable)}). If the keys were rotated, name the new ones; ${Audience.current.rotate} gives new files the " +
      "keys of the others."

  /**
   * @param unused old master keys that no file uses
   * @param met the master keys in use
   * @param unknown the number of files that failed before their keys were known, and the first failure
   */
  def unusedMasterKeys(
      table: String,
      unused: Seq[String],
      met: Seq[String],
      unknown: Option[(Int, String)] = None
  ): PmeException = {
    val where = if (unknown.isEmpty) "no file of the table" else "no file that could be read"
    val used =
      if (met.isEmpty) "The table uses no master key" else s"The master keys in use are ${listed(met)}"
    val unread = unknown.fold("") { case (count, why) =>
      s"Files that could not be read: $count. The first: $why "
    }
    keysUnused(table, where, unused.map(id => s"'$id'").mkString(", "), used, unread)
  }

  // ---- snapshots

  /** Whether a failure says that a snapshot is not what its sealer made. */
  def isOfSeal(failed: PmeException): Boolean =
    failed.condition == SnapshotNotAuthentic || failed.condition == SnapshotMismatch

  /** @param columns the columns of the table */
  def unknownIndexColumn(table: String, column: String, columns: Seq[String]): PmeException = {
    val remedy =
      if (columns.isEmpty) "It has no files, so its columns are not known. Seal it without indexes first."
      else s"Its columns are: ${listed(columns)}. Name one of them."
    noColumnToIndex(table, column, remedy)
  }

  /** @param indexed the columns that have one */
  def noIndex(table: String, column: String, indexed: Seq[String]): PmeException = {
    val found =
      if (indexed.isEmpty) "The table has no index." else s"The table's indexes are: ${listed(indexed)}."
    noIndexToDrop(table, column, found)
  }

  /** @param indexed the columns of the table's indexes */
  def noIndexOfKey(table: String, pattern: String, indexed: Seq[String]): PmeException = {
    val found =
      if (indexed.isEmpty) "No column has an index." else s"The columns with one are: ${listed(indexed)}."
    noIndexForKey(table, pattern, found)
  }

  def outsideSealedTable(file: String): PmeException =
    snapshotMismatch(file, "the file is outside the table's directory, and a snapshot lists only files in it")

  /**
   * For a seal that would vouch for files which nobody has confirmed.
   *
   * @param state the last version, or that there is none
   * @param changes the files, each with what happened to it
   * @param expect what confirms them
   */
  def unconfirmedChanges(table: String, state: String, changes: Seq[String], expect: String): PmeException = {
    val more = changes.size - MostChanges
    val shown = changes.take(MostChanges).mkString(", ") + (if (more > 0) s" and $more more" else "")
    changesUnconfirmed(table, state, shown, expect)
  }

  /** For option or argument `expect` of a seal. */
  def badExpect(value: String): PmeException = expectOfNothing(value.take(MaxChars))

  // ---- ORC

  /** How a column is protected that has no key, as a phrase. */
  val OrcPlaintext = "not encrypted"

  /** @param off the settings of Spark that are false, and that would have Spark write itself */
  def orcWrittenByHive(where: String, off: Seq[String]): PmeException = {
    val remedy =
      if (off.isEmpty) "Create the table first, and write to it with INSERT, which Spark does itself."
      else s"Set ${listed(off)} to true, and Spark writes the files itself."
    writtenByHive(where, remedy)
  }

  /** A warning. */
  def masksShown(key: String): String =
    s"A read of ORC files was refused key '$key', and orcMasks=allow shows masks in place of the data."

  /** @param found how the column is protected, as a phrase */
  def orcColumnKey(where: String, column: String, asked: String, found: String, by: String): PmeException =
    fail(
      if (found == OrcPlaintext) PlaintextFile else KeyMetadata,
      s"$where, column '$column': $by requires $asked, and the column is $found. Find out who wrote the file, or correct the " +
        "option."
    )

  /** @param column that a mask cannot mask */
  def orcRedactedText(mask: String, column: String): PmeException =
    badMask(mask, s"ORC's writer fails when it redacts texts, as in column '$column'; use nullify or sha256")

  /** @param why a phrase */
  def migratedPartly(where: String, column: String, why: String): PmeException =
    notMigrated(
      where,
      s"column '$column' $why, so values would be lost or changed",
      "Give the table the columns and types of its files, or write the files again."
    )

  /** @param keys two master keys */
  def migratedKeysDiffer(source: String, column: String, keys: Seq[String]): PmeException =
    keysOfColumnDiffer(source, column, keys.map(key => s"'$key'"))

  private val NamesOfFiles = 3
  private val MaxChars = 100
  private val MostChanges = 20
}
