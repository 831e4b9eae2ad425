package io.pmeparquet.parquet.chunk

import java.io.ByteArrayOutputStream
import java.nio.file.Files
import java.util.Random

import scala.collection.JavaConverters._

import munit.FunSuite
import net.jpountz.lz4.LZ4Factory
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileSystem, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.parquet.format._
import org.apache.parquet.hadoop.metadata.CompressionCodecName

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.cipher.{AesGcm, CryptoProvider, ModuleAad, ModuleKind}
import io.pmeparquet.parquet.bytes.{
  FileBytes,
  FileVersion,
  Range,
  ReadCounters,
  Segment,
  ThriftBounds,
  ThriftUnbounded
}

class PagesSuite extends FunSuite {
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  private def footer: Array[Byte] = {
    val schema = (1 to 50).map(i => new SchemaElement(s"column$i")).toList
    val chunk = new ColumnChunk(4)
    chunk.setMeta_data(
      new ColumnMetaData(
        Type.INT32,
        List(Encoding.PLAIN).asJava,
        List("a").asJava,
        CompressionCodec.SNAPPY,
        1,
        2,
        3,
        4
      )
    )
    val group = new RowGroup(List(chunk).asJava, 5, 6)
    val metadata = new FileMetaData(1, schema.asJava, 6, List(group).asJava)
    metadata.setKey_value_metadata(List(new KeyValue("k").setValue("v" * 300)).asJava)
    val out = new ByteArrayOutputStream
    Util.writeFileMetaData(metadata, out)
    out.toByteArray
  }

  test("the walk finds the end of a correct struct, whatever follows it") {
    val bytes = footer
    assertEquals(ThriftBounds.end(bytes, 0, bytes.length), bytes.length)
    assertEquals(
      ThriftBounds.end(Array.fill(7)(9.toByte) ++ bytes ++ new Array[Byte](100), 7, bytes.length + 107),
      bytes.length + 7
    )
  }

  test("a truncated struct has no end") {
    val bytes = footer
    bytes.indices.foreach(until => intercept[ThriftUnbounded](ThriftBounds.end(bytes, 0, until)))
  }

  test("lists, strings and nesting that exceed the bytes are refused before any object is created") {
    def bytes(values: Int*) = values.map(_.toByte).toArray
    val hugeList = bytes(0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00)
    val hugeString = bytes(0x18, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00)
    val hugeMap = bytes(0x1b, 0xff, 0xff, 0xff, 0xff, 0x07, 0x88, 0x00)
    val endless = bytes(0x15) ++ Array.fill(30)(0xff.toByte)
    val deep = Array.fill(100000)(0x1c.toByte)
    val unknown = bytes(0x1e, 0x00)
    Seq(hugeList, hugeString, hugeMap, endless, deep, unknown).foreach { bomb =>
      intercept[ThriftUnbounded](ThriftBounds.end(bomb, 0, bomb.length))
    }
  }

  test("randomly altered bytes are refused, or the walk stays within bounds") {
    val random = new Random(7)
    val honest = footer
    (1 to 20000).foreach { _ =>
      val bent = honest.clone()
      (0 to random.nextInt(4)).foreach(_ => bent(random.nextInt(bent.length)) = random.nextInt().toByte)
      try assert(ThriftBounds.end(bent, 0, bent.length) <= bent.length)
      catch { case _: ThriftUnbounded => () }
    }
  }

  test("one request reads neighbouring ranges, and separate ones read distant and large ranges") {
    val kib = 1024
    val ranges = Seq(Range(0, 10), Range(10, 10), Range(20 + 64 * kib, 5), Range(200 * kib, 7), Range(2, 3))
    assertEquals(FileBytes.merged(ranges), Seq(Range(0, 25 + 64 * kib), Range(200 * kib, 7)))
    val large = Seq(Range(0, 15 * kib * kib), Range(15L * kib * kib, 2 * kib * kib))
    assertEquals(FileBytes.merged(large), large)
  }

  private def file(content: Array[Byte]): FileVersion = {
    val path = Files.createTempFile("bytes", ".bin")
    path.toFile.deleteOnExit()
    Files.write(path, content)
    FileVersion.of(new Path(path.toUri), new Configuration(false))
  }

  test("counters count requests and bytes, and each range gets its own bytes") {
    val counters = new ReadCounters
    val bytes = new FileBytes(file(Array.tabulate(1000)(_.toByte)), new Configuration(false), counters)
    val segments = bytes.readAll(Seq(Range(500, 3), Range(0, 2), Range(100, 1)))
    assertEquals(segments.map(segment => segment.array(segment.at).toInt & 0xff), Seq(500 & 0xff, 0, 100))
    assertEquals((counters.reads.sum, counters.bytes.sum), (1L, 503L))
    assertEquals(condition(bytes.read(Range(990, 11))), "PME_DAMAGED_FILE")
    assertEquals(condition(bytes.read(Range(-1, 1))), "PME_DAMAGED_FILE")
    assertEquals(condition(bytes.read(Range(Long.MaxValue, Int.MaxValue - 8))), "PME_DAMAGED_FILE")
    bytes.close()
  }

