package io.pmeparquet.parquet.file

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.file.Files

import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.format.{OffsetIndex, Util}

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.WrittenFilesSuite
import io.pmeparquet.PmeException

/** Files that somebody altered, or that leave something outside of modules. */
class TamperedFilesSuite extends WrittenFilesSuite {
  private val use = kms("f", "n")
  private val keys = Seq("footerKey" -> "f", "columnKeys" -> "n: name")

  directory.test("every flipped bit of a readable footer and its signature is detected") { root =>
    val file = write(root, use, keys :+ ("plaintextFooter" -> "true"): _*)()
    val bytes = Files.readAllBytes(local(file))
    val end = bytes.length - 2 * ModuleFrame.LengthBytes
    val footer = end - ModuleFrame.lengthAt(bytes, end)
    assertEquals(rows(reader(use), file), RowCount.toLong)
    val signature = end - ModuleFrame.SignatureBytes
    ((footer until signature by 20) ++ (signature until end)).foreach { place =>
      val found = bent(file, place)(condition(rows(reader(use), file)))
      val allowed = if (place < signature) ofAlteredFooter else Set("PME_NOT_AUTHENTIC")
      assert(allowed(found), s"byte $place: $found")
    }
  }

  directory.test("a forged length before a dictionary, a Bloom filter or a header of them is refused") {
    root =>
      val file = write(root, use, keys: _*)(_.withBloomFilterNDV("id", 50).withBloomFilterEnabled("id", true))
      val bytes = Files.readAllBytes(local(file))
      val frames = framesOf(bytes)
      // Three pages of each column, with a dictionary of `name`, two indexes of each, and the filter, which is last.
      assertEquals(frames.size, 2 * 3 + 2 * 4 + 2 * 2 + 2)
      // Asks the filter; a scan reads the dictionary.
      val query = Some(FilterApi.eq(FilterApi.intColumn("id"), Int.box(150)))
      def found = Seq(None, query).flatMap { filter =>
        try {
          rows(reader(use), file, filter)
          None
        } catch { case failed: PmeException => Some(failed.getCondition()) }
      }.headOption
      assertEquals(found, None)
      for ((at, size) <- frames.slice(6, 8) ++ frames.takeRight(2); length <- forged(size - 4)) {
        Files.write(local(file), bytes.patch(at, little(length), 4))
        assert(found.exists(ofForged(length).contains), s"$length at $at: $found")
      }
  }

  directory.test("levels of V2 pages outside the ciphertext are read by whoever allows it") { root =>
    val file = write(root, use, keys: _*)(_.withWriterVersion(WriterVersion.PARQUET_2_0))
    assertEquals(condition(rows(reader(use), file)), "PME_UNSUPPORTED")
    assertEquals(rows(reader(use, "clearLevels" -> "allow"), file), RowCount.toLong)
  }

  directory.test("an offset index that leads out of its chunk is damage") { root =>
    val file = write(root, use)(_.withDictionaryEncoding(false))
    val allowed = Seq("plaintextFiles" -> "allow")
    val filter = Some(FilterApi.gtEq(FilterApi.intColumn("id"), Int.box(RowCount - 1)))
    assertEquals(rows(reader(use, allowed: _*), file, filter), 100L)
    val opened = OpenFiles.read(reader(use, allowed: _*), version(file), conf, new ReadCounters)
    val chunk = opened.chunks(0, Seq(Seq("id")), new ReadCounters).chunks.head
    val (at, length) =
      (chunk.meta.getOffsetIndexReference.getOffset.toInt, chunk.meta.getOffsetIndexReference.getLength)
    val bytes = Files.readAllBytes(local(file))
    def altered(change: OffsetIndex => Any) = {
      val index = Util.readOffsetIndex(new ByteArrayInputStream(bytes, at, length))
      change(index)
      val out = new ByteArrayOutputStream
      Util.writeOffsetIndex(index, out)
      assertEquals(out.size, length)
      Files.write(local(file), bytes.patch(at, out.toByteArray.toSeq, length))
      condition(rows(reader(use, allowed: _*), file, filter))
    }
    def page(index: OffsetIndex, number: Int) = index.getPage_locations.get(number)
    val last = RowCount / 100 - 1
    Seq[OffsetIndex => Any](
      index => page(index, last).setCompressed_page_size(page(index, last).getCompressed_page_size + 1),
      index => page(index, last).setOffset(page(index, last).getOffset + 1),
      index => page(index, 1).setOffset(page(index, 1).getOffset - 1),
      index => page(index, 0).setFirst_row_index(1),
      index => page(index, last).setFirst_row_index(RowCount + 1L)
    ).foreach(change => assertEquals(altered(change), "PME_DAMAGED_FILE"))
  }
}
