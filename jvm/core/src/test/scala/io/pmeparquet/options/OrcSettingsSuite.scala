package io.pmeparquet.options

import munit.FunSuite

import io.pmeparquet.columns.UnlistedColumns
import io.pmeparquet.PmeException

/** Options of reads and writes of ORC files: what they mean, and which are refused. */
class OrcSettingsSuite extends FunSuite {
  private def values(level: Level, options: Seq[(String, String)]) =
    new OptionValues(Map(level -> options.map { case (name, value) => name.toLowerCase -> value }.toMap))
  private def read(options: (String, String)*) =
    OrcSettings.forRead(values(Level.Option, options), caseSensitive = false)
  private def write(options: (String, String)*) =
    OrcSettings.forWrite(values(Level.Option, options), caseSensitive = false)
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  test("by default a read accepts no plaintext file, no refusal and no mask") {
    val plain = read()
    assertEquals(
      (plain.allowPlaintextFiles, plain.masking, plain.showMasks, plain.columns),
      (false, None, false, None)
    )
    assert(!plain.acceptsRefusals)
    assert(read("plaintextFiles" -> "allow").allowPlaintextFiles)
    assert(read("orcMasks" -> "allow").showMasks && read("orcMasks" -> "allow").acceptsRefusals)
    assertEquals(
      read("deniedColumns" -> "drop").masking,
      Some(Masking("drop", "error", inConditions = false))
    )
    assertEquals(condition(read("orcMasks" -> "nonsense")), "PME_BAD_OPTION")
  }

  test("masks and NULL in the same place contradict each other") {
    for (denied <- Seq("null", "drop"))
      assertEquals(condition(read("orcMasks" -> "allow", "deniedColumns" -> denied)), "PME_BAD_OPTION")
    assert(read("orcMasks" -> "allow", "deniedColumns" -> "error").showMasks)
  }

  test("column keys of a read bind columns, and those of a write name its master keys") {
    assert(read("columnKeys" -> "pii: ssn").columns.isDefined)
    val settings = write("columnKeys" -> "pii: ssn; pay@2: a, b; pii: c")
    assertEquals(settings.masterKeys, Seq("pii", "pay@2"))
    assertEquals(settings.unlisted, UnlistedColumns.Plaintext)
    assertEquals(settings.dataKeyBits, None)
    assertEquals(condition(write()), "PME_NO_KEY")
  }

  test("local keys have a length of ORC's") {
    assertEquals(write("columnKeys" -> "k: a", "dataKeyBits" -> "256").dataKeyBits, Some(256))
    assertEquals(condition(write("columnKeys" -> "k: a", "dataKeyBits" -> "192")), "PME_BAD_OPTION")
  }

  test("unlisted columns stay readable or fail the write: nothing is under a footer key") {
    def unlisted(choice: String) = write("columnKeys" -> "k: a", "unlistedColumns" -> choice).unlisted
    assertEquals(unlisted("plaintext"), UnlistedColumns.Plaintext)
    assertEquals(unlisted("error"), UnlistedColumns.Error)
    assertEquals(condition(unlisted("footerKey")), "PME_BAD_OPTION")
  }

  test("options that promise what ORC does not give are refused, and those of the session are for Parquet") {
    val parquets = Seq(
      "footerKey" -> "f",
      "uniformKey" -> "u",
      "algorithm" -> "AES_GCM_V1",
      "plaintextFooter" -> "true",
      "keyMaterial" -> "external",
      "keyManagement" -> "direct",
      "aadPrefix" -> "p",
      "storeAadPrefix" -> "false",
      "doubleWrapping" -> "false",
      "kekBits" -> "256",
      "reader" -> "pages",
      "deniedFiles" -> "skip",
      "xskipperStore" -> "/x"
    )
    for (option <- parquets) {
      assertEquals(condition(read(option)), "PME_BAD_OPTION", option._1)
      val failed = intercept[PmeException](write(option, "columnKeys" -> "k: a"))
      assert(failed.getMessage.contains(s"option ${option._1}"), failed.getMessage)
    }
    assertEquals(
      OrcSettings.forRead(values(Level.SessionConf, parquets), caseSensitive = false).masking,
      None
    )
  }
}
