package io.pmeparquet.orc.tail

import java.io.ByteArrayOutputStream
import java.lang.management.ManagementFactory
import java.util.zip.{Deflater, DeflaterOutputStream}
import java.util.Random

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{CompressionKind, OrcProto}
import org.apache.orc.impl.OrcCodecPool

import io.pmeparquet.PmeException

/** Files whose end somebody has changed: 300 at random, and the known ways to exhaust a reader. */
class HostileTailSuite extends FunSuite {
  import OrcFiles._

  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]

  /** The most that reading a file may allocate, in bytes: two blocks, two footers and some more. */
  private val most = 400L * 1024 * 1024

  private def bounded[A](what: String, most: Long = most)(read: => A): A = {
    val id = Thread.currentThread.getId
    val before = threads.getThreadAllocatedBytes(id)
    val result = read
    val taken = threads.getThreadAllocatedBytes(id) - before
    assert(taken < most, s"$what took $taken bytes")
    result
  }

  /** What our parser says, or the condition of its refusal. */
  private def read(path: Path): Either[String, OrcTail] =
    try
      Right(checked(path))
    catch { case refused: PmeException => Left(refused.getCondition()) }

  private val refusals = Set("PME_DAMAGED_FILE", "PME_UNSUPPORTED")

  /** Refused, or the same to ORC's reader, if that does not refuse it: nothing authenticates a name. */
  private def refusedOrAgreed(what: String, bytes: Array[Byte]): Boolean = {
    val path = put("mutated.orc", bytes)
    bounded(what)(read(path)) match {
      case Left(condition) =>
        assert(refusals(condition), s"$what: $condition")
        true
      case Right(found) =>
        bounded(s"ORC on $what")(theirs(path)).foreach(seen => assertEquals(facts(found), seen, what))
        false
    }
  }

  /** What ORC's reader says of the file, and of its stripes by opening them. */
  private def theirs(path: Path): Option[Seq[String]] =
    try {
      val opened = reader(path, keys())
      opened.rows().close()
      Some(orcFacts(opened))
    } catch {
      case _: Exception => None
      case failed: LinkageError => throw failed
    }

  private def refused(bytes: Array[Byte], why: String, condition: String = "PME_DAMAGED_FILE"): Unit = {
    val path = put("hostile.orc", bytes)
    val failed = bounded(why)(intercept[PmeException](checked(path)))
    assertEquals(failed.getCondition(), condition, failed.problem)
    assert(failed.problem.contains(why), failed.problem)
  }

  private lazy val files = Seq(CompressionKind.NONE, CompressionKind.ZLIB, CompressionKind.SNAPPY).map { kind =>
    new Rewritten(write(s"hostile-$kind.orc", options(keys(), compression = kind), rows = 700))
  }
  private lazy val plain = files.head
  private lazy val zlib = files(1)
  private lazy val snappy = files(2)

  test("of 300 tails and stripe footers changed at random, each is refused or read as ORC reads it") {
    val random = new Random(20)
    val refusedOnes = (0 until 300).count { i =>
      val file = files(i % files.size)
      val (what, bytes) = Mutation.any(file, random)
      refusedOrAgreed(s"mutation $i, $what", bytes)
    }
    // Others change a name, or what nothing contradicts.
    assert(refusedOnes > 200 && refusedOnes < 300, s"$refusedOnes are refused")
  }

  private def deflated(bytes: Array[Byte]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val deflater = new Deflater(9, /* nowrap= */ true)
    val stream = new DeflaterOutputStream(out, deflater)
    stream.write(bytes)
    stream.close()
    deflater.end()
    out.toByteArray
  }

  test("a footer that decompresses to more than its limit is refused") {
    val block = zlib.postScript.getCompressionBlockSize.toInt
    val bomb = zlib.chunk(deflated(new Array[Byte](block)), isStored = false)
    val footer = Seq.fill(OrcLimits.FooterBytes / block + 1)(bomb).flatten.toArray
    refused(
      zlib.withTail(footer, zlib.postScript),
      s"more than ${OrcLimits.FooterBytes} bytes decompressed"
    )
    val stripe = Seq.fill(OrcLimits.StripeFooterBytes / block + 1)(bomb).flatten.toArray
    refused(zlib.withStripeFooter(stripe), s"more than ${OrcLimits.StripeFooterBytes} bytes decompressed")
  }

  test("a chunk that decompresses to more than the block size is refused") {
    val block = zlib.postScript.getCompressionBlockSize.toInt
    val chunk = zlib.chunk(deflated(new Array[Byte](block + 1)), isStored = false)
    refused(zlib.withTail(chunk, zlib.postScript), "its footer does not decompress")
    // A length of 2^31 bytes, without any bytes.
    val stated = Array(0xff, 0xff, 0xff, 0xff, 7, 0).map(_.toByte)
    refused(snappy.withTail(snappy.chunk(stated, isStored = false), snappy.postScript), "a chunk states")
  }

  test(
    "ORC's reader decompresses Snappy in Java after a file of Snappy was opened, whatever its default is"
  ) {
    tail(put("snappy.orc", snappy.bytes))
    val codec = OrcCodecPool.getCodec(CompressionKind.SNAPPY)
    assertEquals(codec.getClass.getSimpleName, "SnappyCodec")
    OrcCodecPool.returnCodec(CompressionKind.SNAPPY, codec)
  }

  test("many small chunks are refused") {
    val chunk = zlib.chunk(Array[Byte](3, 0), isStored = false)
    val footer = Seq.fill(OrcLimits.Chunks + 1)(chunk).flatten.toArray
    refused(zlib.withTail(footer, zlib.postScript), "chunks")
  }

  test("more messages than a heap holds are refused") {
    val empty = Array[Byte](0x3a, 0)
    val footer = Array.tabulate(OrcLimits.Objects * 2 + 4)(i => empty(i % 2))
    refused(plain.withTail(footer, plain.postScript), "the maximum with this heap size")
  }

  private def footerOf(all: OrcProto.Type.Builder*): OrcProto.Footer.Builder = {
    val footer =
      plain.footer.clearTypes().clearStatistics().clearEncryption().clearStripes().setNumberOfRows(0)
    all.foreach(footer.addTypes(_))
    footer
  }

  private def types(all: OrcProto.Type.Builder*): Array[Byte] = plain.withFooter(footerOf(all: _*))

  private def struct(children: Int*) = {
    val one = OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.STRUCT)
    children.foreach(child => one.addSubtypes(child).addFieldNames(s"f$child"))
    one
  }

  private def list(child: Int) = OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.LIST).addSubtypes(child)

  test("types that are nested too deeply, in a circle, missing or shared are refused") {
    refused(types((1 to 40000).map(list) :+ struct(): _*), "nested more than 100 levels deep")
    refused(types(list(0)), "column 0 has a child that does not exist")
    refused(types(list(0), struct()), "the child of column 0 is column 0")
    refused(types(struct(1), list(0), struct()), "the child of column 1 is column 0")
    refused(
      types(struct(1).addSubtypes(1).addFieldNames("g"), struct(), struct()),
      "the child of column 0 is column 1"
    )
    refused(types(struct(1)), "has a child that does not exist")
    refused(types(struct(1), struct(), struct()), "column 2 belongs to no other")
    refused(types(list(1).addSubtypes(2), struct(), struct()), "column 0 of type LIST has 2 children")
    refused(types(struct(1, 2).setFieldNames(1, "f1"), struct(), struct()), "two fields of the same name")
    refused(types(), "it has no columns")
    refused(types(OrcProto.Type.newBuilder), "column 0 has no type")
  }

  private val leaf = OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.INT)

  /** Structs in each other, and in the innermost all other columns. */
  private def columns(count: Int, depth: Int = 1): Seq[OrcProto.Type.Builder] =
    (1 until depth).map(struct(_)) ++ (struct(depth until count: _*) +: Seq.fill(count - depth)(leaf))

  test("as many columns as are accepted are read, flat or deep, and one more is refused") {
    Seq(1, 98).foreach { depth =>
      val path = put("wide.orc", types(columns(OrcLimits.Columns, depth): _*))
      val found = bounded(s"$depth levels", most = 100L * 1024 * 1024)(tail(path))
      assertEquals((found.types.size, found.types.last.name.size), (OrcLimits.Columns, depth))
      // As the type says: a list would have to be walked for each of its elements.
      val children: IndexedSeq[Int] = found.types(depth - 1).children
      assertEquals(children.size, OrcLimits.Columns - depth)
    }
    refused(types(columns(OrcLimits.Columns + 1): _*), "it has more than 50000 columns")
  }

  test("encryption variants that have more columns together than are accepted are refused") {
    def under(variants: Int, columns: Seq[OrcProto.Type.Builder]): Array[Byte] = {
      val footer = footerOf(columns: _*).setEncryption(plain.footer.getEncryption)
      val one = footer.getEncryption.getVariants(0).toBuilder.setRoot(0).clearStripeStatistics().build()
      footer.getEncryptionBuilder.clearMask().clearVariants()
      (0 until variants).foreach(_ => footer.getEncryptionBuilder.addVariants(one))
      plain.withFooter(footer)
    }
    val accepted = tail(put("variants.orc", under(500, columns(2000))))
    assertEquals(bounded("protection", most = 4L * 1024 * 1024)(accepted.protection).size, 1999)
    refused(under(501, columns(2000)), "its encryption variants have 1002000 columns together")
    refused(under(5, columns(2)), "it has 5 encryption variants for 2 columns")
  }

  test("what a footer says of encryption must exist and fit") {
    def changed(change: OrcProto.Encryption.Builder => Any): Array[Byte] = {
      val footer = plain.footer
      change(footer.getEncryptionBuilder)
      plain.withFooter(footer)
    }
    refused(changed(_.getVariantsBuilder(0).setRoot(99)), "for column 99, which does not exist")
    refused(changed(_.getVariantsBuilder(0).setKey(9)), "key number 9, which does not exist")
    refused(changed(_.getVariantsBuilder(0).clearEncryptedKey()), "has no local key")
    refused(changed(_.removeVariants(0)), "local keys, but the file has")
    refused(changed(_.clearVariants()), "local keys, but the file has")
    refused(changed(_.getMaskBuilder(0).addColumns(99)), "for column 99, which does not exist")
    refused(
      changed(_.getKeyBuilder(0).setAlgorithm(OrcProto.EncryptionAlgorithm.UNKNOWN_ENCRYPTION)),
      "unknown encryption algorithm",
      "PME_UNSUPPORTED"
    )
    refused(
      changed(_.getVariantsBuilder(0).getStripeStatisticsBuilder(0).setLength(Long.MaxValue)),
      "the encrypted statistics of its stripes have more"
    )
    refused(plain.withFooter(plain.footer.clearEncryption()), "local keys, but the file has 0")
  }

  test("stripes must lie in the body, and must not have more rows or groups than can be") {
    def changed(change: OrcProto.StripeInformation.Builder => Any): Array[Byte] = {
      val footer = plain.footer
      change(footer.getStripesBuilder(1))
      plain.withFooter(footer)
    }
    refused(changed(_.setOffset(3)), "stripe 1 cannot have")
    refused(changed(_.setDataLength(Long.MaxValue)), "stripe 1 cannot have")
    refused(changed(_.setFooterLength(Int.MaxValue.toLong)), "the length of the footer of stripe 1")
    refused(changed(_.setNumberOfRows(Long.MaxValue)), "stripe 1 has 9223372036854775807 rows")
    refused(changed(_.setNumberOfRows(7)), "its stripes have")
    refused(changed(_.setEncryptStripeId(0)), "the encryption id 0")
    val groups = plain.footer.setRowIndexStride(1)
    groups.getStripesBuilder(1).setNumberOfRows(Int.MaxValue.toLong)
    refused(plain.withFooter(groups), "in groups of 1")
  }

  test("the lengths in a postscript are bounded before anything is read") {
    refused(plain.withPostScript(plain.postScript.setFooterLength(Long.MaxValue)), "the length of its footer")
    refused(
      plain.withPostScript(plain.postScript.setMetadataLength(1L << 40)),
      "its footer and the statistics"
    )
    refused(zlib.withPostScript(zlib.postScript.setCompressionBlockSize(1 << 30)), "the block size")
    refused(
      zlib.withPostScript(zlib.postScript.addVersion(3)),
      "the version of its format",
      "PME_UNSUPPORTED"
    )
  }

  test("a compression that this ORC library does not have is refused, and so is one that nobody knows") {
    def compressedBy(number: Int): Array[Byte] = {
      val bytes = zlib.bytes
      val at = bytes.indexOfSlice(Seq[Byte](0x10, 1), bytes.length - 30)
      bytes(at + 1) = number.toByte
      bytes
    }
    // Brotli, which later versions know by name.
    refused(compressedBy(6), "is compressed", "PME_UNSUPPORTED")
    refused(compressedBy(7), "unknown method, number 7", "PME_UNSUPPORTED")
  }

  test("a stripe footer must fit to the footer of the file") {
    def changed(change: OrcProto.StripeFooter.Builder => Any): Array[Byte] = {
      val footer = plain.stripeFooter
      change(footer)
      plain.withStripeFooter(footer)
    }
    refused(changed(_.getStreamsBuilder(0).setLength(1L << 40)), "its streams have more than the")
    refused(changed(_.removeStreams(0)), "bytes that the footer states")
    refused(changed(_.getStreamsBuilder(0).setColumn(99)), "column 99, which is not there")
    refused(changed(f => f.addStreams(f.getStreams(0))), "two streams of column 0")
    refused(changed(_.removeColumns(0)), "where there are 22")
    refused(changed(_.removeEncryption(0)), "encryption variants, where there are 6")
    val dictionary = OrcProto.ColumnEncoding.newBuilder.setKind(OrcProto.ColumnEncoding.Kind.DICTIONARY_V2)
    refused(changed(_.setColumns(2, dictionary.setDictionarySize(201))), "201 entries for 200 rows")
    // In a map a row has many values.
    refused(changed(_.setColumns(10, dictionary.setDictionarySize(Int.MaxValue - 9))), "with this heap size")
  }
}
