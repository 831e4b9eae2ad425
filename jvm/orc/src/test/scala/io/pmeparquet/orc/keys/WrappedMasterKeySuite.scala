package io.pmeparquet.orc.keys

import java.security.SecureRandom

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException, Sha256, StoredFormats}
import io.pmeparquet.keys.HeldKeys

/** Wrapped master keys in a table's property: what is made, read and refused. */
class WrappedMasterKeySuite extends FunSuite with StoredFormats {
  private val random = new SecureRandom
  private val kms = new HeldKeys(Map("wrapping" -> AesKey.random(128, random)))
  private val master = AesKey.random(256, random)
  private def made(name: String) = WrappedMasterKey.wrap(kms, master, OrcKeyName.parse(name), "wrapping")

  private def refusal(text: String, wrapping: Option[String] = None) = {
    val failed = intercept[PmeException](WrappedMasterKey.parse(text, wrapping))
    assertEquals(failed.getCondition(), "PME_BAD_OPTION")
    failed.getMessage
  }

  test("what is made is read again, and opens to the master key") {
    val one = WrappedMasterKey.parse(made("pii@3"), None).head
    assertEquals((one.key, one.kmsKey), (Some(OrcKeyName("pii", 3)), "wrapping"))
    assertEquals(kms.unwrap(one.wrapped, one.kmsKey, "test"), master)
  }

  test("several stand one after the other, separated or not, and strings may have braces") {
    val odd = """a} "{\b"""
    for (separator <- Seq("", ";", ", ", "\n\t")) {
      val parsed = WrappedMasterKey.parse(Seq("pii", "pii@1", odd).map(made).mkString(separator), None)
      assertEquals(
        parsed.map(_.key.get),
        Seq(OrcKeyName("pii", 0), OrcKeyName("pii", 1), OrcKeyName(odd, 0)),
        separator
      )
    }
  }

  test("what a KMS made of one master key needs the name of the key that wraps it") {
    assertEquals(
      WrappedMasterKey.parse(" vault:v1:abc ", Some("wrapping")),
      Seq(WrappedMasterKey(None, "wrapping", "vault:v1:abc"))
    )
    assert(refusal("vault:v1:abc").contains("orcWrappingKey"))
  }

  test("one key twice, other objects and broken texts are refused, and not repeated") {
    val own = made("pii")
    assert(refusal(own + made("pii@0")).contains("'pii@0' twice"))
    val broken = Seq(
      "",
      own.dropRight(1),
      own + "x",
      own.replace("ORCMK1", "PKMT1"),
      own.replace("\"kmsKey\"", "\"kmskey\""),
      own.replace("}", ",\"more\":\"x\"}"),
      own.replace("\"wrapping\"", "\"\""),
      own.replace("\"wrapping\"", "7"),
      "{}",
      "}" * 10
    )
    broken.foreach { text =>
      val message = refusal(text)
      assert(!message.contains(WrappedMasterKey.parse(own, None).head.wrapped), message)
    }
    assert(refusal(own * 1000).contains("too long"))
  }

  test("a stored master key opens as the one that was wrapped") {
    val kms = new HeldKeys(Map("wrapping" -> AesKey.of(Sha256.ofBytes("wrapping".getBytes), "test")))
    val master = AesKey.of(Array.fill(16)(1.toByte), "test")
    val folder = stored("orc-master-key-ORCMK1") { folder =>
      val made = WrappedMasterKey.wrap(kms, master, OrcKeyName("pii", 1), "wrapping")
      write(folder.resolve("pii.json"), made.getBytes)
    }
    val key = WrappedMasterKey.parse(text(folder.resolve("pii.json")), None).head
    assertEquals(key.key, Some(OrcKeyName("pii", 1)))
    assertEquals(kms.unwrap(key.wrapped, key.kmsKey, "test"), master)
  }
}
