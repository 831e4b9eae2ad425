package io.pmeparquet

import io.pmeparquet.Condition._

/** The rotation of master keys. */
private[pmeparquet] trait RotationErrors extends ErrorTexts {

  /**
   * A warning.
   *
   * @param others master keys of the write that a file of the table does not have
   * @param ofTable master keys of that file that the write does not name
   */
  def otherKeysThanTable(table: String, others: Seq[String], ofTable: Seq[String]): String =
    s"$table: this write uses master keys (${listed(others)}) in place of those of the table's files " +
      s"(${listed(ofTable)}). If the keys were rotated, name the new ones; pme.rotate gives new files the keys of the others."

  def rotationUnderWay(table: String, mark: String): PmeException =
    refused(
      table,
      s"this table cannot be rotated now: a rotation with other arguments has not ended ($mark)",
      s"Run that one again until it ends. If it no longer runs and is not wanted, delete $mark."
    )

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
    val keys = unused.map(id => s"'$id'").mkString(", ")
    val where = if (unknown.isEmpty) "no file of the table" else "no file that could be read"
    val used =
      if (met.isEmpty) "The table uses no master key" else s"The master keys in use are ${listed(met)}"
    fail(
      BadOption,
      s"$table: nothing was rotated: $where has a key under $keys. $used. " +
        unknown.fold("") { case (count, why) => s"Files that could not be read: $count. The first: $why " } +
        "Check the spelling. If a key that no file uses is right, allow it with allow_unused."
    )
  }
}
