package io.pmeparquet.options

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.keys.{AuditMode, KeyAudit, KeyPurpose}

class AuditSettingsSuite extends FunSuite {
  private def audit(
      option: Map[String, String] = Map.empty,
      session: Map[String, String] = Map.empty,
      application: Map[String, String] = Map.empty,
      purpose: KeyPurpose = KeyPurpose.Read
  ): KeyAudit = AuditSettings.of(
    new OptionValues(Map(Level.Option -> option, Level.SessionConf -> session)),
    application.get(_).toSeq,
    purpose,
    None
  )

  private def refused(words: String)(block: => Any): Unit = {
    val failed = intercept[PmeException](block)
    assertEquals(failed.condition, Condition.BadOption)
    assert(failed.getMessage.contains(words), failed.getMessage)
  }

  private val off = Map("audit" -> "off")
  private val required = Map("audit" -> "require", "audit.file" -> "/r")

  test("nothing is recorded by default") {
    assertEquals(audit(), KeyAudit(AuditMode.Off, None, KeyPurpose.Read))
    assertEquals(audit(option = Map("audit" -> "Try")).mode, AuditMode.Try: AuditMode)
  }

  test("without a record operations share keys with reads, and with one they do not") {
    assertEquals(audit(purpose = KeyPurpose.Copy), audit())
    assertNotEquals(audit(required, purpose = KeyPurpose.Copy), audit(required))
  }

  test("the strictest of option, session and application counts") {
    val all = Seq(
      audit(off, required),
      audit(off, off, required),
      audit(Map("audit" -> "try"), off, required),
      audit(required, off, off)
    )
    assertEquals(all.distinct, Seq(KeyAudit(AuditMode.Require, Some("/r"), KeyPurpose.Read)))
  }

  test("an option cannot name another file than the session") {
    refused("2 files")(audit(Map("audit.file" -> "/mine"), required))
    refused("2 files")(audit(Map.empty, Map("audit.file" -> "/mine"), required))
  }

  test("options that contradict each other are refused") {
    refused("needs a file")(audit(Map("audit" -> "require")))
    refused("audit is off")(audit(Map("audit.file" -> "/r")))
    refused("kms.callFrom=executor")(audit(required ++ Map("kms.callfrom" -> "executor")))
    refused("off, try, require")(audit(Map("audit" -> "always")))
  }
}