  test("LZ4 is decompressed with and without Hadoop's framing, and no size in it is trusted") {
    val codec = Codecs.of(CompressionCodecName.LZ4)
    val plain = Array.tabulate(5000)(i => (i / 100).toByte)
    val halves =
      plain.grouped(2500).map(half => LZ4Factory.fastestInstance.fastCompressor.compress(half)).toSeq
    val bare = LZ4Factory.fastestInstance.fastCompressor.compress(plain)
    def int(value: Int) = java.nio.ByteBuffer.allocate(4).putInt(value).array
    def framed(size: Int, chunk: Int) =
      int(size) ++ int(chunk) ++ halves.head ++ int(halves(1).length) ++ halves(1)
    def open(bytes: Array[Byte]) = {
      val out = new Array[Byte](plain.length)
      Codecs.run("t", codec, bytes, 0, bytes.length, out, 0, plain.length)
      out.toSeq
    }
    assertEquals(open(framed(5000, halves.head.length)), plain.toSeq)
    assertEquals(
      open(
        int(2500) ++ int(halves.head.length) ++ halves.head ++
          int(2500) ++ int(halves(1).length) ++ halves(1)
      ),
      plain.toSeq
    )
    assertEquals(open(bare), plain.toSeq)
    Seq(-1, 0, 4999, 5001, Int.MaxValue, Int.MinValue).foreach { size =>
      assertEquals(condition(open(framed(size, halves.head.length))), "PME_DAMAGED_FILE")
    }
    Seq(-1, 0, Int.MaxValue, Int.MinValue).foreach { chunk =>
      assertEquals(condition(open(framed(5000, chunk))), "PME_DAMAGED_FILE")
    }
  }

  test("distant ranges are read at once if the file system can, and each gets its own bytes") {
    val counters = new ReadCounters
    val content = Array.tabulate(1000 * 1000)(i => (i * 31 >> 3).toByte)
    val version = file(content)
    val bytes = new FileBytes(version, new Configuration(false), counters)
    val ranges = Seq(Range(999000, 1000), Range(3, 70000), Range(400000, 1), Range(400001, 99))
    bytes.readAll(ranges).zip(ranges).foreach { case (segment, range) =>
      val expected = content.slice(range.offset.toInt, range.end.toInt)
      assertEquals(segment.array.slice(segment.at, segment.until).toSeq, expected.toSeq)
    }
    assertEquals((counters.reads.sum, counters.bytes.sum), (3L, 71100L))
    assertEquals(condition(bytes.readAll(Seq(Range(0, 1), Range(999999, 2)))), "PME_DAMAGED_FILE")
    bytes.close()
    Files.write(java.nio.file.Paths.get(version.path.toUri), content.take(500 * 1000))
    val cut = new FileBytes(version, new Configuration(false), counters)
    assertEquals(condition(cut.readAll(Seq(Range(0, 1), Range(999000, 2)))), "PME_DAMAGED_FILE")
    cut.close()
  }

  test("several reads open a file on a local disk once") {
    val conf = new Configuration(false)
    conf.setClass("fs.file.impl", classOf[OpensCounted], classOf[FileSystem])
    conf.setBoolean("fs.file.impl.disable.cache", true)
    val bytes = new FileBytes(file(Array.tabulate(300000)(_.toByte)), conf, new ReadCounters)
    OpensCounted.opens.set(0)
    Seq(Range(299000, 1000), Range(5, 2), Range(100000, 70000)).foreach { range =>
      assertEquals(bytes.read(range).copied.toSeq, Seq.tabulate(range.length)(i => (range.offset + i).toByte))
    }
    bytes.close()
    assertEquals(OpensCounted.opens.get, 1)
  }

  test("bytes of a file that are in memory are not read again") {
    val counters = new ReadCounters
    val version = file(Array.tabulate(300000)(_.toByte))
    val known = new Segment(Array.tabulate(1000)(_ => 7.toByte), 0, 299000, 1000)
    val bytes = new FileBytes(version, new Configuration(false), counters, Some(known))
    val segments = bytes.readAll(Seq(Range(299999, 1), Range(0, 2), Range(298999, 2)))
    assertEquals(segments.map(segment => segment.array(segment.at).toInt), Seq(7, 0, 298999.toByte.toInt))
    assertEquals(counters.bytes.sum, 4L)
    bytes.close()
  }

  test("a task's counters add to its scope's") {
    val scope = new ReadCounters
    val (one, other) = (new ReadCounters(scope), new ReadCounters(scope))
    one.modules.add(2)
    other.modules.increment()
    assertEquals((one.modules.sum, other.modules.sum, scope.modules.sum), (2L, 1L, 3L))
  }

