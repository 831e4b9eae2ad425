package io.pmeparquet

import io.pmeparquet.Condition._

/** Tables and files that are copied or encrypted in place, and files of our own. */
private[pmeparquet] trait CopyErrors extends ErrorTexts {

  def nothingThere(path: String): PmeException =
    fail(BadOption, s"$path: there is nothing at this path. Check the path.")

  def badTarget(target: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$target: the copy cannot be written there: $why. $remedy")

  def badSource(source: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$source: the table cannot be copied or changed: $why. $remedy")

  /** @param why a sentence */
  def badCopy(source: String, condition: Condition, why: String): PmeException =
    fail(
      condition,
      s"$source: the new file that was written from it failed its check: $why Run this again. If it fails again, check " +
        "the storage that it is written to."
    )

  // ---- files of our own

  /** A place that belongs to this run only, or that has its name. */
  def placeTaken(path: String, cause: Throwable = null): PmeException =
    refused(
      path,
      "this file or directory cannot be created: something is in its place already, or a link leads elsewhere",
      "Find out who put it there, remove it, and run this again.",
      cause
    )

  def planted(path: String): PmeException =
    refused(
      path,
      "this is not a file or directory that pme-parquet made, but a link or something else of that name",
      "Find out who put it there, remove it, and run this again."
    )

  def linkedDirectory(table: String, directory: String): PmeException =
    refused(
      table,
      s"the files of this table cannot be changed: $directory is a symbolic link, so files elsewhere would be changed",
      "Remove the link, or name the directory that it leads to."
    )

  /** For one attempt of a task. */
  def copyIsOver(target: String, cause: Throwable = null): PmeException =
    refused(
      target,
      "this copy has ended: its run was stopped, or another copy to this target finished first",
      "Check what is at the target. If the copy is not there, run this again.",
      cause
    )

  /** For a table that has appeared without one of its files. */
  def publishedPartly(target: String, file: String): PmeException =
    fail(
      DamagedFile,
      s"$target: the table appeared without file $file: something removed the file while the table moved there. Delete the " +
        "table, and run this again."
    )

  /** For a table of which a file was gone before readers could take it for complete. */
  def lostWhilePublished(target: String, file: String): PmeException =
    fail(
      DamagedFile,
      s"$target: something removed file $file while the copy was put there, so the copy was removed again. Run this again."
    )

  // ---- encryption in place

  def bothInPlace(option: String): PmeException =
    fail(
      BadOption,
      s"option $option: it cannot be an option of the read when a table is encrypted in place: the files would be written " +
        "with it, too. If they are to have it, give it with the keys of the write; if not, encrypt to a copy."
    )

  /** @param mark of the run that began there, above it or below it */
  def otherUnderWay(table: String, mark: String): PmeException =
    refused(
      table,
      s"the files of this table cannot be changed now: an encryption in place or a rotation has not ended ($mark)",
      s"Run that one again until it ends. If it no longer runs and is not wanted, delete $mark."
    )

  /** @param differing options: the value at the beginning, and the value now */
  def encryptionUnderWay(
      table: String,
      manifest: String,
      differing: Seq[(String, String, String)]
  ): PmeException =
    refused(
      table,
      "an encryption in place with other settings has not ended: it was begun with " +
        differing.map { case (name, before, now) => s"$name '$before' (now '$now')" }.mkString(", "),
      "Run it again with the first settings until it ends, then change them with pme.rekey to a copy. If it cannot end, " +
        s"delete $manifest, which holds the first settings."
    )

  def badManifest(file: String, why: String): PmeException =
    refused(
      file,
      s"this encryption in place cannot go on: the file that should hold its settings cannot be read: $why",
      "Find out who wrote it, delete it, and run this again with the settings of the first run."
    )

  def claimedBefore(file: String): PmeException =
    refused(
      file,
      "the file was not replaced: another attempt of this run began to replace it, and failed or has not ended",
      "Run this again."
    )

  def addedMeanwhile(file: String): PmeException =
    refused(
      file,
      "the file was not encrypted: it was added after the files were listed",
      "Run this again when nobody writes to the table."
    )

  def runIsOver(table: String, cause: Throwable = null): PmeException =
    refused(
      table,
      "no more files are replaced: this run was stopped, or another one has begun",
      "If no other one runs, run this again.",
      cause
    )

  def encryptedOtherwise(file: String, what: String): PmeException =
    refused(
      file,
      s"the file is already encrypted, with other settings: $what",
      "Copy the table with pme.rekey, or name the keys that it has."
    )

  /** @param why a sentence, with the file */
  def badEncrypted(condition: Condition, why: String): PmeException = fail(condition, why)
}
