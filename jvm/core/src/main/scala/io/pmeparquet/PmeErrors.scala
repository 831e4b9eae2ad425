package io.pmeparquet

import io.pmeparquet.Condition._

/**
 * The texts of all failures: ''where: what, because why. What to do.'' No text holds a key, a secret or a tag.
 */
object PmeErrors {
  private def fail(condition: Condition, problem: String, cause: Throwable = null) =
    new PmeException(condition, problem, cause)

  // ---- options

  def badOption(option: String, value: String, allowed: String): PmeException =
    fail(BadOption, s"option $option: '$value' is not a value it can have. Use $allowed.")

  def contradiction(options: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"options $options: they cannot be used so, because $why. $remedy")

  /**
   * @param table its full name, where it is known which one it is
   * @param setting of the session or the Hadoop configuration
   */
  def storedOption(option: String, table: Option[String], setting: String): PmeException = {
    val where = table.fold("a stored table or view")(name => s"table $name")
    val trusted = table.fold("")(name =>
      s"; or, if you trust its author, set spark.datasource.pme-parquet.trustedTables to $name"
    )
    fail(
      BadOption,
      s"option $option: it comes from the definition of $where, and the session does not say the same; its author must " +
        "not choose where credentials of readers go, what code runs, or what is accepted. " +
        s"Set $setting to that value in the session$trusted."
    )
  }

  def missingOption(option: String, why: String): PmeException =
    fail(BadOption, s"option $option: it is not set, because $why it is needed. Set $option.")

  def unknownOption(where: String, name: String, nearest: String): PmeException =
    fail(
      UnknownOption,
      s"$where '$name': there is no such option, and a misspelt one could leave data unprotected. " +
        s"Did you mean '$nearest'?"
    )

