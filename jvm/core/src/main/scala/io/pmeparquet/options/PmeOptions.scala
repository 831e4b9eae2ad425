package io.pmeparquet.options

import io.pmeparquet.columns.UnlistedColumns
import io.pmeparquet.options.Use.{Both, Read, Write}

/** Every option of `format("pme-parquet")`. */
object PmeOptions extends KmsOptions {
  private val truth = Seq("false", "true")

  val FooterKey = OptionSpec(
    "footerKey",
    Both,
    "Master key of the footer, and of columns that no other key protects. On read: the key of files that carry no " +
      "key metadata, where the read's own options name it without `columnKeys` or `keyManagement`, or with " +
      "`keyManagement=direct`; with `columnKeys`, the key that footers must be under.",
    parquetName = Some("footer.key"),
    ofTable = OfTable.Yes
  )
  val ColumnKeys = OptionSpec(
    "columnKeys",
    Both,
    "Master keys of columns: `key: col, col.*; key2: col`, or JSON `{\"key\": [\"col\"]}`. A struct, list or map name " +
      "covers its leaves; `*` matches within one name; backticks quote odd names. A name that matches nothing is an " +
      "error on write. On read: each column of each file must be under the key that is named for it, and other columns " +
      "as `unlistedColumns` says, or the file is refused.",
    parquetName = Some("column.keys"),
    ofTable = OfTable.Yes
  )
  val UniformKey = OptionSpec(
    "uniformKey",
    Both,
    "One master key for footer and all columns, instead of `footerKey` and `columnKeys`. On read: files of which anything " +
      "is under another key are refused; and the key of files that carry no key metadata, as with " +
      "`footerKey`.",
    parquetName = Some("uniform.key"),
    ofTable = OfTable.Yes
  )
  val Unlisted = OptionSpec(
    "unlistedColumns",
    Both,
    "What happens to columns that `columnKeys` does not name: the footer's key, no key, an error. On read, with " +
      "`columnKeys`: what they must have. With parquet-java's `column.keys`, parquet-java's " +
      "default holds: plaintext, unless `complete.columns` is true.",
    values = UnlistedColumns.all.map(_.optionValue),
    parquetName = Some("complete.columns"),
    ofTable = OfTable.UnlessSessionSays
  )
  val Algorithm = OptionSpec(
    "algorithm",
    Both,
    "On write: the algorithm. On read: `AES_GCM_V1` refuses a file that says CTR, `AES_GCM_CTR_V1` accepts both. " +
      "Under CTR, pages are not authenticated.",
    values = Seq("AES_GCM_V1", "AES_GCM_CTR_V1"),
    parquetName = Some("algorithm"),
    ofTable = OfTable.UnlessSessionSays
  )
  val PlaintextFooter = OptionSpec(
    "plaintextFooter",
    Write,
    "Leave the footer readable, and sign it, so that readers without keys can read unencrypted columns. Schema, row " +
      "counts and key ids are then readable.",
    values = truth,
    parquetName = Some("plaintext.footer"),
    ofTable = OfTable.UnlessSessionSays
  )
  val DataKeyBits = OptionSpec(
    "dataKeyBits",
    Write,
    "Length of data keys.",
    values = Seq("128", "192", "256"),
    parquetName = Some("data.key.length.bits"),
    ofTable = OfTable.Yes
  )
  val KekBits = OptionSpec(
    "kekBits",
    Write,
    "Length of key-encryption keys.",
    values = Seq("128", "192", "256"),
    parquetName = Some("kek.length.bits"),
    ofTable = OfTable.Yes
  )
  val DoubleWrapping = OptionSpec(
    "doubleWrapping",
    Write,
    "`true`: the data key is wrapped by a key-encryption key and that by the master key, so that the KMS is called " +
      "once per master key. `false`: the master key wraps each data key.",
    values = Seq("true", "false"),
    parquetName = Some("double.wrapping"),
    ofTable = OfTable.Yes
  )
  val KeyMaterial = OptionSpec(
    "keyMaterial",
    Write,
    "`internal`: key material stands in the file. `external`: in `_KEY_MATERIAL_FOR_<file>.json` beside it.",
    values = Seq("internal", "external"),
    parquetName = Some("key.material.store.internally"),
    ofTable = OfTable.Yes
  )
  val KeyManagement = OptionSpec(
    "keyManagement",
    Both,
    "`envelope`: fresh data keys per file, wrapped under master keys. `direct` (keystore and static only): the named " +
      "key is the data key. On read: only `direct` takes a master key for a data key, and it takes wrapped keys as " +
      "well; else a file that names one is refused. Files without key metadata: see `footerKey`.",
    values = Seq("envelope", "direct")
  )
  val AadPrefix = OptionSpec(
    "aadPrefix",
    Both,
    "AAD prefix, which binds files to a place: text, or a template of `{table}`, `{path}`, `{file}`. On read: the " +
      "prefix the files must have.",
    ofTable = OfTable.Yes
  )
  val StoreAadPrefix = OptionSpec(
    "storeAadPrefix",
    Write,
    "Keep the prefix in the file, or make readers supply it.",
    values = Seq("true", "false"),
    ofTable = OfTable.Yes
  )
  val PlaintextFiles = OptionSpec(
    "plaintextFiles",
    Read,
    "What happens when a file without encryption is met.",
    values = Seq("error", "allow"),
    ofTable = OfTable.UnlessSessionSays
  )
  val ClearLevels = OptionSpec(
    "clearLevels",
    Read,
    "V2 data pages whose repetition and definition levels lie outside the ciphertext, as parquet-java writes them.",
    values = Seq("error", "allow"),
    ofTable = OfTable.UnlessSessionSays
  )
  val DeniedColumns = OptionSpec(
    "deniedColumns",
    Read,
    "A selected column whose key the KMS refuses to this reader (`PME_KEY_DENIED`, and nothing else): fail; read it as " +
      "NULL; leave it out of the schema where that is inferred, and read it as NULL elsewhere. Not with `reader=spark`.",
    values = Seq("error", "null", "drop"),
    ofTable = OfTable.UnlessSessionSays
  )
  val DeniedPredicates = OptionSpec(
    "deniedPredicates",
    Read,
    "Conditions on a column that is read as NULL because its key was refused: fail, or see NULLs.",
    values = Seq("error", "null"),
    ofTable = OfTable.UnlessSessionSays
  )
  val Reader = OptionSpec(
    "reader",
    Read,
    "`pages`: our page pipeline, in which every length that a file names is checked before it is believed. `spark`: " +
      "Spark's own readers behind our policy, which reads each column chunk once before them, to judge its lengths. " +
      "`auto` takes `pages`. Where a Spark was changed so that `pages` does not " +
      "fit it, `spark` is taken and a warning says why.",
    values = Seq("auto", "pages", "spark"),
    ofTable = OfTable.Yes
  )
  val Scan = OptionSpec(
    "scan",
    Read,
    "The Spark read path. `auto` takes `v1`, which has `_metadata`, dynamic partition pruning and bucketed joins, and " +
      "`v2` for aggregates that footers can answer, where `spark.sql.parquet.aggregatePushdown` is true.",
    values = Seq("auto", "v2", "v1"),
    ofTable = OfTable.Yes
  )
  val CryptoProvider = OptionSpec(
    "cryptoProvider",
    Both,
    "The JCE provider that `reader=pages` decrypts with, by name: installed, or on the class path. It must pass a " +
      "self-test. `auto` takes Amazon's where it is on the class path, else the JVM's own. Writes and `reader=spark` " +
      "use the provider that comes first in the JVM; a write that names another is refused.",
    default = Some("auto")
  )

