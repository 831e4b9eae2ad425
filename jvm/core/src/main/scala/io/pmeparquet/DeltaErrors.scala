package io.pmeparquet

/** Delta tables, whose log everybody with the storage can read. */
private[pmeparquet] trait DeltaErrors extends ErrorTexts {

  /** @param command the class of Delta's command */
  def deltaPredicate(table: String, command: String, columns: Seq[String]): PmeException =
    refused(
      table,
      s"Delta writes the condition of $command as text into the table's log, and the condition compares protected columns " +
        s"(${listed(columns)}) with values, which would be readable there",
      "Put the values into a table or temporary view, and join with it in MERGE. Or set " +
        "spark.datasource.pme-parquet.deltaPredicates in the session: with redact, DELETE, UPDATE and the SQL statement " +
        "MERGE run without their text in the log; with allow, the values are readable."
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
      s"Delta would write minimum and maximum of protected columns (${listed(columns)}) into the table's log",
      "Set the table's property delta.dataSkippingStatsColumns to columns that are not protected, or " +
        "delta.dataSkippingNumIndexedCols to 0, with ALTER TABLE ... SET TBLPROPERTIES."
    )

  /** @param statement that takes an older version's files */
  def deltaOldStatistics(table: String, statement: String, columns: Seq[String]): PmeException =
    refused(
      table,
      s"$statement would write minimum and maximum of protected columns (${listed(columns)}) into the log again, which that " +
        "version has of its files",
      Rewritten
    )

  /** @param file one of those that the statement would make part of the table */
  def deltaOldFiles(table: String, statement: String, file: String): PmeException =
    refused(
      table,
      s"$statement would make files part of the table that are plaintext, or that cannot be read, though that version's " +
        s"properties name keys: $file is one of them",
      Rewritten
    )

  private val Rewritten =
    "Use a version from after its files were rewritten. For older rows, read the version in a session with " +
      "pme-parquet.plaintextFiles=allow, and write them with INSERT OVERWRITE."

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

  def deltaUnprotected(table: String, what: String): PmeException =
    refused(
      table,
      s"$what would change or drop properties that keep the table's columns encrypted and out of its log",
      "To end the encryption of a table, copy its rows to another one."
    )
}
