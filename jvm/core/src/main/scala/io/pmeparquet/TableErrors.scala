package io.pmeparquet

/** Tables of other formats, whose log or metadata says which files are part of them. */
private[pmeparquet] trait TableErrors extends ErrorTexts {

  def noDelta(table: String): PmeException =
    notKnown(
      table,
      "the session has no Delta",
      "Use a session with Delta, or in Python install the package deltalake: pip install deltalake."
    )

  /** @param why a clause without text from the log */
  def unreadableLog(table: String, why: String, cause: Throwable = null): PmeException =
    notKnown(
      table,
      why,
      "Check that the session reads the table. pme.delta.check looks at its log.",
      cause
    )

  private def notKnown(table: String, why: String, remedy: String, cause: Throwable = null) =
    refused(table, s"it is a Delta table, and which of its files are live is not known: $why", remedy, cause)

  def icebergTable(path: String): PmeException =
    refused(
      path,
      "it is part of an Iceberg table: only its manifests say which files are live, and they hold the keys of encrypted files",
      "pme.iceberg.check finds plaintext, and reading the table through Iceberg opens its files. A single file can be given " +
        "by its own path."
    )

  def hudiTable(path: String): PmeException =
    refused(
      path,
      "it is part of a Hudi table: only its timeline says which files are live",
      "Read the table through Hudi. pme.inspect shows all files, and a single file can be given by its own path."
    )

  /** @param table the directory with the logs */
  def severalLogs(path: String, table: String, logs: Seq[String]): PmeException =
    refused(
      path,
      s"$table has the logs of several tables (${listed(logs)}), so it is not known which of its files are live",
      "Remove the logs that are not the table's. A single file can be given by its own path."
    )

  /** @param version of the table's log */
  def liveFileMissing(file: String, version: Long): PmeException =
    fail(
      Condition.DamagedFile,
      s"$file: the file is live in version $version of the Delta table, and it is missing. Restore the file, or the table to a " +
        "version that does not have it."
    )

  def liveFileLength(file: String, version: Long, logged: Long, found: Long): PmeException =
    fail(
      Condition.DamagedFile,
      s"$file: the file is $found bytes long, and version $version of the Delta table says $logged. Readers that follow the log " +
        "may leave out rows. Restore the file, or write its rows again."
    )
}
