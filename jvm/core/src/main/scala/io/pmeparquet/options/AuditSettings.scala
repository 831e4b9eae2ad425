package io.pmeparquet.options

import io.pmeparquet.keys.{AuditMode, KeyAudit, KeyPurpose}
import io.pmeparquet.PmeErrors

/** How uses of keys are recorded, from options. */
private[pmeparquet] object AuditSettings {

  /**
   * The strictest of what the option, the session and the application say. Otherwise whoever has to be recorded could
   * leave it out.
   *
   * @param others what else says something: the values of the application, or of other sessions, by the name of the option
   * @param table as in [[KeyAudit]]
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for what contradicts itself, or names another file than the session
   */
  def of(
      values: OptionValues,
      others: String => Seq[String],
      purpose: KeyPurpose,
      table: Option[String]
  ): KeyAudit = {
    def said(option: OptionSpec) =
      (values.text(option).toSeq ++ values.textOfSession(option) ++ others(option.name)).map(_.trim)
    val mode = (AuditMode.Off +: said(PmeOptions.Audit).map(modeOf)).maxBy(_.rank)
    val file = said(PmeOptions.AuditFile).distinct match {
      case Seq() => None
      case Seq(one) => Some(one)
      case several =>
        throw contradiction(
          s"they name ${several.size} files",
          "Name one, in the configuration of the application or in the session."
        )
    }
    if (mode == AuditMode.Require && file.isEmpty)
      throw contradiction("audit=require needs a file that has the record", "Set audit.file.")
    if (!mode.isOn && file.isDefined)
      throw contradiction("audit.file names a record, and audit is off", "Set audit=try or audit=require.")
    // Executors have no file of the driver's.
    if (mode.isOn && values.choice(PmeOptions.CallFrom) == "executor")
      throw contradiction(
        "with kms.callFrom=executor the driver sees no uses of keys",
        "Use kms.callFrom=driver."
      )
    // Without a record, what a KMS is opened for keeps nobody from sharing what it gave.
    if (mode.isOn) KeyAudit(mode, file, purpose, table) else KeyAudit.off(KeyPurpose.Read)
  }

  private def modeOf(text: String): AuditMode =
    AuditMode.all.find(_.name.equalsIgnoreCase(text)).getOrElse {
      throw PmeErrors.badOption(PmeOptions.Audit.name, text, s"one of: ${PmeOptions.Audit.allowed}")
    }

  private def contradiction(why: String, remedy: String) =
    PmeErrors.contradiction(s"${PmeOptions.Audit.name} and ${PmeOptions.AuditFile.name}", why, remedy)
}
