package io.pmeparquet.orc

import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.nio.file.{Files, Paths, StandardCopyOption}
import java.security.{Key, SecureRandom}
import java.util.Collections

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{CompressionKind, EncryptionAlgorithm, OrcFile, OrcProto}
import org.apache.orc.impl.{HadoopShims, KeyProvider, LocalKey}
import org.apache.orc.protobuf.{ByteString, UnknownFieldSet}

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.keys.{KeyBrokers, KeyRoute, Kms, KmsSource, WrappedKey}
import io.pmeparquet.material.{DoubleWrapper, JobKeks, KeyMaterial, LocalWrap}
import io.pmeparquet.options.{OptionValues, Settings}
import io.pmeparquet.orc.keys.OrcScopes
import io.pmeparquet.orc.tail.{OrcFiles, Rewritten}
import io.pmeparquet.parquet.rotation.{FileNeeds, RotatedFooter, RotationKeys}
import io.pmeparquet.parquet.storage.ListedFile

/** Rotation of single ORC files, with ORC's own writer and reader, and a KMS in this process that gives no key out. */
class OrcRotationSuite extends FunSuite {
  import OrcFiles._
  import OrcRotationSuite._

  private val all = Map("pii" -> "pii-2", "pay" -> "pay-2@3")

  private def listed(path: Path): ListedFile = {
    val status = path.getFileSystem(conf).getFileStatus(path)
    ListedFile(path.toString, status.getLen, status.getModificationTime, hasExternalMaterial = false)
  }

  private final class Rotating(
      names: Option[Map[String, String]],
      kms: Kms = Held,
      after: Option[Kms] = None,
      external: Boolean = false
  ) {
    private val keys = RotationKeys.open(kms, after, Settings.forRead(new OptionValues(Map.empty)), Here)
    private val scope = OrcScopes.forRotation(keys.source, keys.route, 100000)
    val rotation = new OrcRotation(scope, names, external)

    def look(path: Path): FileNeeds = rotation.look(listed(path), conf)

    def changes(needs: FileNeeds): Map[WrappedKey, WrappedKey] = needs match {
      case needs: FileNeeds.Keys =>
        val wanted = needs.keys.flatMap(key => rotation.target(key.masterKeyId).map(key -> _))
        keys.rewrap(wanted, "rotation").map { case (key, made) =>
          key -> made.fold(failed => throw failed, identity)
        }
      case other => fail(s"$other")
    }

    def apply(path: Path): Option[RotatedFooter] = {
      val file = listed(path)
      rotation.change(file, changes(rotation.look(file, conf)), conf)
    }
  }

  private def written(
      name: String,
      provider: KeyProvider = new Wrapping,
      compression: CompressionKind = CompressionKind.ZLIB,
      seed: Int = 1
  ): Path = write(name, options(null, compression = compression).setKeyProvider(provider), seed = seed)

  /** All rows as ORC's own reader shows them to whoever may use some master keys. */
  private def cells(path: Path, masters: String*): Seq[String] =
    OrcFiles.cells(path, new Wrapping(masters.toSet))

  private def text(path: Path) = new String(bytes(path), ISO_8859_1)
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()
  private def unchanged[A](path: Path)(run: => A): A = {
    val before = bytes(path).toSeq
    val done = run
    assertEquals(bytes(path).toSeq, before)
    done
  }

  for (compression <- compressions; twice <- Seq(true, false)) {
    val wrapping = if (twice) "double" else "single"
    test(s"after its rotation ORC's reader opens a file with the new keys alone: $compression, $wrapping") {
      val path = written(s"rotated-$compression-$wrapping.orc", new Wrapping(twice = twice), compression)
      val (before, old) = (bytes(path), OrcFiles.tail(path))
      val (seen, masked) = (cells(path, "pii", "pay@3"), cells(path))
      assertNotEquals(seen, masked)
      val done = new Rotating(Some(Map("pii" -> "pii-2", "pay@3" -> "pay-2@3")))(path).get
      assertEquals(cells(path, "pii-2", "pay-2@3"), seen)
      assertEquals(cells(path, "pii", "pay@3"), masked)
      val footer = new Rewritten(path).footerAt
      assertEquals(bytes(path).take(footer).toSeq, before.take(footer).toSeq)
      assertEquals(done.after.length, length(path))
      val after = checked(path)
      assertEquals(after.encryption.get.keys.map(_.display), IndexedSeq("pay-2@3", "pii-2@0"))
      assertEquals(after.stripes.map(_.encryptionId), old.stripes.map(_.encryptionId))
      val found =
        OrcVerification.of(path, length(path), conf, new Wrapping(Set("pii-2", "pay-2@3")), () => ())
      assertEquals((found.rows, found.masked, found.findings), (1200L, Nil, Nil))
      if (compression == CompressionKind.NONE)
        assertEquals("\"masterKeyID\":\"[^\"]*\"".r.findAllIn(text(path)).toSet.size, 2)
    }
  }

