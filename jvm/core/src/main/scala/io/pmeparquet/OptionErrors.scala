package io.pmeparquet

import io.pmeparquet.Condition._

/** Options, arguments of SQL functions, and references to secrets. */
private[pmeparquet] trait OptionErrors extends ErrorTexts {

  /** @param allowed the allowed values, after "Use" */
  def badOption(option: String, value: String, allowed: String): PmeException =
    fail(BadOption, s"option $option: '$value' is not a valid value. Use $allowed.")

  /** @param options the names of one or more options */
  def contradiction(options: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"option${if (options.contains(' ')) "s" else ""} $options: $why. $remedy")

  /**
   * @param table its full name, if known
   * @param setting of the session or the Hadoop configuration
   */
  def storedOption(option: String, table: Option[String], setting: String): PmeException = {
    val where = table.fold("a stored table or view")(name => s"table $name")
    val trusted = table.fold("")(name =>
      s", or, if you trust the author of the table, set spark.datasource.pme-parquet.trustedTables to $name"
    )
    fail(
      BadOption,
      s"option $option: the definition of $where sets it, and the session does not set the same value. The author of a " +
        "table or view must not choose where readers send their credentials, which code runs, or what is accepted. " +
        s"Set $setting to that value in the session$trusted."
    )
  }

  /** @param when it is required, as "with kms=vault" */
  def missingOption(option: String, when: String): PmeException =
    fail(BadOption, s"option $option: it is not set, but is required $when. Set $option.")

  /** For a read or write that says nothing of a KMS. */
  def noKms: PmeException =
    fail(
      BadOption,
      "option kms.keystore.path: it is not set, and no other KMS is named, so it is not known where the master keys are. " +
        "Set kms.keystore.path=keys.p12 and kms.keystore.password=env:PME_KEYSTORE_PASSWORD, or name another KMS with kms. " +
        "In Python: kms=pme.Keystore(\"keys.p12\", password=pme.env(\"PME_KEYSTORE_PASSWORD\"))."
    )

  def unknownOption(where: String, name: String, nearest: String): PmeException =
    fail(
      UnknownOption,
      s"$where '$name': there is no such option. A misspelt option could leave data unprotected. " +
        s"Did you mean '$nearest'?"
    )

  /** For a SQL function. The message does not repeat the value, which may be that of an option. */
  def badArgument(function: String, argument: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$function: argument $argument: $why. $remedy")

  def unknownArgument(function: String, name: String, nearest: String, all: Seq[String]): PmeException =
    fail(
      UnknownOption,
      s"$function: there is no argument '$name'. Did you mean '$nearest'? The arguments are ${listed(all)}."
    )

  def secretInOption(option: String): PmeException =
    fail(
      SecretInOption,
      s"option $option: the value is not a reference to a secret. Spark shows option values in plans and catalogs, so " +
        "secrets are not accepted as values. Use env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS."
    )

  def secretNotFound(option: String, reference: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KmsUnavailable,
      s"option $option: the driver cannot read the secret '$reference': $why. " +
        "Set it before Spark starts, or correct the reference.",
      cause
    )

  def unsupported(
      where: String,
      what: String,
      why: String,
      remedy: String,
      cause: Throwable = null
  ): PmeException = refused(where, s"$what is not supported: $why", remedy, cause)

  /** For a write with our options that would leave data in plaintext. */
  def optionsOfOurs(options: Seq[String], format: String): PmeException =
    fail(
      BadOption,
      s"write: pme-parquet options (${listed(options)}) were passed to the format '$format', which ignores them; the data " +
        "would be written in plaintext. Write with format(\"pme-parquet\"), in Python with pme.write, or remove these " +
        "options."
    )

  /** The same for a read, as a warning. */
  def optionsOfOursOnRead(options: Seq[String], format: String): String =
    s"read: pme-parquet options (${listed(options)}) were passed to the format '$format', which ignores them; the data " +
      "that it reads is not authenticated. Read with format(\"pme-parquet\"), in Python with pme.read, or remove these " +
      "options."

  /** For settings of encryption that what runs does not read. */
  def factoryDoesNotFit(
      statement: String,
      settings: Seq[String],
      factory: Option[String],
      ours: String
  ): PmeException =
    fail(
      BadOption,
      s"$statement: options or settings ask for encryption (${listed(settings)}), and " +
        factory.fold("parquet.crypto.factory.class is not set")(name =>
          s"parquet.crypto.factory.class is '$name', which does not read them or cannot be loaded"
        ) +
        "; the data would be in plaintext, or not be authenticated. Set parquet.crypto.factory.class, exactly so spelt, to " +
        s"$ours, with spark.hadoop. in front only if it is before Spark starts, " +
        "use format(\"pme-parquet\"), or remove these settings."
    )

  /** For settings of encryption that do not reach the Hadoop configuration. */
  def settingsNotHeard(statement: String, settings: Seq[String], why: String, remedy: String): PmeException =
    fail(
      BadOption,
      s"$statement: options or settings ask for encryption (${listed(settings)}), and do not reach what reads or writes " +
        s"the files: $why; the data would not be protected as they say. $remedy"
    )

  def overwritesItsInput(target: String, input: String): PmeException =
    refused(
      target,
      s"this overwrite reads $input, and Spark deletes the old files before it reads them, so all rows would be lost",
      "Write to another directory, and move it into place; or replace partitions with partitionOverwriteMode=dynamic."
    )

  /** @param found the partition columns of the table's directories */
  def otherPartitions(target: String, found: Seq[String], columns: Seq[String]): PmeException = {
    def named(names: Seq[String]) = if (names.isEmpty) "no columns" else listed(names)
    refused(
      target,
      s"the files there are partitioned by ${named(found)}, and this write partitions by ${named(columns)}. Spark cannot read " +
        "both, or leaves out rows",
      if (found.isEmpty) "Write without partitionBy, or to another directory."
      else
        s"Write with partitionBy(${found.map(name => s"'$name'").mkString(", ")}), or to another directory."
    )
  }

  def streamHidesFiles(target: String): PmeException =
    refused(
      target,
      "a stream starts to write into a directory that has files and no list of a stream (_spark_metadata). Once there is a " +
        "list, Spark reads only the files that it names, and hides the others",
      "Start the stream into an empty directory, or append batches with foreachBatch."
    )

  /** For a setting of a session that somebody put into Hadoop's configuration. */
  def sessionsInHadoop(setting: String): PmeException =
    contradiction(
      setting,
      "it is in Hadoop's configuration, where nothing reads it",
      "Set it in the session, with spark.conf.set or before Spark starts, without spark.hadoop. in front."
    )

  /** For names of keys that are set to nothing, which parquet-java's own factory takes for no encryption. */
  def emptyKeys(statement: String, settings: Seq[String]): PmeException =
    fail(
      BadOption,
      s"$statement: settings ask for encryption (${listed(settings)}), and name no key; the data would be in plaintext. " +
        "Set them to names of master keys, or remove them."
    )

  /** For a write of ORC in a session whose Parquet is to be encrypted. */
  def orcInPlaintext(statement: String, settings: Seq[String]): PmeException =
    fail(
      BadOption,
      s"$statement: options or settings ask for encryption (${listed(settings)}), and ORC does not read them; the data " +
        "would be in plaintext. Write with format(\"pme-orc\") or as Parquet, set orc.encrypt, or remove these settings."
    )

  /** For properties of a table that are meant as its options. */
  def propertiesNotHeard(table: String, names: Seq[String]): PmeException =
    fail(
      BadOption,
      s"$table: its properties (${listed(names)}) look like options, and nothing reads them; the data would not be " +
        "protected as they say. Give them in OPTIONS, not in TBLPROPERTIES, or give the properties other names."
    )

  /** For a read in which Spark would skip files that are refused. */
  def skippedFiles(setting: String, where: String): PmeException =
    unsupported(
      s"option $setting",
      where,
      "Spark would silently skip a file that is altered, plaintext or refused",
      "Set it to false, or read with format(\"pme-parquet\")."
    )
}