  test("a module's length is checked against what is left and against a limit before it is opened") {
    val provider = CryptoProvider.of("auto")
    val gcm = new AesGcm(AesKey.of(Array.fill(16)(1.toByte), "t"), provider)
    val modules = new Modules(gcm, new ModuleAad(new Array[Byte](8), 0, 0), "file, column", new ReadCounters)
    def end(length: Int, left: Int) = {
      val bytes = new Array[Byte](left)
      Seq(0, 8, 16, 24).zipWithIndex.foreach { case (shift, i) => bytes(i) = (length >> shift).toByte }
      modules.end(bytes, 0, left, 1000, ModuleKind.DataPageHeader)
    }
    assertEquals(end(28, 40), 32)
    Seq(0, -1, 27, 37, Int.MaxValue, Int.MinValue).foreach(length =>
      assertEquals(condition(end(length, 40)), "PME_DAMAGED_FILE")
    )
    assertEquals(condition(end(1029, 5000)), "PME_DAMAGED_FILE")
    assertEquals(
      condition(modules.end(new Array[Byte](3), 0, 3, 1000, ModuleKind.DataPage)),
      "PME_DAMAGED_FILE"
    )
  }

  test("every codec restores the content, and a false size is damage") {
    val plain = Array.tabulate(5000)(i => (i / 50).toByte)
    val compressed = Seq(
      CompressionCodecName.UNCOMPRESSED -> plain,
      CompressionCodecName.SNAPPY -> org.xerial.snappy.Snappy.compress(plain),
      CompressionCodecName.ZSTD -> com.github.luben.zstd.Zstd.compress(plain),
      CompressionCodecName.GZIP -> gzip(plain),
      // Of several members.
      CompressionCodecName.GZIP -> (gzip(plain.take(2600)) ++ gzip(plain.drop(2600))),
      CompressionCodecName.BROTLI -> brotli,
      CompressionCodecName.LZ4_RAW -> net.jpountz.lz4.LZ4Factory
        .fastestInstance()
        .fastCompressor()
        .compress(plain)
    )
    compressed.foreach { case (name, bytes) =>
      val out = new Array[Byte](6000)
      def run(size: Int) =
        Codecs.run("file", Codecs.of(name), Array[Byte](9) ++ bytes, 1, bytes.length, out, 3, size)
      run(plain.length)
      assert(java.util.Arrays.equals(out.slice(3, 3 + plain.length), plain), name.name)
      assertEquals(condition(run(plain.length - 1)), "PME_DAMAGED_FILE", name.name)
      assertEquals(condition(run(plain.length + 1)), "PME_DAMAGED_FILE", name.name)
      val cut = bytes.take(bytes.length / 2)
      assertEquals(
        condition(Codecs.run("file", Codecs.of(name), cut, 0, cut.length, out, 0, plain.length)),
        "PME_DAMAGED_FILE",
        name.name
      )
    }
  }

  /** The bytes i / 50 for i below 5000, as Apache Arrow 26.0.1 compresses them. */
  private def brotli: Array[Byte] = java.util.Base64.getDecoder.decode(
    "G4cTAGSA3YKwgXLCmUAuYEELWdgiFrWYxS1hSUtZ2jKWtZzlrWBFK1nZKla1mtWtYU1rWds6rNO6rNt6rNf6rN8G" +
      "bNCGbNhGbNTGbNwmbNKmbNpmbNbmbN4WbNGWbNlWbNXWbN02bNO2bNt2bNf2bN8O7NCO7NhO7NTO7Nwu7NKu7Npu" +
      "7Nbu7N4e7NGe7Nle7NXe7N0+7NO+7Nt+7Nf+7B8="
  )

  private def gzip(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val stream = new java.util.zip.GZIPOutputStream(out)
    stream.write(bytes)
    stream.close()
    out.toByteArray
  }

  test("rows are stored as ranges, found by overlap and iterated in order") {
    val random = new Random(3)
    (1 to 200).foreach { _ =>
      val wanted = (0L until 60L).filter(_ => random.nextInt(3) == 0)
      val builder = new Rows.Builder
      wanted.foreach(builder.add)
      val rows = builder.result()
      assertEquals(rows.count, wanted.size.toLong)
      assertEquals(rows.iterator.asScala.map(_.longValue).toSeq, wanted)
      for (first <- 0L until 60L; last <- Seq(first, first + 3))
        assertEquals(
          rows.overlaps(first, last),
          wanted.exists(row => row >= first && row <= last),
          s"$rows $first $last"
        )
    }
  }
}

/** The local file system, which counts how often content is opened, except for checksums. */
final class OpensCounted
    extends LocalFileSystem(new RawLocalFileSystem {
      override def open(path: Path, bufferSize: Int): FSDataInputStream = {
        if (!path.getName.endsWith(".crc")) OpensCounted.opens.incrementAndGet()
        super.open(path, bufferSize)
      }
    })

object OpensCounted {
  val opens = new java.util.concurrent.atomic.AtomicInteger
}
