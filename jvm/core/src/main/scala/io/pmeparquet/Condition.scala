package io.pmeparquet

/** The stable name of a failure that users can cause or fix. `docs/errors.md` is generated from this list. */
sealed abstract class Condition(val name: String, val meaning: String, val remedy: String)
    extends Serializable {
  override def toString: String = name
}

object Condition {
  case object BadOption
      extends Condition(
        "PME_BAD_OPTION",
        "An option or argument has an invalid value, or two options contradict each other.",
        "Use a value that the message names. docs/options.md describes each option."
      )
  case object UnknownOption
      extends Condition(
        "PME_UNKNOWN_OPTION",
        "An option that looks like one of pme-parquet does not exist. A misspelt option could leave data unencrypted.",
        "Use the name that the message suggests."
      )
  case object SecretInOption
      extends Condition(
        "PME_SECRET_IN_OPTION",
        "The value of an option is a secret itself and not a reference to it. Spark shows option values in plans and catalogs.",
        "Give a reference: env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS."
      )
  case object NoKey
      extends Condition(
        "PME_NO_KEY",
        "A write names no key, or a file without key metadata is read without naming its key.",
        "Set footerKey or uniformKey."
      )
  case object UnknownColumn
      extends Condition(
        "PME_UNKNOWN_COLUMN",
        "columnKeys names a column that the data does not have, or does not name a column that must have a key.",
        "Choose from the columns that the message lists."
      )
  case object KeyNotFound
      extends Condition(
        "PME_KEY_NOT_FOUND",
        "The KMS does not have the master key, or the key cannot be used.",
        "Create the key, or correct the id; on read, use the KMS that the data was written with."
      )
  case object KeyDenied
      extends Condition(
        "PME_KEY_DENIED",
        "The KMS does not let this user use the master key.",
        "Ask for access to the key, or leave out the columns that it protects."
      )
  case object KmsUnavailable
      extends Condition(
        "PME_KMS_UNAVAILABLE",
        "The KMS or the keystore cannot be reached or opened, or a secret cannot be read.",
        "Check address, network, path and password."
      )
  case object NotAuthentic
      extends Condition(
        "PME_NOT_AUTHENTIC",
        "An AES-GCM tag does not match: the key is wrong, the AAD is wrong, or the data was altered. GCM cannot tell which.",
        "Check that keys and AAD prefix are those of the writer. If they are, restore the file."
      )
  case object AadPrefix
      extends Condition(
        "PME_AAD_PREFIX",
        "The AAD prefix of a file is missing, or is not the one that the reader expects.",
        "Set aadPrefix to the prefix of the writer. If it is right, the file is not the one that you asked for."
      )
  case object Algorithm
      extends Condition(
        "PME_ALGORITHM",
        "A file is encrypted with an algorithm that the reader does not accept.",
        "If pages without authentication are acceptable, set algorithm=AES_GCM_CTR_V1."
      )
  case object PlaintextFile
      extends Condition(
        "PME_PLAINTEXT_FILE",
        "A file or column is not encrypted where encryption is expected.",
        "Find out who wrote it. To read such files, set plaintextFiles=allow."
      )
  case object DamagedFile
      extends Condition(
        "PME_DAMAGED_FILE",
        "A file is not a complete Parquet or ORC file, or its structure contradicts itself.",
        "Restore the file from its source."
      )
  case object KeyMetadata
      extends Condition(
        "PME_KEY_METADATA",
        "The key metadata or key material of a file cannot be used, or a column has another key than the one that " +
          "columnKeys names for it.",
        "Find out who wrote the file. Check columnKeys, that the writer used parquet-java's key tools, and that the " +
          "_KEY_MATERIAL_FOR_ file is in the same directory."
      )
  case object Unsupported
      extends Condition(
        "PME_UNSUPPORTED",
        "This version cannot do this, or refuses it as unsafe.",
        "Use what the message names instead."
      )

  case object SnapshotMismatch
      extends Condition(
        "PME_SNAPSHOT_MISMATCH",
        "A sealed table has other files than its snapshot lists: files are missing, were added or replaced; or the table " +
          "has no snapshot where one is required.",
        "If the change is yours, seal the table again. If not, restore the files."
      )
  case object SnapshotNotAuthentic
      extends Condition(
        "PME_SNAPSHOT_NOT_AUTHENTIC",
        "The signature or HMAC of a snapshot does not match, it belongs to another table, or it is older than one that " +
          "was read before.",
        "Check verifyKey and the KMS. If they are right, restore the snapshots of the table."
      )
  case object SnapshotDamaged
      extends Condition(
        "PME_SNAPSHOT_DAMAGED",
        "A file of a snapshot is missing or cut, or its content contradicts itself.",
        "Restore the file, or remove the snapshots and seal the table again."
      )
  case object SnapshotConflict
      extends Condition(
        "PME_SNAPSHOT_CONFLICT",
        "Two processes sealed a table at the same time. One of them made the version.",
        "Seal the table again."
      )

  val all: Seq[Condition] = Seq(
    BadOption,
    UnknownOption,
    SecretInOption,
    NoKey,
    UnknownColumn,
    KeyNotFound,
    KeyDenied,
    KmsUnavailable,
    NotAuthentic,
    AadPrefix,
    Algorithm,
    PlaintextFile,
    DamagedFile,
    KeyMetadata,
    Unsupported,
    SnapshotMismatch,
    SnapshotNotAuthentic,
    SnapshotDamaged,
    SnapshotConflict
  )
}
