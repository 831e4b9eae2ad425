package io.pmeparquet.orc

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.ISO_8859_1
import java.nio.file.{Files, Paths}
import java.util.{ArrayList, Base64, Random}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, Path, RawLocalFileSystem}
import org.apache.orc.{CompressionKind, EncryptionAlgorithm, InMemoryKeystore, OrcFile}

import io.pmeparquet.{BlockDigests, PmeException, Secret}
import io.pmeparquet.columns.{ColumnKeys, UnlistedColumns}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.options.{OrcReadSettings, OrcWriteSettings}
import io.pmeparquet.orc.keys.{OrcScope, OrcScopes}
import io.pmeparquet.orc.tail.{OpenedOrc, OrcFiles, OrcTail}

/** New local keys for single ORC files; ORC's own reader with its memory provider is the other side. */
class OrcRekeySuite extends FunSuite {
  import OrcFiles._

  private def master(seed: Int, bytes: Int) = Array.tabulate[Byte](bytes)(i => (i * 3 + seed).toByte)
  private val masters = Map(
    "pii" -> Array.tabulate[Byte](32)(_.toByte),
    "pay@3" -> Array.tabulate[Byte](32)(i => (i + 90).toByte),
    "pii-2" -> master(11, 32),
    "pay-2@1" -> master(12, 16)
  )

  private def use(names: String*) = {
    val lines = names.map(name => s"$name=${Base64.getEncoder.encodeToString(masters(name))}")
    KmsUse(
      StaticSettings(new Secret(lines.mkString("\n"))),
      Some(OrcRotationSuite.Here),
      KeyAudit.off(KeyPurpose.Read)
    )
  }

  /** Of ORC itself. */
  private def renewed: InMemoryKeystore = new InMemoryKeystore(new Random(3))
    .addKey("pii-2", EncryptionAlgorithm.AES_CTR_256, masters("pii-2"))
    .addKey("pay-2", 1, EncryptionAlgorithm.AES_CTR_128, masters("pay-2@1"))

  private def reading(names: String*): OrcScope =
    OrcScopes.forRead(use(names: _*), Nil, OrcReadSettings.withoutRequirements(100000), conf)

  private val columns = "pii-2: ssn, address.street, m; pay-2@1: salary, tags, x"

  private def rekey(
      source: Path,
      name: String,
      columns: String = columns,
      unlisted: UnlistedColumns = UnlistedColumns.Plaintext,
      from: OrcScope = reading("pii", "pay@3"),
      listed: Option[BlockDigests] = None,
      to: Configuration = conf
  ): Path = {
    val settings = OrcWriteSettings(ColumnKeys.parse(columns), unlisted, None, caseSensitive = true)
    val keys = OrcScopes.forWrite(use(masters.keys.toSeq: _*), Nil, settings.masterKeys, None, conf)
    val staged = new Path(directory.resolve(name).toUri)
    val check = reading(masters.keys.toSeq: _*)
    val made = new OrcRekey(from, keys, settings, check, () => ()).write(source, conf, staged, to, listed)
    assertEquals(made.bytes, length(staged))
    staged
  }

  private val nobody = new InMemoryKeystore(new Random(3))
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  /** All encrypted streams of a file, as they are stored. */
  private def streams(path: Path): Seq[Seq[Byte]] = OpenedOrc.using(path, length(path), conf) { file =>
    val content = bytes(path)
    (file.encryptedStreams ++ file.end.get.statistics)
      .filter(_.length > 16)
      .map(one => content.slice(one.offset.toInt, (one.offset + one.length).toInt).toSeq)
      .toList
  }

  for (compression <- compressions)
    test(s"ORC's reader opens a file with its new keys alone, and finds all statistics right: $compression") {
      val source = write(s"rekey-$compression.orc", options(keys(), compression = compression))
      val made = rekey(source, s"rekeyed-$compression.orc")
      assertEquals(cells(made, renewed), cells(source, keys()))
      assertEquals(cells(made, keys()), cells(source, nobody))
      val found = OrcVerification.of(made, length(made), conf, renewed, () => ())
      assertEquals((found.rows, found.masked, found.findings), (1200L, Nil, Nil))
      val (before, after) = (checked(source), checked(made))
      assertEquals(
        after.stripes.map(one => (one.offset, one.indexLength, one.dataLength, one.footerLength, one.rows)),
        before.stripes.map(one => (one.offset, one.indexLength, one.dataLength, one.footerLength, one.rows))
      )
      assertEquals(after.encryption.get.masks, before.encryption.get.masks)
      assertEquals(
        after.encryption.get.keys.map(key => key.display -> key.algorithm.name).toSet,
        Set("pii-2@0" -> "AES_CTR_256", "pay-2@1" -> "AES_CTR_128")
      )
      val (old, now) = (streams(source), streams(made))
      assertEquals(now.map(_.size), old.map(_.size))
      assert(old.size > 20)
      assertEquals(now.intersect(old), Nil)
    }

