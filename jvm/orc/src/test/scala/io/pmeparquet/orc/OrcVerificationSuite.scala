package io.pmeparquet.orc

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{CompressionKind, EncryptionAlgorithm, InMemoryKeystore}

import io.pmeparquet.orc.tail.{OrcFiles, Rewritten}

class OrcVerificationSuite extends FunSuite {
  import OrcFiles._

  private def verified(path: Path, of: InMemoryKeystore = keys()): OrcVerified =
    OrcVerification.of(path, length(path), conf, of, () => ())

  private lazy val path = write("verified.orc", options(keys(), compression = CompressionKind.NONE))
  private lazy val file = new Rewritten(path)

  for (compression <- compressions)
    test(s"a file of ORC's writer has no finding: $compression") {
      val found = verified(write(s"fine-$compression.orc", options(keys(), compression = compression)))
      assertEquals(found.copy(stripes = 0), OrcVerified(0, 1200, Nil, Nil))
    }

  test("columns without a key are read as masks, which agree with their statistics, and named") {
    val some = new InMemoryKeystore().addKey(
      "pay",
      3,
      EncryptionAlgorithm.AES_CTR_256,
      Array.tabulate[Byte](32)(i => (i + 90).toByte)
    )
    val found = verified(path, some)
    assertEquals(found.masked, Seq("ssn", "address.street", "m.key", "m.value.element"))
    assertEquals((found.rows, found.findings), (1200L, Nil))
  }

  test("a wrong key is a finding for each column under it") {
    val wrong = new InMemoryKeystore()
      .addKey("pii", EncryptionAlgorithm.AES_CTR_256, Array.tabulate[Byte](32)(_.toByte))
      .addKey("pay", 3, EncryptionAlgorithm.AES_CTR_256, new Array[Byte](32))
    val found = verified(path, wrong)
    val keysFound = found.findings.filter(_.condition == "PME_NOT_AUTHENTIC")
    assertEquals(keysFound.flatMap(_.column), Seq("salary", "tags", "x"))
  }

  test("a changed value is found by the statistics of its stripe and of the file") {
    val tail = OrcFiles.tail(path)
    val footer = file.stripeFooter
    // The last stream of the unencrypted ones in the last stripe: characters of `odd.name`.
    val bytes = file.bytes
    val text = bytes.lastIndexOfSlice("v49".getBytes.toSeq, tail.stripes.last.footerOffset.toInt)
    assert(text > tail.stripes.last.offset && footer.getStreamsCount > 0)
    bytes(text) = 'z'.toByte
    val found = verified(put("changed.orc", bytes))
    assert(
      found.findings.exists(one => one.stripe.contains(2) && one.column.isDefined),
      found.findings.toString
    )
    assert(found.findings.exists(one => one.stripe.isEmpty && one.column.isDefined), found.findings.toString)
  }

  test("statistics and numbers of rows that are not those of the values are findings") {
    val footer = file.footer
    footer.getStatisticsBuilder(1).getIntStatisticsBuilder.setMaximum(7)
    val statistics = verified(put("statistics.orc", file.withFooter(footer)))
    assertEquals(statistics.findings.map(_.column), Seq(Some("id")))
    assert(statistics.findings.head.problem.contains("the largest value is another"))

    val rows = file.footer.setNumberOfRows(1199)
    rows.getStripesBuilder(2).setNumberOfRows(199)
    val fewer = verified(put("rows.orc", file.withFooter(rows)))
    assert(fewer.findings.exists(_.stripe.contains(2)), fewer.findings.toString)
  }

  test("a damaged file is one finding, and a damaged stripe does not hide the others") {
    val cut = verified(put("cut.orc", file.bytes.take(5000)))
    assertEquals(cut.findings.map(_.condition), Seq("PME_DAMAGED_FILE"))
    val zlib = write("damaged.orc", options(keys()))
    val bytes = OrcFiles.bytes(zlib)
    val stripe = OrcFiles.tail(zlib).stripes(1)
    val from = (stripe.offset + stripe.indexLength).toInt
    (from until from + 2000).foreach(i => bytes(i) = 0)
    val found = verified(put("damaged.orc", bytes))
    assert(found.findings.exists(_.stripe.contains(1)), found.findings.toString)
    assert(!found.findings.exists(_.stripe.contains(2)), found.findings.toString)
    assertEquals(found.rows, 700L)
  }
}
