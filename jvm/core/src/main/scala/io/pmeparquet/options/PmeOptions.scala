package io.pmeparquet.options

import io.pmeparquet.columns.UnlistedColumns
import io.pmeparquet.options.Use.{Both, Read, Write}

/** Every option of `format("pme-parquet")`. */
object PmeOptions extends KmsOptions with SnapshotOptions with OrcOptions with PolicyOptions {
  private val truth = Seq("false", "true")

  val FooterKey = OptionSpec(
    "footerKey",
    Both,
    "Master key of the footer, and of columns that no other key protects. On read with `columnKeys`: the key that " +
      "footers must have. It is also the key of files without key metadata, if the options of the read itself set it with " +
      "`keyManagement=direct`, or with neither `columnKeys` nor `keyManagement`. It may be a template over columns, " +
      "as `t-{tenant}` or `t-{tenant:bucket(64)}`: each file has the key of its partition, or of its rows.",
    "Whoever has it reads schema and row counts, and all columns without a key of their own. Its name is " +
      "readable in each file.",
    parquetName = Some("footer.key"),
    ofTable = OfTable.Yes
  )
  val ColumnKeys = OptionSpec(
    "columnKeys",
    Both,
    "Master keys of columns: `key: col, col.*; key2: col`, or JSON `{\"key\": [\"col\"]}`. A struct, list or map name " +
      "covers its leaves; `*` matches within one name; backticks quote names with special characters. On write, a name that " +
      "matches no column is an error. On read, a file is refused unless each column has the key that is named for it, and " +
      "all other columns have what `unlistedColumns` requires. Keys may be templates over columns, as in `footerKey`.",
    "Each master key costs calls of the KMS (`doubleWrapping`). With `plaintextFooter` or external key " +
      "material, the names of keys are readable.",
    parquetName = Some("column.keys"),
    ofTable = OfTable.Yes
  )
  val UniformKey = OptionSpec(
    "uniformKey",
    Both,
    "One master key for footer and all columns, instead of `footerKey` and `columnKeys`. On read: files in which anything " +
      "has another key are refused. Like `footerKey`, it also names the key of files without key metadata.",
    "Whoever has it reads everything. Its name is readable in each file.",
    parquetName = Some("uniform.key"),
    ofTable = OfTable.Yes
  )
  val Unlisted = OptionSpec(
    "unlistedColumns",
    Both,
    "What happens to columns that `columnKeys` does not name: they get the footer's key, they stay plaintext, or the write " +
      "fails. On read with `columnKeys`: what these columns must have. With parquet-java's `column.keys`, parquet-java's " +
      "default applies: plaintext, unless `complete.columns` is true.",
    "`plaintext` leaves the values of these columns readable.",
    values = UnlistedColumns.all.map(_.optionValue),
    parquetName = Some("complete.columns"),
    ofTable = OfTable.UnlessSessionSays
  )
  val Algorithm = OptionSpec(
    "algorithm",
    Both,
    "On write: the algorithm. On read: `AES_GCM_V1` refuses files with `AES_GCM_CTR_V1`; `AES_GCM_CTR_V1` accepts both.",
    "With `AES_GCM_CTR_V1`, changed pages are not noticed.",
    values = Seq("AES_GCM_V1", "AES_GCM_CTR_V1"),
    parquetName = Some("algorithm"),
    ofTable = OfTable.UnlessSessionSays
  )
  val PlaintextFooter = OptionSpec(
    "plaintextFooter",
    Write,
    "Sign the footer instead of encrypting it, so that readers without keys can read unencrypted columns.",
    "Schema, row counts and names of keys are readable by everybody.",
    values = truth,
    parquetName = Some("plaintext.footer"),
    ofTable = OfTable.UnlessSessionSays
  )
  val DataKeyBits = OptionSpec(
    "dataKeyBits",
    Write,
    "Length of data keys.",
    "Longer ones take more time: AES has 10, 12 or 14 rounds.",
    values = Seq("128", "192", "256"),
    parquetName = Some("data.key.length.bits"),
    ofTable = OfTable.Yes
  )
  val KekBits = OptionSpec(
    "kekBits",
    Write,
    "Length of key-encryption keys.",
    OptionSpec.NoEffect,
    values = Seq("128", "192", "256"),
    parquetName = Some("kek.length.bits"),
    ofTable = OfTable.Yes
  )
  val DoubleWrapping = OptionSpec(
    "doubleWrapping",
    Write,
    "`true`: a key-encryption key wraps data keys, and the master key wraps it, so the KMS is called once per master " +
      "key. `false`: the master key wraps each data key.",
    "`true`: one call of the KMS for each master key, and key-encryption keys stay in memory for " +
      "`parquet.encryption.cache.lifetime.seconds`. `false`: one call for each data key.",
    values = Seq("true", "false"),
    parquetName = Some("double.wrapping"),
    ofTable = OfTable.Yes
  )
  val KeyMaterial = OptionSpec(
    "keyMaterial",
    Write,
    "Where wrapped keys are stored. `internal`: in the file. `external`: in `_KEY_MATERIAL_FOR_<file>.json` in the same " +
      "directory.",
    "`external`: names of keys are readable, and each file has a second one that must not be lost.",
    values = Seq("internal", "external"),
    parquetName = Some("key.material.store.internally"),
    ofTable = OfTable.Yes
  )
  val KeyManagement = OptionSpec(
    "keyManagement",
    Both,
    "`envelope`: each file gets new data keys, which master keys wrap. `direct` (keystore and static only): the named " +
      "key is the data key. On read, `direct` reads both kinds of files; `envelope` refuses a file that names a master " +
      "key as its data key. For files without key metadata see `footerKey`.",
    "`direct`: one key encrypts many files. Who had it once reads them forever; a new key needs new " +
      "files.",
    values = Seq("envelope", "direct")
  )
  val AadPrefix = OptionSpec(
    "aadPrefix",
    Both,
    "AAD prefix, which binds files to a place: text, or a template of `{table}`, `{path}`, `{partition}`, `{file}`. On " +
      "read: the prefix that files must have.",
    "Where a read names a prefix, a file with another one is refused, also if it was moved on purpose.",
    ofTable = OfTable.Yes
  )
  // Not of a table's definition: its author would make keys with the credentials of whoever writes.
  val CreateKeys = OptionSpec(
    "createKeys",
    Write,
    "Whether a write makes the keys that its templates name, such as `t-{tenant}`, and that the KMS does not have. They " +
      "are made before the write changes anything. Keys of plain names are not made. For a keystore in a local file, Vault, " +
      "and the KMSs of clouds.",
    "With `true`, a misspelt value of a partition gets a key of its own.",
    values = Seq("false", "true")
  )
  val StoreAadPrefix = OptionSpec(
    "storeAadPrefix",
    Write,
    "`true`: the file contains the prefix. `false`: readers must set `aadPrefix`.",
    "`true`: the prefix is readable in each file. `false`: without the prefix, files cannot be read.",
    values = Seq("true", "false"),
    ofTable = OfTable.Yes
  )
  val PlaintextFiles = OptionSpec(
    "plaintextFiles",
    Read,
    "Whether files without encryption are an error or are read.",
    "With `allow`, a file that somebody replaced by a plaintext one is read.",
    values = Seq("error", "allow"),
    ofTable = OfTable.UnlessSessionSays
  )
  val ClearLevels = OptionSpec(
    "clearLevels",
    Read,
    "Whether to read V2 data pages whose repetition and definition levels are outside the ciphertext, as parquet-java " +
      "writes them.",
    "With `allow`, changed NULLs and list lengths in such pages are not noticed.",
    values = Seq("error", "allow"),
    ofTable = OfTable.UnlessSessionSays
  )
  val DeniedColumns = OptionSpec(
    "deniedColumns",
    Read,
    "What happens to a selected column if the KMS refuses its key to this reader (`PME_KEY_DENIED`), or has destroyed it " +
      "(`PME_KEY_DESTROYED`). `error`: the query fails. `null`: the column reads as NULL. `drop`: it is left out of an " +
      "inferred schema, and reads as NULL elsewhere. Not with `reader=spark`.",
    "With `null` and `drop`, a query returns NULL where the table has values.",
    values = Seq("error", "null", "drop"),
    ofTable = OfTable.UnlessSessionSays
  )
  // Not of a table's definition: its author does not know which keystore a reader was given.
  val MissingKeys = OptionSpec(
    "missingKeys",
    Read,
    "What happens to a selected column if the KMS does not have its key (`PME_KEY_NOT_FOUND`), as a keystore that was made " +
      "for this reader, or has destroyed it. The values mean what they mean for `deniedColumns`. The key of a footer must " +
      "be there.",
    "With `null` and `drop`, a query returns NULL where the table has values.",
    values = Seq("error", "null", "drop")
  )
  // Not of a table's definition: its author would decide which rows a reader misses.
  val DeniedFiles = OptionSpec(
    "deniedFiles",
    Read,
    "What happens to a file if the KMS refuses the key of its footer to this reader (`PME_KEY_DENIED`), or has destroyed " +
      "it (`PME_KEY_DESTROYED`; with `missingKeys=null` or `drop` also `PME_KEY_NOT_FOUND`). `error`: the query fails. " +
      "`skip`: it is left out. A warning " +
      "and `pme.query_stats` say how many files were. Not with `reader=spark`, and not for copies, rotation or `verify`.",
    "With `skip`, a query returns fewer rows to readers with fewer keys.",
    values = Seq("error", "skip")
  )
  val DeniedPredicates = OptionSpec(
    "deniedPredicates",
    Read,
    "What happens to conditions on a column that reads as NULL because its key was refused. `error`: the query fails. " +
      "`null`: they see NULL.",
    "With `null`, a query returns other rows to readers with fewer keys.",
    values = Seq("error", "null"),
    ofTable = OfTable.UnlessSessionSays
  )
  val Reader = OptionSpec(
    "reader",
    Read,
    "`pages`: the page pipeline of pme-parquet, which checks every length in a file before using it. `spark`: Spark's own " +
      "readers, after a first pass over each column chunk that checks its lengths. `auto` uses `pages`. If `pages` does " +
      "not work with a modified Spark, `spark` is used, and a warning gives the reason.",
    "`spark` reads each column chunk twice.",
    isStable = false,
    values = Seq("auto", "pages", "spark"),
    ofTable = OfTable.Yes
  )
  val Scan = OptionSpec(
    "scan",
    Read,
    "The Spark read path. `auto` uses `v1`, which supports `_metadata`, dynamic partition pruning and bucketed joins. It " +
      "uses `v2` for aggregates that footers can answer if `spark.sql.parquet.aggregatePushdown` is true.",
    "`v2` has no `_metadata`, dynamic partition pruning or bucketed joins.",
    isStable = false,
    values = Seq("auto", "v2", "v1"),
    ofTable = OfTable.Yes
  )
  val CryptoProvider = OptionSpec(
    "cryptoProvider",
    Both,
    "Name of the JCE provider that writes encrypt and `reader=pages` decrypts with. It must be installed or on the class " +
      "path, and must pass a self-test. `auto` uses Amazon's if it is on the class path, else the JVM's own. " +
      "`reader=spark` and writes by `parquet.crypto.factory.class` use the first provider of the JVM; such a write that " +
      "names another is refused.",
    "The provider sees keys and values. Speed depends on it.",
    default = Some("auto")
  )