  test("keys under other master keys stay as they are, and are not asked for") {
    val path = written("one.orc")
    val (seen, before) = (cells(path, "pii", "pay@3"), OrcFiles.tail(path))
    val kms = new Lacking("pay@3")
    new Rotating(Some(Map("pii" -> "pii-2")), kms)(path)
    assertEquals(cells(path, "pii-2", "pay@3"), seen)
    val after = OrcFiles.tail(path)
    val stay = before.variants.filter(_.key.name == "pay").map(_.id)
    assertEquals(
      stay.map(after.variants(_).encryptedKey.toSeq),
      stay.map(before.variants(_).encryptedKey.toSeq)
    )
  }

  test("two master keys may become one, and without names keys are wrapped again under their own") {
    val path = written("together.orc")
    val seen = cells(path, "pii", "pay@3")
    new Rotating(Some(Map("pii" -> "both", "pay@3" -> "both")))(path)
    assertEquals(cells(path, "both"), seen)
    val wrapped = OrcFiles.tail(path).variants.map(_.encryptedKey.toSeq)
    new Rotating(None)(path)
    assertEquals(cells(path, "both"), seen)
    assertEquals(OrcFiles.tail(path).variants.map(_.encryptedKey.toSeq).intersect(wrapped), IndexedSeq.empty)
  }

  test("a merged file gets new keys in each of its parts") {
    val parts = Seq(1, 2).map(seed => written(s"part-$seed.orc", seed = seed))
    val path = new Path(directory.resolve("rotated-merged.orc").toUri)
    val list = new java.util.ArrayList[Path]
    parts.foreach(list.add)
    assertEquals(OrcFile.mergeFiles(path, options(null).setKeyProvider(new Wrapping), list).size, 2)
    val old = OrcFiles.tail(path)
    assertEquals(old.stripes.map(_.encryptionId), IndexedSeq[Long](1, 2, 3, 1, 2, 3))
    assert(!old.stripes.head.encryptedKeys.head.sameElements(old.stripes(3).encryptedKeys.head))
    val (seen, masked) = (cells(path, "pii", "pay@3"), cells(path))
    assertNotEquals(seen, masked)
    new Rotating(Some(Map("pii" -> "pii-2", "pay@3" -> "pay-2@3")))(path)
    assertEquals(cells(path, "pii-2", "pay-2@3"), seen)
    assertEquals(cells(path, "pii", "pay@3"), masked)
    assertEquals(checked(path).stripes.map(_.encryptionId), old.stripes.map(_.encryptionId))
  }

  test("a wrapped key that opens nothing of the file is not wrapped again: in the footer, and in a stripe") {
    val stranger = new Wrapping().createLocalKey(metadata("pii", 0)).getEncryptedKey
    val path = written("planted.orc")
    def withFooter(change: OrcProto.Footer.Builder => Any) = {
      val file = new Rewritten(path, new Wrapping)
      val changed = file.footer
      change(changed)
      put("planted-2.orc", file.withFooter(changed))
    }
    val ofPii = OrcFiles.tail(path).variants.filter(_.key.name == "pii").map(_.id).head
    val places = Seq[OrcProto.Footer.Builder => Any](
      _.getEncryptionBuilder.getVariantsBuilder(ofPii).setEncryptedKey(ByteString.copyFrom(stranger)),
      _.getStripesBuilder(0).setEncryptedLocalKeys(ofPii, ByteString.copyFrom(stranger)),
      { footer =>
        val keys = footer.getStripes(0).getEncryptedLocalKeysList
        footer
          .getStripesBuilder(2)
          .addAllEncryptedLocalKeys(keys)
          .setEncryptedLocalKeys(
            ofPii,
            ByteString.copyFrom(stranger)
          )
      }
    )
    for (place <- places) {
      val planted = withFooter(place)
      unchanged(planted) {
        assertEquals(condition(new Rotating(Some(all)).look(planted)), "PME_NOT_AUTHENTIC")
      }
      // What is not to change need not be proven.
      new Rotating(Some(Map("pay@3" -> "x"))).look(planted)
    }
  }

