package io.pmeparquet

/** The stable name of a failure that a user can cause or cure. `docs/errors.md` is made from this list. */
sealed abstract class Condition(val name: String, val meaning: String, val remedy: String)
    extends Serializable {
  override def toString: String = name
}

object Condition {
  case object BadOption
      extends Condition(
        "PME_BAD_OPTION",
        "An option has a value it cannot have, or two options contradict each other.",
        "Use one of the values the message lists; docs/options.md describes each option."
      )
  case object UnknownOption
      extends Condition(
        "PME_UNKNOWN_OPTION",
        "An option that looks like one of ours does not exist. A misspelt key option would otherwise leave " +
          "data unencrypted.",
        "Use the name that the message proposes."
      )
  case object SecretInOption
      extends Condition(
        "PME_SECRET_IN_OPTION",
        "A secret was written out as the value of an option, where Spark shows it in plans and catalogs.",
        "Give a reference: env:NAME, file:PATH, conf:SPARK_CONF_KEY or hadoop-credential:ALIAS."
      )
  case object NoKey
      extends Condition(
        "PME_NO_KEY",
        "A write names no key at all, or a file names no key and the reader gives none.",
        "Set footerKey or uniformKey."
      )
  case object UnknownColumn
      extends Condition(
        "PME_UNKNOWN_COLUMN",
        "columnKeys names a column that the data does not have, or leaves out one that must have a key.",
        "Choose from the columns that the message lists."
      )
  case object KeyNotFound
      extends Condition(
        "PME_KEY_NOT_FOUND",
        "The KMS does not have the master key.",
        "Create the key, or correct the id; on read, use the KMS that the data was written with."
      )
  case object KeyDenied
      extends Condition(
        "PME_KEY_DENIED",
        "The KMS has the master key but does not let this user use it.",
        "Ask for access to the key, or leave out the columns that it protects."
      )
  case object KmsUnavailable
      extends Condition(
        "PME_KMS_UNAVAILABLE",
        "The KMS, the keystore or a secret could not be reached or opened.",
        "Check address, network, path and password."
      )
  case object NotAuthentic
      extends Condition(
        "PME_NOT_AUTHENTIC",
        "An AES-GCM tag does not match: wrong key, other AAD, or data that was tampered with. GCM cannot tell " +
          "which.",
        "Check that keys and AAD prefix are those of the writer; if they are, restore the file."
      )
  case object AadPrefix
      extends Condition(
        "PME_AAD_PREFIX",
        "The AAD prefix of a file is missing or is not the one the reader expects.",
        "Give the prefix of the writer as aadPrefix; if it is right, the file is not the one you asked for."
      )
  case object Algorithm
      extends Condition(
        "PME_ALGORITHM",
        "A file says an encryption algorithm that the reader does not accept.",
        "Set algorithm=AES_GCM_CTR_V1 if pages without authentication are acceptable."
      )
  case object PlaintextFile
      extends Condition(
        "PME_PLAINTEXT_FILE",
        "A file without encryption was met where encrypted files are expected.",
        "Find out who wrote it; set plaintextFiles=allow to read such files."
      )
  case object DamagedFile
      extends Condition(
        "PME_DAMAGED_FILE",
        "A file is not a whole Parquet file, or its structure contradicts itself.",
        "Restore the file from its source."
      )
  case object KeyMetadata
      extends Condition(
        "PME_KEY_METADATA",
        "The key metadata or key material of a file cannot be used, or a column is under another key than columnKeys " +
          "names for it.",
        "Find out who wrote the file. Check columnKeys, that it was written with key tools of parquet-java's form, and " +
          "that its _KEY_MATERIAL_FOR_ file lies beside it."
      )
  case object Unsupported
      extends Condition(
        "PME_UNSUPPORTED",
        "Something that this version cannot do, or does not do because it would be unsafe.",
        "The message names what can be used instead."
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
    Unsupported
  )
}