  val TrustedTables = OptionSpec(
    "trustedTables",
    Both,
    "Session setting only: the tables, as `catalog.database.table` separated by commas, whose stored options may name a " +
      "KMS, addresses, credentials, files and classes. Stored options of other tables may do so only if the session sets " +
      "the same values.",
    "The authors of these tables choose where credentials of the session go, and which code runs."
  )

  val DeltaPredicates = OptionSpec(
    "deltaPredicates",
    Write,
    "Session setting only: what the log of a Delta table with keys has of texts. Delta writes conditions and " +
      "`userMetadata` into its log. `redact`: the log has `redacted_by_pme_parquet()` instead. `allow`: it has the texts; " +
      "constraints and defaults of protected columns are not refused either.",
    "With `allow`, values in conditions are readable in the log.",
    isStable = false,
    values = Seq("redact", "allow")
  )

  val DeltaProperties = OptionSpec(
    "deltaProperties",
    Write,
    "Session setting only, with `PmeExtensions`: names of properties that a Delta table may have besides Delta's and those of " +
      "its keys, separated by commas; `team.*` allows all that begin with `team.`. Delta adds a table's properties to the " +
      "Hadoop configuration of its writes, so list only names that no component of the session reads. Names that begin with " +
      "`parquet.` or `pme-parquet.` stay refused.",
    "The authors of Delta tables set these names in the Hadoop configuration of writes.",
    isStable = false
  )