  test("a wrapped key of a stripe without rows, or without row groups, is proven by nothing") {
    val stranger = ByteString.copyFrom(new Wrapping().createLocalKey(metadata("pii", 0)).getEncryptedKey)
    val path = written("rowless.orc")
    val variant = OrcFiles.tail(path).variants.filter(_.key.name == "pii").head
    val emptied = {
      val file = new Rewritten(path, new Wrapping)
      val stripe = file.stripeFooter
      stripe.getColumnsBuilderList.asScala.foreach(_.setDictionarySize(0))
      stripe.getEncryptionBuilderList.asScala
        .flatMap(_.getEncodingBuilderList.asScala)
        .foreach(_.setDictionarySize(0))
      val streams = stripe.getEncryptionBuilder(variant.id).getStreamsBuilderList.asScala
      val (index, others) = streams.partition { one =>
        one.getKind == OrcProto.Stream.Kind.ROW_INDEX && one.getColumn == variant.root
      }
      // The streams take as much room as before.
      others.last.setLength(others.last.getLength + index.head.getLength)
      index.head.setLength(0)
      put("rowless-2.orc", file.withStripeFooter(stripe))
    }
    def planted(of: Path)(change: (OrcProto.Footer.Builder, OrcProto.StripeInformation.Builder) => Any) = {
      val file = new Rewritten(of, new Wrapping)
      val footer = file.footer
      val last = footer.getStripesBuilder(footer.getStripesCount - 1)
      last.addAllEncryptedLocalKeys(footer.getStripes(0).getEncryptedLocalKeysList)
      last.setEncryptedLocalKeys(variant.id, stranger)
      change(footer, last)
      put("rowless-3.orc", file.withFooter(footer))
    }
    val files = Seq(
      () =>
        planted(emptied) { (footer, last) =>
          val first = footer.getStripesBuilder(0)
          first.setNumberOfRows(first.getNumberOfRows + last.getNumberOfRows)
          last.setNumberOfRows(0)
        },
      () => planted(emptied)((footer, _) => footer.setRowIndexStride(0)),
      () => planted(path)((footer, _) => footer.setRowIndexStride(0)),
      () => planted(emptied)((_, _) => ())
    )
    for ((file, at) <- files.zipWithIndex) {
      val made = file()
      checked(made)
      assertEquals(condition(new Rotating(Some(all)).look(made)), "PME_NOT_AUTHENTIC", at)
    }
  }

  test("local keys that a master key itself encrypts are refused, and stay where they are not meant") {
    val path = write("raw.orc", options(keys()))
    for (names <- Seq(None, Some(Map("pii" -> "pii-2")), Some(Map("pii@0" -> "pii-2"))))
      unchanged(path)(assertEquals(condition(new Rotating(names).look(path)), "PME_UNSUPPORTED"))
    new Rotating(Some(Map("other" -> "x"))).look(path) match {
      case needs: FileNeeds.Keys =>
        assertEquals(needs.keys.map(_.masterKeyId).toSet, Set("pii", "pay@3"))
        assertEquals(needs.met.toSet, Set("pii", "pay@3"))
      case other => fail(s"$other")
    }
  }

  test("files without an encrypted column and without rows have nothing to rotate or open afterwards") {
    val plain = write("plain-rotation.orc", options(null, of = "struct<a:int>", encrypt = null), rows = 10)
    assertEquals(new Rotating(None).look(plain), FileNeeds.Nothing("it is not encrypted"))
    assertEquals(
      new Rotating(None).look(put("empty-rotation.orc", Array.emptyByteArray)),
      FileNeeds.Nothing("it is empty")
    )
    val none = write("no-rows-rotation.orc", options(null).setKeyProvider(new Wrapping), rows = 0)
    new Rotating(Some(Map("pii" -> "pii-2", "pay@3" -> "pay-2")))(none)
    assertEquals(checked(none).encryption.get.keys.map(_.display), IndexedSeq("pay-2@0", "pii-2@0"))
    assertEquals(cells(none, "pii-2", "pay-2"), Nil)
  }

