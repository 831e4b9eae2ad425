package io.pmeparquet

import io.pmeparquet.Condition._

/** Files as a reader meets them: damaged, altered, plaintext, or with an AAD prefix or an algorithm it does not accept. */
private[pmeparquet] trait FileErrors extends ErrorTexts {

  def plaintextFile(file: String): PmeException =
    fail(
      PlaintextFile,
      s"$file: the file is not encrypted, and plaintextFiles=error. " +
        "Find out who wrote it. If such files are expected, set plaintextFiles=allow."
    )

  def algorithm(file: String, found: String, accepted: String): PmeException =
    fail(
      Algorithm,
      s"$file: the file is encrypted with $found, which does not authenticate pages; this reader accepts $accepted only. " +
        s"To read it all the same, set algorithm=$found."
    )

  def aadPrefix(file: String, why: String): PmeException =
    fail(
      AadPrefix,
      s"$file: the AAD prefix is not the expected one: $why. " +
        "Set aadPrefix to the writer's. If it is right, this is not the file that you asked for."
    )

  def aadPrefixLength(where: String, template: String, bytes: Int, unfit: Seq[Int]): PmeException =
    fail(
      BadOption,
      s"option aadPrefix: '$template' cannot be used for $where, where it is $bytes bytes long. In a file with a prefix of " +
        s"${unfit.mkString(", ")} bytes and doubleWrapping=false, a page could be passed off as a wrapped key. " +
        "Use a prefix of another length, or doubleWrapping=true."
    )

  /** For a file that none of our writers makes, and no writer should. */
  def aadPrefixOfSingleWrapping(where: String, bytes: Int): PmeException =
    fail(
      AadPrefix,
      s"$where: its key was wrapped with doubleWrapping=false, and its AAD prefix is $bytes bytes long. With both, a " +
        "wrapped key could be passed off as a page. Have the file written again, with a prefix of another length or with " +
        "doubleWrapping=true."
    )

  /** For a file that states its own prefix. */
  def unprovenPrefix(file: String): PmeException =
    aadPrefix(
      file,
      "the file states its own prefix, aadPrefix is not set, and this reader has no key of a protected column to prove " +
        "that the prefix is genuine"
    )

  def changedMeanwhile(file: String): PmeException =
    refused(file, "the file or its key material was changed while this ran", "Run this again.")

  def changedSinceListed(file: String): PmeException =
    refused(
      file,
      "the file was replaced after this query was planned, so the parts that the query looks for are no longer there",
      "Load the table again (REFRESH TABLE for a table of the catalog), and run the query again."
    )

  def damaged(file: String, why: String, cause: Throwable = null): PmeException =
    if (UnfinishedFile.is(file)) unfinishedCopy(file, cause)
    else
      fail(
        DamagedFile,
        s"$file: the Parquet file is damaged: $why. Restore it from its source.",
        cause
      )

  def unfinishedCopy(file: String, cause: Throwable = null): PmeException =
    fail(
      DamagedFile,
      s"$file: a copy to this directory has not ended, and files may be missing. Wait if the copy is running. If it was " +
        "stopped, check that its source is there, delete what it has copied here, and run it again.",
      cause
    )

  def notAuthentic(file: String, what: String, cause: Throwable = null): PmeException =
    fail(
      NotAuthentic,
      s"$file: $what cannot be authenticated: the key is wrong, the AAD prefix is wrong, or the data was altered " +
        "(AES-GCM cannot tell which). Check keys and aadPrefix. If they are the writer's, restore the file.",
      cause
    )

  def clearLevels(file: String, column: String): PmeException =
    refused(
      file,
      s"column '$column' has V2 data pages with repetition and definition levels outside the ciphertext, where they are " +
        "neither secret nor authenticated",
      "To read them all the same, set clearLevels=allow."
    )

  /** For a page that opens, and whose content Spark's decoders do not take. */
  def undecodable(file: String, what: String, cause: Throwable): PmeException =
    fail(
      DamagedFile,
      s"$file: $what cannot be decoded: the file is damaged, or Spark's vectorized reader does not take the way in which its " +
        "writer, for example Impala, encodes it. Set spark.sql.parquet.enableVectorizedReader=false, which reads more. If " +
        "that fails as well, restore the file from its source.",
      cause
    )

  /** @param why in parquet-java's words */
  def notWritten(where: String, why: String, cause: Throwable): PmeException =
    refused(
      where,
      s"parquet-java cannot write this file: $why",
      if (why.contains("pages per chunk"))
        "Write larger pages (raise parquet.page.size and parquet.page.row.count.limit) or smaller row groups (lower " +
          "parquet.block.size)."
      else if (why.contains("row groups"))
        "Write larger row groups (raise parquet.block.size), or more files (df.repartition, maxRecordsPerFile)."
      else "Change the column, or the setting parquet.… of this write, that the message names.",
      cause
    )

  /** V2 pages as Arrow writes them, in a reader of parquet-java's. */
  def levelsInside(file: String, column: String): PmeException =
    refused(
      s"$file, column '$column'",
      "reader=spark cannot read it: its V2 data pages have their levels inside the ciphertext, as PyArrow writes them, and " +
        "Spark's own reader expects them outside",
      "Set reader=pages, or remove the option."
    )

  /** @param names of the summary files */
  def summaryFilesAlone(directory: String, names: Seq[String]): PmeException =
    fail(
      PlaintextFile,
      s"$directory: the schema is not known. The directory has only summary files (${listed(names)}), which are never " +
        "encrypted, so anybody may have written them. Restore the data files, give a schema, or set " +
        "plaintextFiles=allow to take the schema from summary files."
    )

  /**
   * A part of a file that this version does not know.
   *
   * @param part of its footer
   */
  def unknownPart(file: String, part: String, why: String): PmeException =
    refused(
      file,
      s"its footer has $part, which this version does not know and cannot write: $why",
      "Use a later version, or have the file written without it."
    )

  /** @param key of an entry in the key-value metadata, as its author wrote it */
  def readableEntry(file: String, key: String): PmeException =
    refused(
      file,
      "plaintextFooter=true is not supported for this file: everybody could read the entry " +
        s"'${key.take(FileErrors.MaxKeyChars)}' of its key-value metadata, which may reveal values",
      "Use plaintextFooter=false, or have the file written without the entry."
    )
}

private object FileErrors {
  private val MaxKeyChars = 100
}