  // Options of parquet-java without a name of ours.
  val InstanceId =
    OptionSpec(
      "parquet.encryption.kms.instance.id",
      Both,
      "Passed to a KMS class.",
      OptionSpec.NoEffect,
      default = Some("DEFAULT")
    )
  val InstanceUrl =
    OptionSpec(
      "parquet.encryption.kms.instance.url",
      Both,
      "Passed to a KMS class.",
      "The class may send keys and credentials there.",
      default = Some("DEFAULT")
    )
  val AccessToken = OptionSpec(
    "parquet.encryption.key.access.token",
    Both,
    "Passed to a KMS class. As an option it must be a reference to a secret. In the Hadoop configuration it may be the " +
      "token itself, as in parquet-java.",
    "In the Hadoop configuration, the token is readable by whoever reads that.",
    default = Some("DEFAULT"),
    secret = true
  )
  val CacheLifetime = OptionSpec(
    "parquet.encryption.cache.lifetime.seconds",
    Both,
    "How many seconds an unwrapped key-encryption key is used before the KMS is called again.",
    "A revoked key works this long where it is in memory. A shorter time costs more calls of the KMS.",
    default = Some("600")
  )

  val all: Seq[OptionSpec] =
    kmsOptions ++ auditOptions ++ snapshotOptions ++ orcOptions ++ policyOptions ++ Seq(
      FooterKey,
      ColumnKeys,
      UniformKey,
      Unlisted,
      Algorithm,
      PlaintextFooter,
      DataKeyBits,
      KekBits,
      DoubleWrapping,
      KeyMaterial,
      KeyManagement,
      AadPrefix,
      CreateKeys,
      StoreAadPrefix,
      PlaintextFiles,
      ClearLevels,
      DeniedColumns,
      MissingKeys,
      DeniedFiles,
      DeniedPredicates,
      Reader,
      Scan,
      CryptoProvider,
      TrustedTables,
      DeltaPredicates,
      DeltaProperties,
      InstanceId,
      InstanceUrl,
      AccessToken,
      CacheLifetime
    )

  /** What only Spark's source does, and parquet-java does not with keys of this format. */
  private[pmeparquet] val ofSparkOnly: Seq[OptionSpec] =
    snapshotOptions ++ orcOptions ++ policyOptions ++ Seq(
      CreateKeys,
      DeniedColumns,
      MissingKeys,
      DeniedFiles,
      DeniedPredicates,
      Reader,
      Scan,
      TrustedTables,
      DeltaPredicates,
      DeltaProperties
    )

  val ParquetPrefix = "parquet.encryption."

  /** Before names of ours in a Hadoop configuration, for our crypto factory alone. */
  val FactoryPrefix = "pme-parquet."
}
