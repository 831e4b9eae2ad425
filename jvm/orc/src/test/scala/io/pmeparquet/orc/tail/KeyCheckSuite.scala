package io.pmeparquet.orc.tail

import java.util.Random
import javax.crypto.{Cipher, SecretKey}
import javax.crypto.spec.{IvParameterSpec, SecretKeySpec}

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{CompressionKind, EncryptionAlgorithm, InMemoryKeystore, OrcProto}
import org.apache.orc.impl.{CryptoUtils, HadoopShims}
import org.apache.orc.protobuf.{ByteString, UnknownFieldSet}

import io.pmeparquet.PmeException

class KeyCheckSuite extends FunSuite {
  import OrcFiles._

  private def local(keys: InMemoryKeystore, variant: OrcVariant, bits: Int): SecretKey = {
    val algorithm = if (bits == 128) EncryptionAlgorithm.AES_CTR_128 else EncryptionAlgorithm.AES_CTR_256
    keys
      .decryptLocalKey(
        new HadoopShims.KeyMetadata(variant.key.name, variant.key.version, algorithm),
        variant.encryptedKey
      )
      .asInstanceOf[SecretKey]
  }

  private def passes(path: Path, bits: Int): Unit = {
    val found = tail(path)
    found.variants.foreach { variant =>
      assertEquals(
        KeyCheck.mismatch(found, variant, local(keys(bits), variant, bits)),
        None,
        s"$path $variant"
      )
    }
  }

  for (compression <- compressions; bits <- Seq(128, 256))
    test(s"the right key passes for each variant: $compression, $bits bits")(
      passes(write(s"key-$compression-$bits.orc", options(keys(bits), compression = compression)), bits)
    )

  test("the right key passes for a file without rows") {
    passes(write("key-empty.orc", options(keys(), compression = CompressionKind.NONE), rows = 0), 256)
  }

  for (compression <- Seq(CompressionKind.NONE, CompressionKind.ZLIB))
    test(s"none of 2,000 wrong keys passes: $compression") {
      val random = new Random(18)
      // Of one column without values in it: the fewest bytes that statistics can have.
      val of = "struct<a:int,b:struct<c:int>>"
      val small = options(keys(), of, compression, encrypt = "pii:a;pay:b", masks = "nullify:a,b")
      val files = Seq(
        write(s"wrong-$compression.orc", options(keys(), compression = compression)),
        write(s"wrong-small-$compression.orc", small, rows = 0)
      )
      files.map(tail).foreach { found =>
        (0 until 1000).foreach { _ =>
          val key = new Array[Byte](32)
          random.nextBytes(key)
          found.variants.foreach { variant =>
            assert(KeyCheck.mismatch(found, variant, new SecretKeySpec(key, "AES")).isDefined)
          }
        }
      }
    }

  test("a wrong key is an error that names column and key") {
    val found = tail(write("error.orc", options(keys())))
    val failed = intercept[PmeException](
      KeyCheck.require(found, found.variants.head, new SecretKeySpec(new Array[Byte](32), "AES"))
    )
    assertEquals(failed.getCondition(), "PME_NOT_AUTHENTIC")
    assert(failed.problem.contains("with key 'p"), failed.problem)
    assert(failed.problem.contains("AES-CTR cannot tell which"), failed.problem)
  }

  test("the key of another variant, file or length does not fit") {
    val found = tail(write("other.orc", options(keys(), compression = CompressionKind.NONE)))
    val (first, last) = (found.variants.head, found.variants.last)
    assert(KeyCheck.mismatch(found, last, local(keys(), first, 256)).isDefined)
    val short = local(keys(), first, 256).getEncoded.take(16)
    assert(KeyCheck.mismatch(found, first, new SecretKeySpec(short, "AES")).exists(_.contains("256 bits")))
  }

  test("what a key opens must be statistics of the column") {
    val file = new Rewritten(
      write("crafted.orc", options(keys(), compression = CompressionKind.NONE))
    )
    val original = tail(put("crafted-0.orc", file.bytes))
    val variant = original.variants.find(one => original.types(one.root).kind == "LIST").get
    val key = local(keys(), variant, 256)

    def found(change: OrcProto.FileStatistics.Builder => Any): Option[String] = {
      val statistics =
        OrcProto.FileStatistics.parseFrom(ctr(key, variant.root, 4, variant.fileStatistics)).toBuilder
      change(statistics)
      val footer = file.footer
      footer.getEncryptionBuilder
        .getVariantsBuilder(variant.id)
        .setFileStatistics(ByteString.copyFrom(ctr(key, variant.root, 4, statistics.build().toByteArray)))
      val changed = tail(put("crafted.orc", file.withFooter(footer)))
      KeyCheck.mismatch(changed, changed.variants(variant.id), key)
    }
    def mustSay(why: String)(change: OrcProto.FileStatistics.Builder => Any): Unit =
      assert(found(change).exists(_.contains(why)), s"${found(change)}: $why")

    assertEquals(found(identity), None)
    mustSay("no encrypted statistics")(_.clear())
    mustSay("fewer entries than columns")(_.removeColumn(1))
    mustSay("more entries than columns")(all => all.addColumn(all.getColumn(0)))
    mustSay("more values than the file has rows")(_.getColumnBuilder(0).setNumberOfValues(1201))
    // A list has elements, not rows.
    assertEquals(found(_.getColumnBuilder(1).setNumberOfValues(1201)), None)
    mustSay("are not of its type") {
      _.getColumnBuilder(0).clearCollectionStatistics().getIntStatisticsBuilder.setMinimum(1)
    }
    mustSay("whether it has nulls")(_.getColumnBuilder(0).clearHasNull())
    mustSay("how many values")(_.getColumnBuilder(0).clearNumberOfValues())
    mustSay("which the format does not have") {
      _.getColumnBuilder(0).setUnknownFields(
        UnknownFieldSet.newBuilder.addField(40, UnknownFieldSet.Field.newBuilder.addVarint(1).build()).build()
      )
    }
  }

  /** AES-CTR with ORC's initialization vector of the statistics of a file. */
  private def ctr(key: SecretKey, column: Int, stripe: Long, bytes: Array[Byte]): Array[Byte] = {
    val cipher = EncryptionAlgorithm.AES_CTR_256.createCipher()
    val iv = new Array[Byte](16)
    CryptoUtils.modifyIvForStream(column, OrcProto.Stream.Kind.FILE_STATISTICS, stripe).accept(iv)
    cipher.init(Cipher.DECRYPT_MODE, key, new IvParameterSpec(iv))
    cipher.doFinal(bytes)
  }
}
