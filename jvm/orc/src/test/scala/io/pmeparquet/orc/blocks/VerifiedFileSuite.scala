package io.pmeparquet.orc.blocks

import java.io.{ByteArrayInputStream, EOFException, IOException}
import java.nio.file.{Files, Paths}
import java.util.concurrent.atomic.AtomicInteger

import scala.util.{Failure, Random, Success, Try}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.orc.{InMemoryKeystore, OrcFile}

import io.pmeparquet.{BlockDigests, PmeException, SampledSuite, Sha256}
import io.pmeparquet.orc.tail.OrcFiles

/** ORC's own reader and writer over files whose blocks are compared. */
class VerifiedFileSuite extends FunSuite with SampledSuite {
  private val conf = {
    val made = new Configuration(OrcFiles.conf)
    BlockFileSystem.prepare(made)
    made
  }
  private val keys = OrcFiles.keys()

  private def blocksOf(bytes: Array[Byte]) = BlockDigests.of(new ByteArrayInputStream(bytes)).blocks

  private def alter(path: Path, bytes: Array[Byte]): Unit = {
    Files.write(Paths.get(path.toUri.getPath), bytes)
    ()
  }

  /** All rows of a file, as ORC's reader has them. */
  private def rows(path: Path, own: InMemoryKeystore = keys): Seq[String] = {
    val reader = OrcFile.createReader(path, OrcFile.readerOptions(conf).setKeyProvider(own))
    try {
      val records = reader.rows()
      try {
        val batch = reader.getSchema.createRowBatch()
        Iterator
          .continually(records.nextBatch(batch))
          .takeWhile(identity)
          .map { _ =>
            val text = new java.lang.StringBuilder
            (0 until batch.size).foreach(row => batch.cols.foreach(_.stringifyValue(text, row)))
            text.toString
          }
          .toVector
      } finally records.close()
    } finally reader.close()
  }

  private def opened[A](file: VerifiedFile)(use: Path => A): A = {
    val place = BlockFileSystem.reading(file)
    try use(place.path)
    finally place.close()
  }

  test("a place that is closed leaves no stream of the file open, though a reader does") {
    val path = OrcFiles.put("left-open.orc", Array.tabulate[Byte](100)(_.toByte))
    val own = new Configuration(conf)
    own.set("fs.file.impl", classOf[CountingFileSystem].getName)
    own.setBoolean("fs.file.impl.disable.cache", true)
    val file = new VerifiedFile(path, blocksOf(OrcFiles.bytes(path)), own)
    opened(file)(place => assertEquals(place.getFileSystem(conf).open(place).read(), 0))
    assertEquals(CountingFileSystem.open.get, 0)
    val again = file.open()
    assertEquals(again.read(), 0)
    assertEquals(CountingFileSystem.open.get, 1)
    again.close()
    assertEquals(CountingFileSystem.open.get, 0)
  }

  private def small(name: String) = {
    val schema = "struct<id:bigint,ssn:string,x:double>"
    OrcFiles.write(
      name,
      OrcFiles.options(keys, schema, encrypt = "pii:ssn", masks = "nullify:ssn"),
      rows = 600
    )
  }

  test("every flipped bit of an ORC file is noticed, and ORC's reader alone returns other values") {
    val file = small("flipped.orc")
    val whole = OrcFiles.bytes(file)
    val blocks = blocksOf(whole)
    val truth = rows(file)
    assertEquals(opened(new VerifiedFile(file, blocks, conf))(rows(_)), truth)
    var others = 0
    for (at <- whole.indices by (if (isWhole) 1 else 61); bit <- Seq(at % 8)) {
      alter(file, whole.updated(at, (whole(at) ^ (1 << bit)).toByte))
      val failed = intercept[Exception](opened(new VerifiedFile(file, blocks, conf))(rows(_)))
      val ours = PmeException.find(failed).getOrElse(throw failed)
      assertEquals(ours.getCondition(), "PME_SNAPSHOT_MISMATCH", s"bit $bit of byte $at")
      Try(rows(file)) match {
        case Success(found) => if (found != truth) others += 1
        case Failure(_) => ()
      }
    }
    assert(others > 0, "no flip changed a value for ORC's own reader")
  }

  /** Three blocks, of which the last one is short. */
  private def large(name: String) = {
    val bytes = new Array[Byte](2 * BlockDigests.BlockBytes + 1000)
    new Random(3).nextBytes(bytes)
    (OrcFiles.put(name, bytes), bytes)
  }