  /** Of a function in SQL; the value is not told, since it may be an option's. */
  def badArgument(function: String, argument: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$function: argument $argument cannot be used, because $why. $remedy")

  def unknownArgument(function: String, name: String, nearest: String, all: Seq[String]): PmeException =
    fail(
      UnknownOption,
      s"$function: there is no argument '$name'. Did you mean '$nearest'? There are ${listed(all)}."
    )

  def secretInOption(option: String): PmeException =
    fail(
      SecretInOption,
      s"option $option: it holds a value where a reference to a secret is expected, because Spark shows option " +
        "values in plans and catalogs. Use env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS."
    )

  def secretNotFound(option: String, reference: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KmsUnavailable,
      s"option $option: the secret '$reference' cannot be had on the driver, because $why. " +
        "Set it before Spark starts, or correct the reference.",
      cause
    )

  def unsupported(
      where: String,
      what: String,
      why: String,
      remedy: String,
      cause: Throwable = null
  ): PmeException = fail(Unsupported, s"$where: $what is not supported, because $why. $remedy", cause)

  /** Of a write that would leave in plaintext what options of ours were to protect. */
  def optionsOfOurs(options: Seq[String], format: String): PmeException =
    fail(
      BadOption,
      s"write: options of pme-parquet (${listed(options)}) reached the format '$format', which does not know them; the " +
        "data would be left in plaintext. Write with format(\"pme-parquet\"), in Python with pme.write, or leave these " +
        "options out."
    )

  /** The same of a read, which is no error: a warning. */
  def optionsOfOursOnRead(options: Seq[String], format: String): String =
    s"read: options of pme-parquet (${listed(options)}) reached the format '$format', which does not know them: what it " +
      "reads was not authenticated. Read with format(\"pme-parquet\"), in Python with pme.read, or leave these options out."

  // ---- which column gets which key

  def noKey: PmeException =
    fail(
      NoKey,
      "write: no key is named, because neither footerKey nor uniformKey is set; the data would be left in " +
        "plaintext. Set footerKey (with columnKeys) or uniformKey, or write with format(\"parquet\")."
    )

  def noFooterKey: PmeException =
    fail(
      NoKey,
      "write: columnKeys names keys for columns but none for the footer, because footerKey is not set. " +
        "Set footerKey."
    )

  def unknownColumn(pattern: String, candidates: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"option columnKeys: '$pattern' matches no column, so nothing would be protected by it. " +
        s"The columns are: ${listed(candidates)}."
    )

  /** @param key in whose place a column is named */
  def reversedColumnKeys(key: String, pattern: String, candidates: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"option columnKeys: '$pattern' matches no column, and '$key', which stands where a master key is named, is one. " +
        "It looks as if columnKeys were the wrong way round: it maps a key to its columns. If the key of column " +
        s"'$key' is '$pattern', write '$pattern: $key', in Python column_keys={'$pattern': ['$key']}. " +
        s"The columns are: ${listed(candidates)}."
    )

  def partitionColumn(pattern: String, column: String): PmeException =
    fail(
      Unsupported,
      s"option columnKeys: '$pattern' takes in column '$column', which cannot be protected, because the data is " +
        "partitioned by it and its values stand readable in the names of directories. " +
        s"Leave '$column' out of partitionBy, or name the other columns without a wildcard."
    )

  def twoKeys(column: String, first: String, second: String): PmeException =
    fail(
      BadOption,
      s"option columnKeys: column '$column' is given two keys, '$first' and '$second'. Name it once."
    )

  def unlisted(columns: Seq[String]): PmeException =
    fail(
      UnknownColumn,
      s"option unlistedColumns: no key is named for ${listed(columns)}, because unlistedColumns=error. " +
        "Name them in columnKeys, or set unlistedColumns to footerKey or plaintext."
    )

  def badColumnKeys(text: String, position: Int, why: String): PmeException =
    fail(
      BadOption,
      s"option columnKeys: cannot be read at character $position, because $why. " +
        "Write 'key: column, column; key2: column' or JSON {\"key\": [\"column\"]}."
    )

  // ---- keys

  def keyNotFound(where: String, key: String, kms: String, cause: Throwable = null): PmeException =
    keyUnusable(where, key, s"$kms does not have it", cause)

  def keyUnusable(where: String, key: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KeyNotFound,
      s"$where: master key '$key' cannot be used, because $why. " +
        "Create the key or correct its id; on read, use the KMS the data was written with.",
      cause
    )

  def keyDenied(where: String, key: String, kms: String, cause: Throwable): PmeException =
    fail(
      KeyDenied,
      s"$where: master key '$key' was refused by $kms, because this user may not use it. " +
        "Ask for access, or leave out the columns it protects.",
      cause
    )

  /** @param denied what the KMS said of the column's key, if that is at hand */
  def deniedInCondition(where: String, key: String, denied: PmeException): PmeException =
    fail(
      KeyDenied,
      s"$where: a condition of this query looks at it and would see NULL in place of every value, because its master " +
        s"key '$key' was refused. Leave the column out of filters, joins, groups and generators, of DISTINCT, CASE and " +
        "functions that Spark cannot see into, or set deniedPredicates=null.",
      denied
    )

  def kmsUnavailable(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KmsUnavailable,
      s"$where: the KMS cannot be used, because $why. Check address, path, password and network.",
      cause
    )

  def keyOfWrongSize(where: String, bits: Int): PmeException =
    fail(
      KeyMetadata,
      s"$where: the key is $bits bits long, because it is no AES key. AES keys have 128, 192 or 256 bits."
    )

  def wrappedKeyNotAuthentic(where: String, key: String, cause: Throwable = null): PmeException =
    wrappedKeyRefused(
      where,
      key,
      "its tag does not match: either the key of that name is another one than the writer's, or the key material was " +
        "altered; AES-GCM cannot tell which",
      cause
    )

  def wrappedKeyRefused(where: String, key: String, why: String, cause: Throwable): PmeException =
    fail(
      NotAuthentic,
      s"$where: a key wrapped with '$key' does not open, because $why. Check that the KMS is the writer's.",
      cause
    )

  def keyMetadata(where: String, why: String, cause: Throwable = null): PmeException =
    fail(
      KeyMetadata,
      s"$where: its key metadata cannot be used, because $why. " +
        "Check how the file was written, and that its key material is whole.",
      cause
    )

  /** @param by the option that asks */
  def otherProtection(where: String, found: String, by: String, asked: String): PmeException =
    fail(
      KeyMetadata,
      s"$where: it is $found, where $by asks for $asked. Find out who wrote this file, and do not trust its rows " +
        "before that; if the file is right, correct columnKeys, unlistedColumns and footerKey (or uniformKey) of this read."
    )

  def columnsByNumber(setting: String): PmeException = unsupported(
    "columnKeys",
    "binding columns to keys where columns are read by field id",
    s"columnKeys and uniformKey go by the names in the files, and $setting is true",
    s"Set $setting to false, or leave columnKeys out of the read."
  )

  def noKeyMetadata(where: String): PmeException =
    fail(
      NoKey,
      s"$where: no key is known for it, because the file carries no key metadata. " +
        "Name the key with footerKey or uniformKey in the options of this read, and set keyManagement=direct."
    )

  /** Of a file that asks for a master key itself, or of who asks in its name. */
  def directKeyRefused(where: String, key: String): PmeException =
    fail(
      KeyMetadata,
      s"$where: it says that key '$key' is the data key itself, and this read gives no master key out, because " +
        "keyManagement is not direct. Find out who wrote the file; set keyManagement=direct if the table was written so."
    )

  /** Of a request that no read and no write of ours makes. */
  def keyRequestRefused(where: String, what: String): PmeException =
    fail(
      KeyDenied,
      s"$where: the driver refused $what, because this read or write has no use for that. " +
        "Look who reaches the driver's port."
    )

  // ---- files

  def nothingThere(path: String): PmeException =
    fail(BadOption, s"$path: nothing was done, because there is nothing at this path. Check the path.")

  /** Of an operation that copies a table. */
  def badTarget(target: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$target: the copy cannot be written there, because $why. $remedy")

  def badSource(source: String, why: String, remedy: String): PmeException =
    fail(BadOption, s"$source: the table cannot be copied or changed, because $why. $remedy")

  /** @param why a sentence */
  def badCopy(source: String, condition: Condition, why: String): PmeException =
    fail(
      condition,
      s"$source: what was written of it does not open as it should, because $why Run this again; if it fails again, " +
        "look at the storage that it is written to."
    )

  def plaintextFile(file: String): PmeException =
    fail(
      PlaintextFile,
      s"$file: the file is not encrypted, and plaintextFiles=error. " +
        "Find out who wrote it; set plaintextFiles=allow if such files are expected."
    )

  /**
   * What verification finds of a column that other files have encrypted.
   *
   * @param files in which it is readable; one at least
   */
  def readableColumn(files: Seq[String], column: String, encryptedIn: Int): PmeException = {
    def number(count: Int) = if (count == 1) "1 file" else s"$count files"
    val others = files.tail.take(NamesOfFiles - 1)
    val named =
      if (others.isEmpty) ""
      else others.mkString(" (also ", ", ", if (files.size > NamesOfFiles) ", …)" else ")")
    fail(
      PlaintextFile,
      s"${files.head}, column '$column': it is not encrypted in ${number(files.size)}$named, and is encrypted in " +
        s"${number(encryptedIn)} of the table. Find out who wrote it so; encrypt it with pme.rekey, whose keys name it."
    )
  }

  private val NamesOfFiles = 3

  def algorithm(file: String, found: String, accepted: String): PmeException =
    fail(
      Algorithm,
      s"$file: it says $found, but this reader accepts $accepted only, because pages under $found are not " +
        s"authenticated. Set algorithm=$found to accept that."
    )

  def aadPrefix(file: String, why: String): PmeException =
    fail(
      AadPrefix,
      s"$file: its AAD prefix is not the expected one, because $why. " +
        "Set aadPrefix to the writer's; if it is right, this is not the file you asked for."
    )

  def aadPrefixLength(where: String, template: String, bytes: Int, unfit: Seq[Int]): PmeException =
    fail(
      BadOption,
      s"option aadPrefix: '$template' cannot be used for $where, because there it is $bytes bytes long, and in a file " +
        s"with a prefix of ${unfit.mkString(", ")} bytes and doubleWrapping=false a page could be passed off as a " +
        "wrapped key. Use another prefix, or doubleWrapping=true."
    )

  /** Of a file that no writer of ours makes, and that none should. */
  def aadPrefixOfSingleWrapping(where: String, bytes: Int): PmeException =
    fail(
      AadPrefix,
      s"$where: its key was wrapped with doubleWrapping=false and its AAD prefix is $bytes bytes long, and this is " +
        "refused, because with both a wrapped key could be passed off as a page. Have the file written again, with " +
        "another prefix or with doubleWrapping=true."
    )

  /** Of a file that says itself what its prefix is. */
  def unprovenPrefix(file: String): PmeException =
    aadPrefix(
      file,
      "the file keeps one that this reader does not name, and no protected column that this reader has the key of shows " +
        "that the file has it"
    )

  def changedMeanwhile(file: String): PmeException =
    unsupported(
      file,
      "replacing this file",
      "somebody wrote it, or its key material, since it was looked at",
      "Run this again."
    )

  def changedSinceListed(file: String): PmeException =
    unsupported(
      file,
      "reading a part of this file",
      "the file was replaced after this query was planned, and its parts lie elsewhere now",
      "Run the query again, with the table loaded anew; REFRESH TABLE does that for one of the catalog."
    )

  def rotationUnderWay(table: String, mark: String): PmeException =
    unsupported(
      table,
      "rotating this table now",
      "a rotation with other arguments was begun there and has not ended",
      s"Run that one again to its end; or, if it no longer runs and is not wanted any more, delete $mark."
    )

  /** @param mark of what was begun there, above it or below it */
  def otherUnderWay(table: String, mark: String): PmeException = unsupported(
    table,
    "changing this table's files now",
    s"an encryption in place or a rotation was begun and has not ended, as $mark tells",
    "Run that one again to its end; or, if it no longer runs and is not wanted any more, delete what tells of it."
  )

  // ---- rotation

  /**
   * @param unused master keys that keys are to be taken from
   * @param met those that keys are under
   * @param unknown how many files failed before it was known what their keys are under, and why the first of them did
   */
  def unusedMasterKeys(
      table: String,
      unused: Seq[String],
      met: Seq[String],
      unknown: Option[(Int, String)] = None
  ): PmeException = {
    val which = if (unknown.isEmpty) "no file there" else "no file that could be looked at"
    fail(
      BadOption,
      s"$table: keys under ${unused.map(id => s"'$id'").mkString(", ")} cannot be rotated, because $which has one: " +
        s"its keys are under ${if (met.isEmpty) "no master key" else listed(met)}. " +
        unknown.fold("") { case (count, why) =>
          s"Files that could not be looked at: $count; of the first: $why "
        } +
        "Nothing was changed. Check the spelling; if a name that is met nowhere is right, say so with allow_unused."
    )
  }

  // ---- parts of files that this version does not know

  /** @param part of its footer */
  def unknownPart(file: String, part: String, why: String): PmeException = unsupported(
    file,
    "writing this footer anew",
    s"it has $part, which this version does not know: $why",
    "Use a later version, or have the file written by a writer that leaves this out."
  )

  /** @param key of an entry in the key-value metadata, as its author named it */
  def readableEntry(file: String, key: String): PmeException = unsupported(
    file,
    "plaintextFooter=true for this file",
    s"its key-value metadata has the entry '${key.take(MaxKeyChars)}', which everybody could read and which may tell of values",
    "Use plaintextFooter=false, or have the file written without the entry."
  )

  // ---- files of our own

  /** A place that nobody but this run should know of, or that is its own by name. */
  def placeTaken(path: String, cause: Throwable = null): PmeException = unsupported(
    path,
    "making this file or directory",
    "there is something in its place already, or a link that leads elsewhere",
    "Find out who put it there; take it away, and run this again.",
    cause
  )

  def planted(path: String): PmeException = unsupported(
    path,
    "going on with what this name stands for",
    "it is no file or directory that this connector made, but a link or something else of that name",
    "Find out who put it there; take it away, and run this again."
  )

  def linkedDirectory(table: String, directory: String): PmeException = unsupported(
    table,
    "changing the files of this table",
    s"$directory is a symbolic link, and files of another place would be changed",
    "Take the link away, or name the directory that it leads to."
  )

  /** Of one attempt of a task. */
  def copyIsOver(target: String): PmeException = unsupported(
    target,
    "writing more of this copy",
    "its run was ended, or another copy came to this target first",
    "Check what is at the target; run this again if it is not there."
  )

  // ---- encryption in place

  def bothInPlace(option: String): PmeException = fail(
    BadOption,
    s"option $option: it cannot be given to read the table with, because in place the files would be written with it, too. " +
      "Give it with the keys of the write, if they are to have it, or encrypt to a copy."
  )

  /** @param differing options: what it was begun with, and what is asked for now */
  def encryptionUnderWay(
      table: String,
      manifest: String,
      differing: Seq[(String, String, String)]
  ): PmeException = unsupported(
    table,
    "encrypting this table in place with other settings",
    "it was begun and has not ended with " +
      differing.map { case (name, before, now) => s"$name '$before', where now it is '$now'" }.mkString(", "),
    "Run it again with the first ones to its end, and pme.rekey to a copy after that; or, if it cannot come to an end, " +
      s"delete $manifest, which says what they were."
  )

  def badManifest(file: String, why: String): PmeException = unsupported(
    file,
    "going on with this encryption in place",
    s"it does not say how it was begun: $why",
    "Find out who wrote it; delete it, and run this again with the settings of the first run."
  )

  def claimedBefore(file: String): PmeException = unsupported(
    file,
    "putting this file in its place",
    "another attempt of this run began to do so, and failed or has not ended",
    "Run this again."
  )

  def addedMeanwhile(file: String): PmeException = unsupported(
    file,
    "encrypting this file in place",
    "it was added after the files were listed",
    "Run this again when nobody writes the table."
  )

  def runIsOver(table: String, cause: Throwable = null): PmeException = unsupported(
    table,
    "putting more files in their places",
    "this run was ended, or another one has begun",
    "Run it again if no other one runs.",
    cause
  )

  def encryptedOtherwise(file: String, what: String): PmeException = unsupported(
    file,
    "encrypting this file in place",
    s"it is encrypted already, and not as asked for: $what",
    "Copy the table with pme.rekey, or name the keys that it has."
  )

  /** @param why a sentence, with the file */
  def badEncrypted(condition: Condition, why: String): PmeException = fail(condition, why)

  def damaged(file: String, why: String, cause: Throwable = null): PmeException =
    fail(
      DamagedFile,
      s"$file: it is not a whole Parquet file, because $why. Restore it from its source.",
      cause
    )

  def notAuthentic(file: String, what: String, cause: Throwable = null): PmeException =
    fail(
      NotAuthentic,
      s"$file: $what does not open, because an authentication tag does not match: wrong key, other AAD prefix, or " +
        "data that was altered; AES-GCM cannot tell which. Check keys and aadPrefix; if they are the writer's, " +
        "restore the file.",
      cause
    )

  def clearLevels(file: String, column: String): PmeException =
    fail(
      Unsupported,
      s"$file: column '$column' has V2 data pages, whose repetition and definition levels lie outside the " +
        "ciphertext and are neither secret nor authenticated. Set clearLevels=allow to read them."
    )

  /** V2 pages as Arrow writes them, met by a reader of parquet-java's. */
  def levelsInside(file: String, column: String): PmeException =
    unsupported(
      s"$file, column '$column'",
      "reader=spark",
      "the column has V2 data pages with their levels inside the ciphertext, as PyArrow writes them, and Spark's own " +
        "reader looks for them outside",
      "Set reader=pages, or leave reader out."
    )

  /** @param names of the summary files */
  def summaryFilesAlone(directory: String, names: Seq[String]): PmeException =
    fail(
      PlaintextFile,
      s"$directory: the schema is not known, because only summary files are there (${listed(names)}), which are never " +
        "encrypted, so that anybody may have written them. Restore the data files, give a schema, or set " +
        "plaintextFiles=allow to take the schema from summary files."
    )

  private def listed(names: Seq[String]): String = {
    val shown = names.take(MaxListed).mkString(", ")
    if (names.size > MaxListed) s"$shown, … (${names.size} in all)" else shown
  }

  private val MaxListed = 30
  private val MaxKeyChars = 100
}
