package io.pmeparquet.keys

/** Whether uses of master keys are recorded, and what follows if that fails. Later ones are stricter. */
sealed abstract class AuditMode(val name: String, val rank: Int) {
  def isOn: Boolean = rank > 0
}

object AuditMode {
  case object Off extends AuditMode("off", 0)

  /** A key is given out although its use could not be recorded. A warning says so. */
  case object Try extends AuditMode("try", 1)

  /** No key is given out unless its use is in the record's file. */
  case object Require extends AuditMode("require", 2)

  val all: Seq[AuditMode] = Seq(Off, Try, Require)
}

/**
 * What a KMS is opened for, and how uses of its keys are recorded. Whoever opens a KMS has to say it.
 *
 * @param file the path of the record's file on this machine; none: only logs and listeners have the record
 * @param table the path or name of the one table that the keys are for; none: what asks for a key names its file
 */
final case class KeyAudit(
    mode: AuditMode,
    file: Option[String],
    purpose: KeyPurpose,
    table: Option[String] = None
)

object KeyAudit {

  /** Where the options refuse `audit`, so nobody expects a record. */
  def off(purpose: KeyPurpose): KeyAudit = KeyAudit(AuditMode.Off, None, purpose)
}