  test("streams read what is in the file, wherever they are") {
    val (path, bytes) = large("streams")
    val file = new VerifiedFile(path, blocksOf(bytes), conf)
    val (one, other) = (file.open(), file.open())
    val random = new Random(5)
    (1 to 200).foreach { round =>
      val from = random.nextInt(bytes.length)
      val found = new Array[Byte](random.nextInt(bytes.length - from).min(1500000))
      if (round % 2 == 0) one.readFully(from.toLong, found)
      else {
        other.seek(from.toLong)
        other.readFully(found)
        assertEquals(other.getPos, (from + found.length).toLong)
      }
      assert(found.sameElements(bytes.slice(from, from + found.length)), s"$from, ${found.length}")
    }
    one.seek(bytes.length.toLong - 1)
    assertEquals(Seq(one.read(), one.read()), Seq(bytes.last & 0xff, -1))
    intercept[EOFException](one.readFully(bytes.length - 3L, new Array[Byte](4)))
    intercept[EOFException](one.seek(bytes.length + 1L))
    one.close()
    intercept[IOException](one.read())
    assertEquals(other.read(0L, new Array[Byte](3), 0, 3), 3)
    other.close()
  }

  private def mismatch(step: => Any): Unit =
    assertEquals(intercept[PmeException](step).getCondition(), "PME_SNAPSHOT_MISMATCH")

  test("a block that was compared is not read again, and what changes meanwhile is not used") {
    val (path, bytes) = large("changed")
    val stream = new VerifiedFile(path, blocksOf(bytes), conf).open()
    val first = new Array[Byte](100)
    stream.readFully(0L, first)
    alter(path, bytes.map(byte => (byte ^ 1).toByte))
    stream.readFully(200L, first)
    assert(first.sameElements(bytes.slice(200, 300)))
    mismatch(stream.readFully(BlockDigests.BlockBytes.toLong, first))
    // One byte of the next block is enough, and nothing of it is returned.
    mismatch(stream.readFully(BlockDigests.BlockBytes - 50L, new Array[Byte](51)))
    alter(path, bytes.take(BlockDigests.BlockBytes + 5))
    mismatch(stream.readFully(BlockDigests.BlockBytes.toLong, first))
    stream.close()
  }

  test("a file that is longer than its list ends where the list says") {
    val (path, bytes) = large("longer")
    alter(path, bytes ++ bytes)
    val file = new VerifiedFile(path, blocksOf(bytes), conf)
    opened(file) { place =>
      assertEquals(place.getFileSystem(conf).getFileStatus(place).getLen, bytes.length.toLong)
    }
    assertEquals(file.open().read(bytes.length.toLong, new Array[Byte](1), 0, 1), -1)
  }

  test("a path leads to its file only while it is open, and to no other") {
    val (path, bytes) = large("places")
    val file = new VerifiedFile(path, blocksOf(bytes), conf)
    val place = opened(file) { place =>
      assert(place.toString.endsWith("/places"), place.toString)
      val system = place.getFileSystem(conf)
      intercept[UnsupportedOperationException](system.create(place))
      intercept[UnsupportedOperationException](system.delete(place, false))
      place
    }
    intercept[IOException](place.getFileSystem(conf))
    intercept[IOException](new Path("pme-blocks://other/etc/passwd").getFileSystem(conf))
  }

  test("the digests of a written file are of what its writer wrote, whatever is there meanwhile") {
    val schema = "struct<id:bigint,ssn:string>"
    val options = OrcFiles.options(keys, schema, encrypt = "pii:ssn", masks = "nullify:ssn")
    val path = OrcFiles.write("hashed.orc", options)
    val written = new HashedFile(path, conf)
    intercept[IllegalStateException](written.result())
    val place = BlockFileSystem.writing(written)
    val system = place.path.getFileSystem(conf)
    intercept[UnsupportedOperationException](system.open(place.path))
    val out = system.create(place.path, true)
    out.write("a value".getBytes)
    out.hflush()
    assertEquals(out.getPos, 7L)
    alter(path, "another".getBytes)
    out.write('!')
    out.close()
    val BlockDigests.Whole(blocks, sha256) = written.result()
    assertEquals(sha256.toSeq, Sha256.ofBytes("a value!".getBytes).toSeq)
    assert(blocks.isBlock(0, "a value!".getBytes))
    val writer = new HashedFile(path, conf)
    val other = BlockFileSystem.writing(writer)
    OrcFile
      .createWriter(
        other.path,
        OrcFiles
          .options(keys, schema, encrypt = "pii:ssn", masks = "nullify:ssn")
          .fileSystem(other.path.getFileSystem(conf))
      )
      .close()
    assertEquals(writer.result().sha256.toSeq, Sha256.ofBytes(OrcFiles.bytes(path)).toSeq)
  }
}

/** Counts the streams that are open. */
final class CountingFileSystem extends RawLocalFileSystem {
  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    CountingFileSystem.open.incrementAndGet()
    new FSDataInputStream(super.open(path, bufferSize)) {
      override def close(): Unit = {
        CountingFileSystem.open.decrementAndGet()
        super.close()
      }
    }
  }
}

object CountingFileSystem {
  val open = new AtomicInteger
}
