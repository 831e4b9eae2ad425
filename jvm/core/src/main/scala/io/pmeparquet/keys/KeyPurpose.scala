package io.pmeparquet.keys

/** What master keys are used for, as the record of their use names it. */
sealed abstract class KeyPurpose(val name: String)

object KeyPurpose {
  case object Read extends KeyPurpose("read")
  case object Write extends KeyPurpose("write")

  /** Other master keys for the same files. */
  case object Rotate extends KeyPurpose("rotate")

  /** Reads and writes of operations that make files of files: copies, compaction, recovery. */
  case object Copy extends KeyPurpose("copy")
  case object Verify extends KeyPurpose("verify")

  /** Seals, and reads of them. */
  case object Seal extends KeyPurpose("seal")

  /** Reports about keys and files. */
  case object Inspect extends KeyPurpose("inspect")

  /** Whether keys can be used at all, before anything needs them. */
  case object Try extends KeyPurpose("try")
  case object Erase extends KeyPurpose("erase")
}
