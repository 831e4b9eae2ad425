package io.pmeparquet.parquet.verify

import java.lang.ref.Reference
import java.nio.file.{Files, Path => LocalPath}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.parquet.{PmeCryptoFactory, WrittenFilesSuite}
import io.pmeparquet.parquet.scope.ReadScope

class FileVerificationSuite extends WrittenFilesSuite {
  private val use = kms("f", "n")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  private def found(scope: ReadScope, file: Path) =
    new FileVerification(scope, Sample()).of(version(file), conf, () => ()).findings

  directory.test(
    "every flipped bit of a file's modules is a finding in that module, and there are no others"
  ) { root =>
    val file = write(root, use, keys: _*)(
      _.withBloomFilterNDV("id", 50).withBloomFilterEnabled("id", true)
    )
    assertEquals(found(reader(use), file), Nil)
    val bytes = Files.readAllBytes(local(file))
    val end = bytes.length - 2 * ModuleFrame.LengthBytes
    val footer = end - ModuleFrame.lengthAt(bytes, end)
    // No module is shorter than this.
    val modules = (4 until footer by 30).flatMap { place =>
      val findings = bent(file, place)(found(reader(use), file))
      assert(findings.nonEmpty, s"byte $place")
      assert(findings.forall(_.column.isDefined), s"byte $place: $findings")
      findings.flatMap(_.module)
    }
    val kinds = Set(
      "data page",
      "data page header",
      "dictionary page",
      "dictionary page header",
      "column index",
      "offset index",
      "Bloom filter header",
      "Bloom filter bitset"
    )
    assertEquals(modules.toSet, kinds)
    bent(file, end - 1)(assertEquals(found(reader(use), file).flatMap(_.module), List("footer")))
  }

  directory.test("one damaged module hides no other") { root =>
    val file = write(root, use, keys: _*)(_.withBloomFilterNDV("id", 50).withBloomFilterEnabled("id", true))
    val honest = Files.readAllBytes(local(file))
    val ends = framesOf(honest).map { case (at, size) => at + size - 1 }
    val each = ends.map(end => end -> bent(file, end)(found(reader(use), file)))
    assertEquals(each.map(_._2.size).distinct, Seq(1))
    // If headers do not open, the offset index shows where pages are; the bits of a filter are where its header says.
    for (
      intact <- Seq(
        Set("offset index", "Bloom filter bitset"),
        Set("data page header", "dictionary page header", "Bloom filter header")
      )
    ) {
      val damaged = each.filterNot { case (_, findings) => intact(findings.head.module.get) }
      val bytes = honest.clone
      damaged.foreach { case (end, _) => bytes(end) = (bytes(end) ^ 1).toByte }
      Files.write(local(file), bytes)
      assertEquals(
        places(found(reader(use), file)).map(_.toString).sorted,
        places(damaged.flatMap(_._2)).map(_.toString).sorted
      )
      Files.write(local(file), honest)
    }
  }

  /** A file with a page for each row, under one key: a short text and a long one. */
  private def pageOfARow(root: LocalPath, count: Int)(short: Int => Int, long: Int => Int): Path = {
    val file = new Path(root.resolve("rows.parquet").toUri)
    val own = new Configuration(false)
    val scope = writer(use, root, "uniformKey" -> "f")
    PmeCryptoFactory.useForWrite(own, scope)
    val texts =
      MessageTypeParser.parseMessageType("message m { required binary short; required binary long; }")
    val out = ExampleParquetWriter
      .builder(file)
      .withConf(own)
      .withType(texts)
      .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
      .withDictionaryEncoding(false)
      .withPageRowCountLimit(1)
      .withMinRowCountForPageSizeCheck(1)
      .build()
    val groups = new SimpleGroupFactory(texts)
    def text(id: Int, size: Int) = Binary.fromConstantByteArray(Array.fill(size)((id % 100).toByte))
    (0 until count).foreach { id =>
      out.write(groups.newGroup().append("short", text(id, short(id))).append("long", text(id, long(id))))
    }
    out.close()
    Reference.reachabilityFence(scope)
    Files.deleteIfExists(local(file).resolveSibling(".rows.parquet.crc"))
    file
  }

  private def verified(file: Path, sample: Sample = Sample()) =
    new FileVerification(reader(use), sample).of(version(file), conf, () => ())

  private def places(found: Seq[Finding]) =
    found.map(one => (one.column, one.page, one.module, one.condition))

  directory.test("pages of any length are opened, and read once; a sample opens all headers and some pages") {
    root =>
      val file = pageOfARow(root, 24)(_ => 120000, id => if (id % 8 == 0) 9000000 else 128)
      val bytes = Files.readAllBytes(local(file))
      val frames = framesOf(bytes)
      // A header and a page of each row and column, and an offset index of each column: no bounds are so long.
      assertEquals(frames.size, 2 * 2 * 24 + 2)
      val all = verified(file)
      assertEquals((all.findings, all.opened.modules), (Nil, frames.size + 1L))
      // The tail is read before anything is known of the chunks, including pages that lie in it.
      assert(all.opened.bytes < bytes.length + (1 << 17), all.opened)
      def page(row: Int) = frames(2 * 24 + 2 * row + 1)
      assert(page(0)._2 > 8 * 1024 * 1024)
      for (row <- Seq(8, 9, 23)) {
        val (at, size) = page(row)
        val found = bent(file, at + size - 1)(verified(file).findings)
        assertEquals(
          places(found),
          List((Option("long"), Option(row), Option("data page"), "PME_NOT_AUTHENTIC"))
        )
      }
      val sample = Sample(pages = 0.2, seed = 1)
      val some = verified(file, sample)
      val skipped = some.opened.skippedPages
      assert(24 < skipped && skipped < 48, skipped)
      assertEquals((some.findings, some.opened.modules), (Nil, frames.size + 1L - skipped))
      assert(some.opened.bytes < bytes.length)
      frames.take(2 * 48).foreach { case (at, size) =>
        bytes(at + size - 1) = (bytes(at + size - 1) ^ 1).toByte
      }
      Files.write(local(file), bytes)
      val found = verified(file, sample).findings.flatMap(_.module)
      assertEquals(found.count(_ == "data page header"), 48)
      assertEquals(found.count(_ == "data page").toLong, 48 - skipped)
  }

  directory.test("indexes far from the end are read at once") { root =>
    val file = pageOfARow(root, 3000)(_ => 64, _ => 64)
    val bytes = Files.readAllBytes(local(file))
    val frames = framesOf(bytes)
    val (at, size) = frames(4 * 3000)
    assert(bytes.length - at > (1 << 16))
    val all = verified(file)
    assertEquals((all.findings, all.opened.modules), (Nil, frames.size + 1L))
    val found = bent(file, at + size - 1)(verified(file).findings)
    assertEquals(places(found), List((Option("short"), None, Option("column index"), "PME_NOT_AUTHENTIC")))
  }
}