  test("a footer with a part that nobody knows is refused: it may hold keys") {
    val path = written("unknown.orc")
    val file = new Rewritten(path, new Wrapping)
    val field = UnknownFieldSet.newBuilder
      .addField(99, UnknownFieldSet.Field.newBuilder.addVarint(1).build)
      .build
    val places = Seq[OrcProto.Footer.Builder => Any](
      _.setUnknownFields(field),
      _.getEncryptionBuilder.setUnknownFields(field),
      _.getStripesBuilder(1).setUnknownFields(field)
    )
    for (place <- places) {
      val changed = file.footer
      place(changed)
      val altered = put("unknown-2.orc", file.withFooter(changed))
      checked(altered)
      assertEquals(condition(new Rotating(None).look(altered)), "PME_UNSUPPORTED")
    }
  }

  test("the footer of a stripe, or statistics, with a part that nobody knows are refused") {
    val path = written("unknown-inside.orc", compression = CompressionKind.NONE)
    val file = new Rewritten(path, new Wrapping)
    val field = UnknownFieldSet.newBuilder
      .addField(99, UnknownFieldSet.Field.newBuilder.addVarint(1).build)
      .build
    val stripe = file.stripeFooter
    stripe.getEncryptionBuilder(0).setUnknownFields(field)
    val inStripe = put("unknown-inside-2.orc", file.withStripeFooter(stripe))
    val inStatistics = {
      val more = field.toByteArray
      val post = file.postScript
      val last = post.setMetadataLength(post.getMetadataLength + more.length).build().toByteArray
      // The statistics are before the footer.
      val (before, end) = bytes(path).splitAt(file.footerAt)
      val footer = end.take(post.getFooterLength.toInt)
      put("unknown-inside-3.orc", before ++ more ++ footer ++ last :+ last.length.toByte)
    }
    for (altered <- Seq(inStripe, inStatistics)) {
      checked(altered)
      assertEquals(condition(new Rotating(None).look(altered)), "PME_UNSUPPORTED")
    }
  }

  test("bytes between stripes are refused, since they may be older footers, and padding is not") {
    val path = written("between.orc")
    val end = OrcFiles.tail(path).stripes.last.end.toInt
    def withBytes(more: Array[Byte]) =
      put("between-2.orc", bytes(path).take(end) ++ more ++ bytes(path).drop(end))
    val padded = withBytes(new Array[Byte](100000))
    val seen = cells(padded, "pii", "pay@3")
    assertEquals(seen, cells(path, "pii", "pay@3"))
    new Rotating(Some(Map("pii" -> "pii-2")))(padded)
    assertEquals(cells(padded, "pii-2", "pay@3"), seen)
    for (at <- Seq(0, 65536, 99999)) {
      val left = withBytes(new Array[Byte](100000).updated(at, 1.toByte))
      checked(left)
      assertEquals(condition(new Rotating(None).look(left)), "PME_UNSUPPORTED")
    }
  }

  test("key material beside the file is refused") {
    val path = written("beside.orc")
    assertEquals(condition(new Rotating(None, external = true).look(path)), "PME_UNSUPPORTED")
  }

  test("a file that was replaced after the look is refused, and one that is done stays") {
    val path = written("meanwhile.orc")
    val rotating = new Rotating(Some(Map("pii" -> "pii-2")))
    val file = listed(path)
    val changes = rotating.changes(rotating.look(path))
    val other = local(written("meanwhile-2.orc", seed = 2))
    Files.copy(other, local(path), StandardCopyOption.REPLACE_EXISTING)
    unchanged(path)(
      assertEquals(condition(rotating.rotation.change(file, changes, conf)), "PME_UNSUPPORTED")
    )
    // Of the same keys, and yet not what was looked at.
    val again = listed(path)
    val own = rotating.changes(rotating.look(path))
    Files.setLastModifiedTime(local(path), java.nio.file.attribute.FileTime.fromMillis(1000))
    unchanged(path)(assertEquals(condition(rotating.rotation.change(again, own, conf)), "PME_UNSUPPORTED"))
    assert(rotating.rotation.change(listed(path), own, conf).isDefined)
    // Another attempt of the task, after the first one.
    unchanged(path)(assertEquals(rotating.rotation.change(again, own, conf), None))
    rotating.look(path) match {
      case needs: FileNeeds.Keys => assertEquals(needs.met.toSet, Set("pii-2", "pii", "pay@3"))
      case found => fail(s"$found")
    }
  }

