package io.pmeparquet.keys

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.Base64
import javax.crypto.AEADBadTagException

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException}
import io.pmeparquet.cipher._
import io.pmeparquet.kms.local.StaticKms
import io.pmeparquet.material.{
  DataKeyUnwrapper,
  DoubleWrapper,
  JobKeks,
  KeyMaterial,
  KeyMetadata,
  SingleWrapper
}
import io.pmeparquet.options.AadPrefix

/** What one kind of key sealed does not open as another kind of thing: the pairs of docs/threat-model.md. */
class KeyDomainsSuite extends FunSuite {
  private val random = new SecureRandom(Array[Byte](2))
  private val (master, data) = (AesKey.random(256, random), AesKey.random(128, random))
  private val kms = new StaticKms(Map("m" -> master))
  private val source = new KmsSource(kms, 0)
  private val fileUnique = Array.tabulate[Byte](ModuleAad.FileUniqueBytes)(at => (at + 40).toByte)
  private val guessed = Array.fill[Byte](16)(7)
  private val kinds = Seq(
    ModuleKind.Footer,
    ModuleKind.ColumnMetaData,
    ModuleKind.DataPage,
    ModuleKind.DictionaryPage,
    ModuleKind.DataPageHeader,
    ModuleKind.DictionaryPageHeader,
    ModuleKind.ColumnIndex,
    ModuleKind.OffsetIndex,
    ModuleKind.BloomFilterHeader,
    ModuleKind.BloomFilterBitset
  )
  private def condition(run: => Any): String = intercept[PmeException](run).getCondition()

  private def aadOf(prefix: Array[Byte], kind: ModuleKind): Array[Byte] = {
    val aad = new ModuleAad(prefix ++ fileUnique, rowGroup = 1, column = 2)
    val length = aad.select(kind, 3)
    aad.bytes.take(length)
  }
  private def text(bytes: Array[Byte]) = Base64.getEncoder.encodeToString(bytes)
  private def seal(content: Array[Byte], key: AesKey, aad: Array[Byte]) =
    new AesGcm(key, CryptoProvider.of("auto")).seal(content, aad, aad.length, random).drop(4)

  /** The file's data key called a key-encryption key, and a page of it a wrapped data key. */
  private def forged(prefix: Array[Byte], kind: ModuleKind) = {
    val honest = new SingleWrapper(source).wrap(data, "m", isFooterKey = true, "f")
    val aad = aadOf(prefix, kind)
    KeyMaterial(
      isFooterKey = true,
      "m",
      text(seal(guessed, data, aad)),
      Some(KeyMaterial.Kek(text(aad), honest.wrappedDek))
    )
  }
  private def opened(material: KeyMaterial) =
    new DataKeyUnwrapper(source, 0).unwrap(KeyMaterial.parse(material.toJson(internal = false), "f"), "f")

  test(
    "a data key called a key-encryption key opens no module as a wrapped key, under any prefix that is written"
  ) {
    for {
      bytes <- 0 to 20
      prefix = Array.fill(bytes)('p'.toByte) if AadPrefix.isApart(prefix)
      kind <- kinds
    } assertEquals(condition(opened(forged(prefix, kind))), "PME_KEY_METADATA", s"$bytes, ${kind.name}")
  }

  test(
    "prefixes under which a module would open as a wrapped key are those that no file with single wrapping is written with"
  ) {
    val open = (0 to 20).map(Array.fill(_)('p'.toByte)).filter { prefix =>
      kinds.exists { kind =>
        try opened(forged(prefix, kind)) == AesKey.of(guessed, "test")
        catch { case _: PmeException => false }
      }
    }
    assertEquals(open.map(_.length), Seq(1, 3, 7))
    open.foreach { prefix =>
      val template = AadPrefix.parse("p" * prefix.length)
      assertEquals(condition(template.toWrite("/t", "f", "w", wrapsOnce = true)), "PME_BAD_OPTION")
      // A key-encryption key that the master key wrapped seals no module.
      assertEquals(template.toWrite("/t", "f", "w", wrapsOnce = false).toSeq, prefix.toSeq)
    }
  }

  test("a prefix is checked as the bytes that its template becomes, for each file") {
    def written(template: String, directory: String, file: String) =
      AadPrefix.parse(template).toWrite(directory, file, "w", wrapsOnce = true)
    assertEquals(condition(written("{table}", "/data/t/p=1", "f")), "PME_BAD_OPTION")
    assertEquals(condition(written("{file}", "/data/t", "\u20ac")), "PME_BAD_OPTION")
    assertEquals(written("{file}", "/data/t", "\u00e9").length, 2)
    assertEquals(written("{table}/{file}", "/data/t", "f.parquet").length, 11)
  }

  test("a key-encryption key's id is sixteen bytes in the one form that base64 has for them") {
    val id = text(Array.tabulate[Byte](KeyMaterial.KekIdBytes)(_.toByte))
    val material = KeyMaterial(isFooterKey = true, "m", "d2R", Some(KeyMaterial.Kek(id, "a2Vr")))
    def parsed(kekId: String) =
      KeyMaterial.parse(
        material.copy(kek = Some(KeyMaterial.Kek(kekId, "a2Vr"))).toJson(internal = false),
        "f"
      )
    assertEquals(parsed(id), material)
    val bent = id.dropRight(3) + "x=="
    Seq(
      text(new Array[Byte](15)),
      text(new Array[Byte](17)),
      id.stripSuffix("=="),
      id.stripSuffix("="),
      bent,
      id + "\n",
      " "
    )
      .foreach(other => assertEquals(condition(parsed(other)), "PME_KEY_METADATA", other))
  }