  val TrustedTables = OptionSpec(
    "trustedTables",
    Both,
    "Of the session only: tables of the catalog, as `catalog.database.table`, comma-separated, whose stored options may " +
      "name a KMS, addresses, credentials, files and classes. Those of other tables may not, unless the session says the " +
      "same."
  )

  // parquet-java's options that have no name of ours. Their names are parquet-java's.
  val InstanceId =
    OptionSpec(
      "parquet.encryption.kms.instance.id",
      Both,
      "Handed to a KMS class.",
      default = Some("DEFAULT")
    )
  val InstanceUrl =
    OptionSpec(
      "parquet.encryption.kms.instance.url",
      Both,
      "Handed to a KMS class.",
      default = Some("DEFAULT")
    )
  val AccessToken = OptionSpec(
    "parquet.encryption.key.access.token",
    Both,
    "Handed to a KMS class. As an option it must be a reference to a secret; in the Hadoop configuration the token " +
      "itself may stand, as parquet-java has it.",
    default = Some("DEFAULT"),
    secret = true
  )
  val CacheLifetime = OptionSpec(
    "parquet.encryption.cache.lifetime.seconds",
    Both,
    "How long an unwrapped key-encryption key is used before the KMS is asked again.",
    default = Some("600")
  )

  val all: Seq[OptionSpec] = kmsOptions ++ Seq(
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
    StoreAadPrefix,
    PlaintextFiles,
    ClearLevels,
    DeniedColumns,
    DeniedPredicates,
    Reader,
    Scan,
    CryptoProvider,
    TrustedTables,
    InstanceId,
    InstanceUrl,
    AccessToken,
    CacheLifetime
  )

  val ParquetPrefix = "parquet.encryption."

  /** The full name of an option of ours where parquet-java's are, if it has one there. */
  def parquetNameOf(option: OptionSpec): Option[String] =
    option.parquetName
      .map(ParquetPrefix + _)
      .orElse(Some(option.name).filter(_.startsWith(ParquetPrefix)))
      // Its client would find it under this name as well, so it is checked under this name as well.
      .orElse(
        Some(ParquetPrefix + option.name)
          .filter(_ => option == ClientProperties || ClientKind.all.exists(_.options.contains(option)))
      )
}