  test("new keys that a reader would refuse are not written") {
    val path = written("long.orc")
    val long = new Held("here") {
      override def wrap(key: AesKey, masterKeyId: String, where: String): String =
        super.wrap(key, masterKeyId, where) + "=" * (if (masterKeyId == "pii-2") 5000 else 0)
      override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
        super.unwrap(
          wrapped.take(wrapped.length.min(wrapped.indexOf("=====") match {
            case -1 => wrapped.length
            case at => at
          })),
          masterKeyId,
          where
        )
    }
    unchanged(path)(
      assertEquals(condition(new Rotating(Some(Map("pii" -> "pii-2")), long)(path)), "PME_DAMAGED_FILE")
    )
  }

  test("keys move to another KMS, and a file with keys of that one is left") {
    val path = written("moved.orc")
    val seen = cells(path, "pii", "pay@3")
    new Rotating(None, after = Some(new Held("elsewhere")))(path)
    intercept[Exception](cells(path, "pii", "pay@3"))
    val done = new Rotating(None, after = Some(new Held("elsewhere")))
    unchanged(path)(assertEquals(done(path), None))
    new Rotating(None, kms = new Held("elsewhere"), after = Some(Held))(path)
    assertEquals(cells(path, "pii", "pay@3"), seen)
  }

  private def local(path: Path) = Paths.get(path.toUri.getPath)
}

private object OrcRotationSuite {
  private val random = new SecureRandom

  object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
  }

  def metadata(name: String, version: Int): HadoopShims.KeyMetadata =
    new HadoopShims.KeyMetadata(name, version, EncryptionAlgorithm.AES_CTR_256)

  /** A KMS that has every master key, and gives none out. */
  class Held(realm: String) extends Kms {
    override def describe: String = s"held keys $realm"
    override def wrap(key: AesKey, masterKeyId: String, where: String): String =
      LocalWrap.wrap(key, master(masterKeyId), LocalWrap.aadOf(masterKeyId), random, where)
    override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
      LocalWrap.unwrap(wrapped, master(masterKeyId), LocalWrap.aadOf(masterKeyId), where, masterKeyId)
    override def directKey(id: String, where: String): Option[AesKey] = None
    private def master(id: String) =
      AesKey.of(io.pmeparquet.Sha256.ofBytes(s"$realm:$id".getBytes(UTF_8)), "test").toSecretKey
  }
  object Held extends Held("here")

  class Lacking(id: String) extends Held("here") {
    override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey = {
      if (masterKeyId == id) throw new IllegalStateException(s"$id was asked for")
      super.unwrap(wrapped, masterKeyId, where)
    }
  }

  /** A provider of keys as Vault and clouds have them, without any class of ours that reads them: `pii`, and `pay@3`. */
  final class Wrapping(masters: Set[String] = Set("pii", "pay@3"), twice: Boolean = false)
      extends KeyProvider {
    private lazy val keks = JobKeks.make(new KmsSource(Held, 100000), Seq("pii", "pay@3"), 128, "test")

    override def getKeyNames: java.util.List[String] = Collections.emptyList()
    override def getCurrentKeyVersion(name: String): HadoopShims.KeyMetadata =
      metadata(name, if (name == "pay") 3 else 0)
    override def createLocalKey(key: HadoopShims.KeyMetadata): LocalKey = {
      val made = AesKey.random(256, random)
      val id = idOf(key)
      val material =
        if (twice) new DoubleWrapper(keks).wrap(made, id, isFooterKey = false, "test")
        else KeyMaterial(isFooterKey = false, id, Held.wrap(made, id, "test"), None)
      new LocalKey(key.getAlgorithm, made.insecureBytes, material.toJson(internal = true).getBytes(UTF_8))
    }
    override def decryptLocalKey(key: HadoopShims.KeyMetadata, encrypted: Array[Byte]): Key = {
      val material = KeyMaterial.parse(new String(encrypted, UTF_8), "test")
      if (material.masterKeyId != idOf(key)) throw new IllegalStateException("the footer names another key")
      if (!masters(material.masterKeyId)) null
      else {
        val opened = Held.unwrap(material.wrappedKey.wrapped, material.masterKeyId, "test")
        material.kek
          .fold(opened) { kek =>
            LocalWrap.unwrap(
              material.wrappedDek,
              opened.toSecretKey,
              KeyMaterial.kekAad(kek.id, "test"),
              "test",
              "kek"
            )
          }
          .toSecretKey
      }
    }
    override def getKind: HadoopShims.KeyProviderKind = HadoopShims.KeyProviderKind.HADOOP

    private def idOf(key: HadoopShims.KeyMetadata) =
      if (key.getVersion == 0) key.getKeyName else s"${key.getKeyName}@${key.getVersion}"
  }
}