  test("each local key of a merged file gets a new one of its own") {
    val parts = new ArrayList[Path]
    Seq(1, 2).foreach { seed =>
      val own = keys()
      (1 until seed).foreach(_ => own.createLocalKey(own.getCurrentKeyVersion("pii")))
      parts.add(write(s"rekey-part-$seed.orc", options(own), seed = seed))
    }
    val merged = new Path(directory.resolve("rekey-merged.orc").toUri)
    assertEquals(OrcFile.mergeFiles(merged, options(keys()), parts).size, 2)
    val made = rekey(merged, "rekeyed-merged.orc")
    assertEquals(cells(made, renewed), cells(merged, keys()))
    val (before, after) = (checked(merged), checked(made))
    assertEquals(after.stripes.map(_.encryptionId), before.stripes.map(_.encryptionId))
    def keysOf(tail: OrcTail) = tail.variants.flatMap { one =>
      (one.encryptedKey +: tail.stripes.map(_.encryptedKeys(one.id))).map(_.toSeq).distinct
    }
    assertEquals(keysOf(after).distinct.size, keysOf(before).size)
    assertEquals(keysOf(after).intersect(keysOf(before)), IndexedSeq.empty[Seq[Byte]])
  }

  test("a file under key material gets keys that ORC itself opens") {
    val source =
      write("rekey-material.orc", options(null).setKeyProvider(new OrcRotationSuite.Wrapping))
    val keys = io.pmeparquet.parquet.rotation.RotationKeys.open(
      OrcRotationSuite.Held,
      None,
      io.pmeparquet.options.Settings.forRead(new io.pmeparquet.options.OptionValues(Map.empty)),
      OrcRotationSuite.Here
    )
    val from = OrcScopes.forRotation(keys.source, keys.route, 100000)
    val made = rekey(source, "rekeyed-material.orc", from = from)
    assertEquals(cells(made, renewed), cells(source, new OrcRotationSuite.Wrapping))
  }

  test("other columns than those that are encrypted are refused") {
    val source = write("rekey-columns.orc", options(keys()))
    val other = Seq(
      "pii-2: ssn, address.street, m; pay-2@1: salary, tags",
      "pii-2: ssn, address.street, m; pay-2@1: salary, tags, x, id",
      "pii-2: ssn, address, m; pay-2@1: salary, tags, x",
      "pii-2: ssn, address.street, m.key; pay-2@1: salary, tags, x, m.value"
    )
    for ((columns, index) <- other.zipWithIndex)
      assertEquals(condition(rekey(source, s"no-$index.orc", columns)), "PME_UNSUPPORTED", columns)
    // Each column may get a key of its own.
    val split = "pii-2: ssn, m, tags, x; pay-2@1: salary, address.street"
    assertEquals(cells(rekey(source, "rekeyed-split.orc", split), renewed), cells(source, keys()))
  }

  test("a wrong or missing key, and a damaged file, write nothing that is taken") {
    val source = write("rekey-wrong.orc", options(keys()))
    assertEquals(condition(rekey(source, "missing.orc", from = reading("pii"))), "PME_KEY_DENIED")
    val content = bytes(source)
    val at = OrcFiles.tail(source).stripes.head.footerOffset.toInt + 5
    content(at) = (content(at) ^ 1).toByte
    val bent = put("rekey-bent.orc", content)
    assert(Set("PME_DAMAGED_FILE", "PME_UNSUPPORTED").contains(condition(rekey(bent, "bent-2.orc"))))
    val plain = write("rekey-plain.orc", options(null, of = "struct<ssn:string,a:int>", encrypt = null))
    assertEquals(condition(rekey(plain, "plain-2.orc", "pii-2: ssn")), "PME_UNSUPPORTED")
  }

  test("a file of no bytes stays one") {
    val made = rekey(put("rekey-empty.orc", Array.emptyByteArray), "empty-2.orc")
    assertEquals(length(made), 0L)
  }

  test("a file of a snapshot is copied as the snapshot lists it, and any other byte is an error") {
    val source = write("rekey-listed.orc", options(keys()))
    val content = bytes(source)
    val listed = BlockDigests.of(new ByteArrayInputStream(content)).blocks
    assertEquals(cells(rekey(source, "listed-2.orc", listed = Some(listed)), renewed), cells(source, keys()))
    for (at <- Seq(5, content.length / 2, content.length - 200)) {
      put("rekey-listed.orc", content.updated(at, (content(at) ^ 1).toByte))
      assertEquals(
        condition(rekey(source, s"listed-$at.orc", listed = Some(listed))),
        "PME_SNAPSHOT_MISMATCH"
      )
    }
    put("rekey-listed.orc", Array.emptyByteArray)
    assertEquals(condition(rekey(source, "listed-3.orc", listed = Some(listed))), "PME_UNSUPPORTED")
  }

  test("a new file whose end was replaced before it was read again is not taken") {
    val source = write("rekey-end.orc", options(keys(), compression = CompressionKind.NONE))
    val bending = new Configuration(conf)
    bending.set("fs.file.impl", classOf[BendingFileSystem].getName)
    bending.setBoolean("fs.file.impl.disable.cache", true)
    assertEquals(condition(rekey(source, "end-2.orc", to = bending)), "PME_DAMAGED_FILE")
  }
}

/** Changes the name of a column in a file of ours before it is opened: it is in the footer only. */
final class BendingFileSystem extends RawLocalFileSystem {
  override def open(path: Path, bufferSize: Int): FSDataInputStream = {
    val file = Paths.get(path.toUri.getPath)
    val content = Files.readAllBytes(file)
    val at = new String(content, ISO_8859_1).lastIndexOf("odd.name")
    Files.write(file, content.updated(at, 'x'.toByte))
    super.open(path, bufferSize)
  }
}