  test("what a key-encryption key wrapped opens as no module: no module has an AAD of that length") {
    for (bytes <- 0 to 20 if AadPrefix.isApart(new Array[Byte](bytes)); kind <- kinds)
      assert(aadOf(new Array[Byte](bytes), kind).length != KeyMaterial.KekIdBytes, s"$bytes, ${kind.name}")
  }

  test(
    "the AAD of what a master key wraps is no module's: a key's name has no control character, each module's type is one"
  ) {
    for (bytes <- 0 to 20; kind <- kinds) {
      val aad = new String(aadOf(Array.fill(bytes)('p'.toByte), kind), UTF_8)
      assert(!KeyMaterial.isKeyName(aad), s"$bytes, ${kind.name}")
    }
    val named = KeyMaterial(isFooterKey = true, "m\u0000", "d2R", None)
    assertEquals(condition(KeyMaterial.parse(named.toJson(internal = false), "f")), "PME_KEY_METADATA")
    assertEquals(condition(KeyMetadata.parse("m\u0003".getBytes(UTF_8), "f")), "PME_KEY_METADATA")
  }

  test("a key wrapped under one name opens under no other, not even another name of that key") {
    val named = new KmsSource(new StaticKms(Map("m" -> master, "same" -> master, "other" -> data)), 0)
    val one = new SingleWrapper(named).wrap(data, "m", isFooterKey = true, "f")
    def openedAs(id: String) = new DataKeyUnwrapper(named, 0).unwrap(one.copy(masterKeyId = id), "f")
    assertEquals(openedAs("m"), data)
    Seq("same", "other").foreach(id => assertEquals(condition(openedAs(id)), "PME_NOT_AUTHENTIC", id))
  }

  test("a footer's signature opens as no footer, and signs no other footer") {
    val aad = aadOf(Array.emptyByteArray, ModuleKind.Footer)
    val sealedFooter = seal(guessed, data, aad)
    val signature = sealedFooter.take(ModuleFrame.NonceBytes) ++ sealedFooter.takeRight(ModuleFrame.TagBytes)
    val gcm = new AesGcm(data, CryptoProvider.of("auto"))
    def signs(content: Array[Byte]) = gcm.signs(content, 0, content.length, aad, aad.length, signature)
    assert(signs(guessed))
    assert(!signs(guessed.map(byte => (byte + 1).toByte)))
    val asKey = KeyMaterial(isFooterKey = true, "m", text(signature), None)
    assertEquals(condition(opened(asKey)), "PME_KEY_METADATA")
    intercept[AEADBadTagException](
      gcm.open(signature, 0, signature.length, aad, aad.length, new Array[Byte](signature.length), 0)
    )
  }

  test(
    "a page under CTR, of a key that serves as data key as well, opens as no wrapped key and as no module"
  ) {
    val page = new Array[Byte](64)
    val nonce = page.take(ModuleFrame.NonceBytes)
    val length = new AesCtr(master, CryptoProvider.of("auto"))
      .open(nonce ++ guessed ++ guessed, 0, nonce.length + 32, nonce, 0, page, nonce.length)
    val written = page.take(nonce.length + length)
    assertEquals(
      condition(opened(KeyMaterial(isFooterKey = true, "m", text(written), None))),
      "PME_NOT_AUTHENTIC"
    )
    val aad = aadOf(Array.emptyByteArray, ModuleKind.DataPage)
    intercept[AEADBadTagException](
      new AesGcm(master, CryptoProvider.of("auto"))
        .open(written, 0, written.length, aad, aad.length, new Array[Byte](64), 0)
    )
  }

  test("a module opens as no other kind, and at no other place") {
    val places = for (kind <- kinds; group <- 0 to 1; column <- 0 to 1; page <- 0 to 1) yield {
      val aad = new ModuleAad(fileUnique, group, column)
      val length = aad.select(kind, page)
      kind -> aad.bytes.take(length).toSeq
    }
    assertEquals(places.map(_._2).distinct.size, places.distinct.size)
  }

  test("a wrapped key opens under no other master key, and under no other key-encryption key's id") {
    val keks = JobKeks.make(source, Seq("m"), 128, "w")
    val one = new DoubleWrapper(keks).wrap(data, "m", isFooterKey = false, "f")
    assertEquals(opened(one), data)
    val other = JobKeks.make(source, Seq("m"), 128, "w").of("m")
    val moved = one.copy(kek = Some(KeyMaterial.Kek(text(other.id), one.kek.get.wrapped)))
    assertEquals(condition(opened(moved)), "PME_NOT_AUTHENTIC")
    val exchanged = one.copy(kek = Some(one.kek.get.copy(wrapped = other.wrapped)))
    assertEquals(condition(opened(exchanged)), "PME_NOT_AUTHENTIC")
    // A key-encryption key that is used as a data key opens nothing of a file but what has its id as AAD.
    assertNotEquals(opened(KeyMaterial(isFooterKey = false, "m", one.kek.get.wrapped, None)), data)
  }
}
