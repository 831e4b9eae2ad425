package io.pmeparquet

import io.pmeparquet.Condition._

/** Which column gets which key, and whether a file has it under that key. */
private[pmeparquet] trait ColumnErrors extends ErrorTexts {

  def noKey: PmeException =
    fail(
      NoKey,
      "write: no key is named, so the data would be written in plaintext. " +
        "Set footerKey (with columnKeys) or uniformKey, or write with format(\"parquet\")."
    )

  def noFooterKey: PmeException =
    fail(NoKey, "write: columnKeys names keys for columns, but footerKey is not set. Set footerKey.")

  def unknownColumn(pattern: String, candidates: Seq[String]): PmeException = {
    // Candidates have backticks where a name has a dot.
    val quoted =
      candidates.find(column => column.contains('`') && column.replace("`", "").equalsIgnoreCase(pattern))
    val meant =
      quoted.fold("")(column =>
        s"A dot separates a struct from its fields. For the column whose name has a dot, write $column. "
      )
    fail(
      UnknownColumn,
      s"option columnKeys: '$pattern' matches no column, so it would protect nothing. $meant" +
        s"The columns are: ${listed(candidates)}."
    )
  }

  /** @param key the name of a column */
  def reversedColumnKeys(key: String, pattern: String, candidates: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"option columnKeys: '$pattern' matches no column, but the master key '$key' has the name of one. " +
        "The mapping is probably reversed: columnKeys maps a key to its columns. If the key of column " +
        s"'$key' is '$pattern', write '$pattern: $key', in Python column_keys={'$pattern': ['$key']}. " +
        s"The columns are: ${listed(candidates)}."
    )

  def partitionColumn(pattern: String, column: String): PmeException =
    fail(
      Unsupported,
      s"option columnKeys: '$pattern' matches the partition column '$column', which cannot be protected: its values are " +
        s"readable in directory names. Leave '$column' out of partitionBy, or name the other columns without a wildcard."
    )

  def bucketColumn(pattern: String, column: String): PmeException =
    fail(
      Unsupported,
      s"option columnKeys: '$pattern' matches column '$column', by which the table is bucketed: the names of files would " +
        "show a hash of its values, and whoever guesses a value can check it. " +
        s"Leave '$column' out of bucketBy (CLUSTERED BY)."
    )

  def twoKeys(column: String, first: String, second: String): PmeException =
    fail(
      BadOption,
      s"option columnKeys: column '$column' has two keys, '$first' and '$second'. Name it once."
    )

  def unlisted(columns: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"option unlistedColumns: unlistedColumns=error, and columnKeys names no key for ${listed(columns)}. " +
        "Name them in columnKeys, or set unlistedColumns to footerKey or plaintext."
    )

  def badColumnKeys(option: String, position: Int, why: String): PmeException =
    fail(
      BadOption,
      s"option $option: it cannot be parsed at character $position: $why. " +
        "Write 'key: column, column; key2: column' or JSON {\"key\": [\"column\"]}."
    )

  def columnsByNumber(setting: String): PmeException =
    refused(
      "option columnKeys",
      "columns cannot be bound to keys on a read that matches columns by field id: columnKeys and uniformKey match names " +
        s"in the files, and $setting is true",
      s"Set $setting to false, or remove columnKeys from the read."
    )

  /**
   * @param found the protection of the column
   * @param by the option that requires another one
   */
  def otherProtection(where: String, found: String, by: String, asked: String): PmeException =
    fail(
      KeyMetadata,
      s"$where: it is $found, but $by requires $asked. Find out who wrote this file before you trust its rows. If the " +
        "file is right, correct columnKeys, unlistedColumns and footerKey (or uniformKey) of this read."
    )

  /** @param denied the KMS's answer for the column's key, if known */
  def deniedInCondition(where: String, key: String, denied: PmeException): PmeException =
    fail(
      KeyDenied,
      s"$where: a condition of this query uses it, but its master key '$key' was refused, so the condition would see NULL " +
        "for every value. Remove the column from filters, joins, GROUP BY, generators, DISTINCT, CASE, coalesce, orders that " +
        "choose, and functions that Spark cannot analyse, or set deniedPredicates=null.",
      denied
    )

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
    val others = files.tail.take(ColumnErrors.NamesOfFiles - 1)
    val named =
      if (others.isEmpty) ""
      else others.mkString(" (also ", ", ", if (files.size > ColumnErrors.NamesOfFiles) ", …)" else ")")
    fail(
      PlaintextFile,
      s"${files.head}, column '$column': it is not encrypted in ${number(files.size)}$named, but is encrypted in " +
        s"${number(encryptedIn)} of the table. Find out who wrote it. To encrypt it, use pme.rekey with keys that name it."
    )
  }
}

private object ColumnErrors {
  private val NamesOfFiles = 3
}
