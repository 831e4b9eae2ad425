package io.pmeparquet

/** Delta tables, whose log everybody with the storage can read. */
private[pmeparquet] trait DeltaErrors extends ErrorTexts {

  /** @param what the commit has, and the guard does not know */
  def deltaUnknown(table: String, what: String): PmeException =
    refused(
      table,
      s"Delta's log would get something that this version of pme-parquet does not know: $what. It could show values of " +
        "protected columns",
      "If a table feature or a setting of Delta brings it, turn that off for this table. Otherwise please report it."
    )

  /** @param store the class that guards commits */
  def deltaWithoutGuard(table: String, store: String): PmeException =
    refused(
      table,
      "the table or the session names keys, and Delta does not commit to the table through the guard of its log, which " +
        "keeps values of protected columns out of it",
      s"Start the application with spark.delta.logStore.class=$store, and with io.pmeparquet.spark.PmeExtensions in its " +
        "first session."
    )

  /** @param store the class that a setting names */
  def deltaStore(store: String): PmeException =
    fail(
      Condition.BadOption,
      s"Delta's log: $store is no io.delta.storage.LogStore that this application has, so the guard of commits cannot " +
        "write through it. Correct spark.delta.logStore.*, and restart the application."
    )

  /** @param what the statement puts into the log */
  def deltaText(table: String, what: String, columns: Seq[String]): PmeException =
    refused(
      table,
      s"Delta writes $what as text into the table's log, and it names protected columns (${listed(columns)})",
      "Leave these columns out of it. If the text may be readable, set " +
        "spark.datasource.pme-parquet.deltaPredicates=allow in the session."
    )

  def deltaProperties(table: String, names: Seq[String]): PmeException =
    refused(
      table,
      s"Delta adds the table's properties to the Hadoop configuration of a write, and the properties ${listed(names)} could " +
        "choose where keys and credentials go, or which code runs",
      "Remove these properties from the table with ALTER TABLE ... UNSET TBLPROPERTIES, and set them in the session. If no " +
        "component of the session reads them, list them in spark.datasource.pme-parquet.deltaProperties."
    )

  def deltaOptions(options: Seq[String]): PmeException =
    refused(
      "Delta table",
      s"Delta does not pass options of a write (${listed(options)}) on to its files, so they would not be encrypted as asked",
      "Set these names as properties of the table, with CREATE TABLE or ALTER TABLE ... SET TBLPROPERTIES."
    )

  /** @param options of ours, which Delta does not know */
  def deltaIgnores(options: Seq[String]): PmeException =
    fail(
      Condition.BadOption,
      s"write: pme-parquet options (${listed(options)}) were passed to Delta, which ignores them; the data would be written in " +
        "plaintext. Remove these options, and name keys in properties of the table, parquet.encryption.footer.key and " +
        "parquet.encryption.column.keys, with CREATE TABLE or ALTER TABLE ... SET TBLPROPERTIES, or use " +
        "pme.delta.encrypt_table (docs/delta.md)."
    )

  def deltaPartition(table: String, columns: Seq[String]): PmeException =
    refused(
      table,
      s"Delta writes values of partition columns into the table's log and into names of directories, and keys protect " +
        s"such columns (${listed(columns)})",
      "Partition the table by other columns. If these values may be readable, name columns in " +
        "parquet.encryption.column.keys, and not these."
    )

  def deltaStatistics(table: String, columns: Seq[String]): PmeException =
    refused(
      table,
      s"the commit would put minimum and maximum of protected columns (${listed(columns)}) into the table's log",
      "Set the table's property delta.dataSkippingStatsColumns to columns that are not protected, or " +
        "delta.dataSkippingNumIndexedCols to 0, with ALTER TABLE ... SET TBLPROPERTIES. RESTORE and CLONE take the " +
        "statistics of their version: use one from after the files were rewritten."
    )

  /** @param file one of those that the commit would make part of the table */
  def deltaOldFiles(table: String, file: String): PmeException =
    refused(
      table,
      s"the commit would make files part of the table that are plaintext, though keys protect its columns: $file is one of " +
        "them",
      Rewritten
    )

  private val Rewritten =
    "To RESTORE or CLONE, use a version from after the files were rewritten. For older rows, read the version in a " +
      "session with pme-parquet.plaintextFiles=allow, and write them with INSERT OVERWRITE."

  def deltaConnector(table: String): PmeException =
    refused(
      table,
      "the table is encrypted, and Delta's connector for Delta Kernel would write its files, possibly in plaintext",
      "Set spark.databricks.delta.v2.enableMode=NONE in the session."
    )

  def deltaConversion(): PmeException =
    refused(
      "CONVERT TO DELTA",
      "Delta would read the files with the session's keys, and write minimum and maximum of their columns into the log",
      "Use CONVERT TO DELTA ... NO STATISTICS."
    )

  def deltaWithoutFactory(table: String): PmeException =
    refused(
      table,
      "the table's properties name keys, and the session has no crypto factory, so Parquet files would be plaintext",
      "Start the session with spark.hadoop.parquet.crypto.factory.class=io.pmeparquet.parquet.PmeCryptoFactory, and " +
        "configure a KMS (docs/other-engines.md)."
    )

  def deltaOtherFactory(table: String, factory: String): PmeException =
    refused(
      table,
      s"the session's crypto factory is $factory, and the table or the session names keys. With this factory, checkpoints " +
        "can be plaintext or missing, and nobody checks what Delta writes into its log",
      "Start the session with spark.hadoop.parquet.crypto.factory.class=io.pmeparquet.parquet.PmeCryptoFactory. It reads " +
        "parquet-java's settings, too (docs/other-engines.md)."
    )

  def deltaWithoutLogKey(table: String): PmeException =
    fail(
      Condition.NoKey,
      s"$table: the session names no footer key. Delta writes checkpoints with keys of the session, and not with those that " +
        "properties of the table name, so it could write no checkpoint, and would only log a warning. Set " +
        "spark.hadoop.pme-parquet.footerKey to a master key."
    )

  def deltaUnprotected(table: String): PmeException =
    refused(
      table,
      "the commit would change or drop properties that keep the table's columns encrypted",
      "To end the encryption of a table, copy its rows to another one."
    )
}
