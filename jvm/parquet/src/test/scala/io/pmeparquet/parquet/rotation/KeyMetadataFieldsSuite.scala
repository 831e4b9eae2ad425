package io.pmeparquet.parquet.rotation

import java.io.ByteArrayInputStream
import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.ByteBuffer

import scala.collection.JavaConverters._
import scala.util.Random

import munit.FunSuite
import org.apache.parquet.format._

/**
 * Replaces key metadata in a footer, and checks that nothing else changes: not even fields that this version does not
 * know.
 */
class KeyMetadataFieldsSuite extends FunSuite {
  import KeyMetadataFields.{replace, OfCryptoMetadata, OfFooter}

  private def text(value: String) = value.getBytes(UTF_8)

  private def footer(random: Random): FileMetaData = {
    def bytes = random.alphanumeric.take(1 + random.nextInt(300)).mkString
    def chunk(ordinal: Int) = {
      val chunk = new ColumnChunk(random.nextInt(1000000).toLong)
      if (random.nextBoolean()) chunk.setEncrypted_column_metadata(text(bytes))
      random.nextInt(3) match {
        case 0 => ()
        case 1 =>
          chunk.setCrypto_metadata(
            ColumnCryptoMetaData.ENCRYPTION_WITH_FOOTER_KEY(new EncryptionWithFooterKey)
          )
        case _ =>
          val key = new EncryptionWithColumnKey(Seq("c", ordinal.toString).asJava)
          key.setKey_metadata(text(s"column-$ordinal"))
          chunk.setCrypto_metadata(ColumnCryptoMetaData.ENCRYPTION_WITH_COLUMN_KEY(key))
      }
      chunk
    }
    val groups = Seq.fill(random.nextInt(4))(
      new RowGroup((0 until random.nextInt(20)).map(chunk).asJava, random.nextLong(), random.nextLong())
    )
    val schema = Seq.fill(random.nextInt(20))(new SchemaElement(bytes))
    val made = new FileMetaData(1, schema.asJava, random.nextLong(), groups.asJava)
    made.setKey_value_metadata(Seq(new KeyValue("column-1")).asJava)
    if (random.nextBoolean()) made.setFooter_signing_key_metadata(text("footer"))
    made
  }

  private def bytesOf(footer: FileMetaData) = {
    val out = new ByteArrayOutputStream
    Util.writeFileMetaData(footer, out)
    out.toByteArray
  }

  private def parsed(bytes: Array[Byte]) = Util.readFileMetaData(new ByteArrayInputStream(bytes))

  private def replaced(bytes: Array[Byte], changes: (String, String)*) =
    replace(bytes, 0, bytes.length, OfFooter)(changes.map { case (from, to) =>
      ByteBuffer.wrap(text(from)) -> text(to)
    }.toMap)

  test("a footer with unchanged key metadata keeps every byte, and so does what follows it") {
    val random = new Random(11)
    (1 to 300).foreach { _ =>
      val bytes = bytesOf(footer(random)) ++ new Array[Byte](random.nextInt(9))
      val same = ("footer" +: (0 to 20).map(n => s"column-$n")).map(value => value -> value)
      assert(replaced(bytes, same: _*).sameElements(bytes))
      assert(replaced(bytes).sameElements(bytes))
    }
  }

  test("all key metadata is replaced, as Thrift would write it, and nothing else") {
    val random = new Random(12)
    (1 to 300).foreach { _ =>
      val one = footer(random)
      val long = "x" * random.nextInt(40000)
      val edited = replaced(bytesOf(one), "footer" -> long, "column-1" -> "y")
      if (one.isSetFooter_signing_key_metadata) one.setFooter_signing_key_metadata(text(long))
      for {
        group <- one.getRow_groups.asScala
        chunk <- group.getColumns.asScala
        crypto = chunk.getCrypto_metadata if crypto != null && crypto.isSetENCRYPTION_WITH_COLUMN_KEY
        key = crypto.getENCRYPTION_WITH_COLUMN_KEY if new String(key.getKey_metadata, UTF_8) == "column-1"
      } key.setKey_metadata(text("y"))
      assertEquals(parsed(edited), one)
      assert(edited.sameElements(bytesOf(one)))
    }
  }

  test("unknown fields are kept") {
    // Field 9, then a field 200 in the long form, of a struct with a list of booleans, and the end.
    val bytes = Array(0x98, 0x06).map(_.toByte) ++ text("footer") ++ Array(0x0c, 0x90, 0x03).map(_.toByte) ++
      Array(0x19, 0x21, 0x01, 0x02, 0x00, 0x00).map(_.toByte)
    val edited = replaced(bytes, "footer" -> "new")
    assertEquals(
      edited.toSeq,
      (Array(0x98, 0x03).map(_.toByte) ++ text("new") ++ bytes.drop(2 + "footer".length)).toSeq
    )
  }

  test("crypto metadata gets new key metadata and keeps its algorithm") {
    val algorithm = new AesGcmV1
    algorithm.setAad_prefix(text("key"))
    algorithm.setAad_file_unique(text("12345678"))
    val crypto = new FileCryptoMetaData(EncryptionAlgorithm.AES_GCM_V1(algorithm))
    crypto.setKey_metadata(text("key"))
    val out = new ByteArrayOutputStream
    Util.writeFileCryptoMetaData(crypto, out)
    val before = Array.fill(5)(7.toByte) ++ out.toByteArray
    val edited =
      replace(before, 5, before.length, OfCryptoMetadata)(Map(ByteBuffer.wrap(text("key")) -> text("other")))
    crypto.setKey_metadata(text("other"))
    assertEquals(Util.readFileCryptoMetaData(new ByteArrayInputStream(edited)), crypto)
  }
}
