package io.pmeparquet.material

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException, Sha256, StoredFormats}
import io.pmeparquet.keys.{HeldKeys, KmsSource}

/** Key material and key metadata of files that earlier builds have written. */
class StoredMaterialSuite extends FunSuite with StoredFormats {
  private val masters = new HeldKeys(
    Seq("footer", "pii").map(name => name -> AesKey.of(Sha256.ofBytes(name.getBytes(UTF_8)), "test")).toMap
  )
  private def source = new KmsSource(masters, 1000)
  private val Material = "_KEY_MATERIAL_FOR_people.parquet.json"

  /** The data key with a number. */
  private def dataKey(number: Int) = AesKey.of(Array.fill(16)(number.toByte), "test")

  private val folder = stored("key-material-PKMT1") { folder =>
    val double = new DoubleWrapper(JobKeks.make(source, Seq("footer", "pii"), 128, "test"))
    val single = new SingleWrapper(source)
    def keep(name: String, metadata: KeyMetadata): Unit =
      write(folder.resolve(name), KeyMetadata.bytesOf(metadata))
    keep("double.json", KeyMetadata.Internal(double.wrap(dataKey(1), "footer", isFooterKey = true, "test")))
    keep("single.json", KeyMetadata.Internal(single.wrap(dataKey(2), "pii", isFooterKey = false, "test")))
    keep(
      "rotated.json",
      KeyMetadata.Internal(
        single.wrap(dataKey(3), "pii", isFooterKey = false, "test").copy(rotatedFrom = Some("pii-2025"))
      )
    )
    keep("reference.json", KeyMetadata.External(KeyMaterial.columnReference(0)))
    keep("direct.txt", KeyMetadata.Direct("pii"))
    val entries = Seq(
      KeyMaterial.FooterReference -> double.wrap(dataKey(4), "footer", isFooterKey = true, "test"),
      KeyMaterial.columnReference(0) -> double.wrap(dataKey(5), "pii", isFooterKey = false, "test")
    )
    write(folder.resolve(Material), MaterialFile.toJson(entries).getBytes(UTF_8))
  }

  private def metadata(name: String) = KeyMetadata.parse(Files.readAllBytes(folder.resolve(name)), name)

  private def internal(name: String): KeyMaterial = metadata(name) match {
    case KeyMetadata.Internal(material) => material
    case other => fail(s"$name is $other")
  }

  private def opened(material: KeyMaterial) = new DataKeyUnwrapper(source, 1000).unwrap(material, "test")

  test("stored key metadata opens as the data keys that were wrapped") {
    assertEquals(opened(internal("double.json")), dataKey(1))
    assertEquals(opened(internal("single.json")), dataKey(2))
    assertEquals(opened(internal("rotated.json")), dataKey(3))
    assertEquals(internal("rotated.json").rotatedFrom, Some("pii-2025"))
    assert(internal("double.json").isFooterKey && !internal("single.json").isFooterKey)
    assertEquals(metadata("reference.json"), KeyMetadata.External("columnKey0"): KeyMetadata)
    assertEquals(metadata("direct.txt"), KeyMetadata.Direct("pii"): KeyMetadata)
  }

  test("a stored file of key material opens as the data keys that were wrapped") {
    val entries = MaterialFile.parse(text(folder.resolve(Material)), Material)
    assertEquals(entries.keySet, Set("footerKey", "columnKey0"))
    assertEquals(opened(entries("footerKey")), dataKey(4))
    assertEquals(opened(entries("columnKey0")), dataKey(5))
  }

  private def altered(file: Path, piece: String, by: String) = {
    assert(text(file).contains(piece))
    KeyMetadata.parse(text(file).replace(piece, by).getBytes(UTF_8), "test")
  }

  test("key material of another type is refused") {
    Seq("double.json", "single.json", "reference.json").foreach { name =>
      val failed = intercept[PmeException](altered(folder.resolve(name), "PKMT1", "PKMT2"))
      assertEquals(failed.getCondition(), "PME_KEY_METADATA")
      assert(failed.getMessage.contains("not of type PKMT1"), failed.getMessage)
    }
  }

  test("a field of key material that is not known counts for nothing, as it does for parquet-java") {
    val more = altered(folder.resolve("double.json"), "{", "{\"news\":\"1\",")
    assertEquals(more, metadata("double.json"))
  }
}
