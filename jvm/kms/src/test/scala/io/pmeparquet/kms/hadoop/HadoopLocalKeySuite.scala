package io.pmeparquet.kms.hadoop

import java.util.Base64

import munit.FunSuite

import io.pmeparquet.PmeException

/** Local keys of ORC files as texts: what is read, and what Hadoop KMS is sent. */
class HadoopLocalKeySuite extends FunSuite {
  private def text(version: String, bytes: Int) =
    s"hadoop-orc:$version:${Base64.getEncoder.encodeToString(Array.tabulate(bytes)(_.toByte))}"

  test("a local key of each of ORC's algorithms is read, with its version") {
    for (bytes <- Seq(16, 32)) {
      val parsed = HadoopLocalKey.parse(text("7", bytes))
      assertEquals((parsed.version, parsed.encrypted.toSeq), (7, Seq.tabulate(bytes)(_.toByte)))
      assertEquals(parsed.toString, text("7", bytes))
    }
  }

  test("Hadoop KMS gets the first block inverted, since it inverts what it gets") {
    assertEquals(HadoopLocalKey.parse(text("0", 32)).iv.toSeq, Seq.tabulate(16)(at => (0xff ^ at).toByte))
  }

  test("what no writer of ORC makes is refused") {
    val others = Seq(
      text("0", 24),
      text("0", 0),
      text("-1", 16),
      text("01", 16),
      text("1234567890", 16),
      text("0", 16) + "=",
      text("0", 16).replace("==", ""),
      text("0", 16).replace("hadoop-orc", "hadoop"),
      "hadoop-orc:0:%%%%",
      text("0", 96)
    )
    others.foreach { other =>
      val refused = intercept[PmeException](HadoopLocalKey.parse(other))
      assertEquals(refused.getCondition(), "PME_KEY_METADATA", other)
      if (other.length > 20) assert(!refused.getMessage.contains(other.drop(13)), other)
    }
  }
}
