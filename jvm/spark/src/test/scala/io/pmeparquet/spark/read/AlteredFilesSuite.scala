package io.pmeparquet.spark.read

import java.nio.file.{Files, Path}

import scala.collection.JavaConverters._

import org.apache.parquet.format.{AesGcmCtrV1, EncryptionAlgorithm}

import io.pmeparquet.cipher.ModuleFrame
import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.AlteredFile.{bytes, little, withFooter, TailBytes}
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{AadPrefix, Algorithm, DamagedFile, KeyMetadata, KmsUnavailable, NotAuthentic}

/** Altered, cut or invented files: each ends in a named error, on the driver and on executors. */
class AlteredFilesSuite extends SparkSuite {
  private def written(options: (String, String)*): Path = {
    write(people, keys ++ options)
    files().head
  }

  /** Without a schema, the driver reads the file first; with one, an executor. */
  private def refusedEverywhere(file: Path, condition: Condition, words: String*): Unit =
    for (start <- Seq(reader(kms), reader(kms).schema(people.schema)))
      refused(condition, file.getFileName.toString +: words: _*)(start.load(target).collect())

  /** Refuses each of these changes of the same file. */
  private def refusedEach(file: Path)(changes: (Path => Unit, Condition, Seq[String])*): Unit = {
    val original = Files.readAllBytes(file)
    for ((change, condition, words) <- changes) {
      change(file)
      refusedEverywhere(file, condition, words: _*)
      AlteredFile.replace(file, original)
    }
  }

  test("an altered encrypted footer, or its tag, does not open") {
    refusedEach(written())(
      (AlteredFile.flip(_, -TailBytes - AlteredFile.TagBytes - 1), NotAuthentic, Seq("footer")),
      (AlteredFile.flip(_, -TailBytes - 1), NotAuthentic, Seq("footer"))
    )
  }

  test("an altered signed footer, and one without its signature, are refused") {
    refusedEach(written("plaintextFooter" -> "true"))(
      (
        file => AlteredFile.plainFooter(file) { footer => footer.setNum_rows(39); () },
        NotAuthentic,
        Seq("footer")
      ),
      (AlteredFile.flip(_, -TailBytes - 1), NotAuthentic, Seq("footer")),
      (file => AlteredFile.plainFooter(file, isSigned = false)(_ => ()), NotAuthentic, Seq("footer")),
      (
        file =>
          AlteredFile.plainFooter(file) { footer =>
            footer.getEncryption_algorithm.getAES_GCM_V1.setAad_file_unique(bytes("123456789")); ()
          },
        AadPrefix,
        Seq("aad_file_unique")
      )
    )
  }

  for (byReader <- Seq("pages", "spark"))
    test(s"an altered or swapped module of a column names file and column: $byReader") {
      val file = written()
      val original = Files.readAllBytes(file)
      def check(words: String*) = {
        refused(NotAuthentic, file.getFileName.toString +: words: _*) {
          reader(kms + ("reader" -> byReader)).load(target).collect()
        }
        AlteredFile.replace(file, original)
      }
      for ((module, column) <- Seq(0 -> "ssn", 1 -> "ssn", 2 -> "salary", 3 -> "salary")) {
        AlteredFile.flipInModule(file, module)
        check(column)
      }
      val modules = AlteredFile.modules(original)
      val ((first, size), (second, other)) = (modules.head, modules(2))
      val both = size.min(other)
      AlteredFile.replace(file, original.clone.patch(first, original.slice(second, second + both), both))
      check()
    }

  test(
    "a footer that claims another algorithm is refused; where it is allowed, a page with a tag is damage"
  ) {
    val file = written()
    AlteredFile.cryptoMetadata(file) { metadata =>
      val gcm = metadata.getEncryption_algorithm.getAES_GCM_V1
      val ctr = new AesGcmCtrV1().setAad_file_unique(gcm.getAad_file_unique)
      metadata.setEncryption_algorithm(EncryptionAlgorithm.AES_GCM_CTR_V1(ctr))
      ()
    }
    refusedEverywhere(file, Algorithm, "AES_GCM_CTR_V1")
    // The tag of each page at its front: CTR then starts counting as GCM did, and finds sixteen bytes too many.
    val start = ModuleFrame.LengthBytes + ModuleFrame.NonceBytes
    for (page <- AlteredFile.modules(Files.readAllBytes(file)).indices.take(6) if page % 2 == 1)
      AlteredFile.overwrite(file, page) { body =>
        body.take(start) ++ body
          .takeRight(AlteredFile.TagBytes) ++ body.drop(start).dropRight(AlteredFile.TagBytes)
      }
    for (byReader <- Seq("pages", "spark")) {
      val accepting = kms ++ Map("algorithm" -> "AES_GCM_CTR_V1", "reader" -> byReader)
      refused(DamagedFile, file.getFileName.toString)(reader(accepting).load(target).collect())
    }
  }

  test("a cut file, and one with an impossible footer, are refused") {
    def footer(length: Int => Int): Array[Byte] => Array[Byte] =
      content => content.dropRight(8) ++ little(length(content.length)) ++ bytes("PARE")
    val damages = Seq[Array[Byte] => Array[Byte]](
      _.take(1),
      _.take(3),
      _.take(4),
      _.dropRight(1),
      _.dropRight(100),
      content => content.take(content.length / 2),
      _.dropRight(4) ++ bytes("PARX"),
      _ => bytes("ssn,salary\n1,2\n" * 20),
      footer(length => length),
      footer(_ => 0x7ffffff0),
      footer(_ => -16),
      footer(_ => 0)
    )
    refusedEach(written())(damages.map { damage =>
      ((file: Path) => AlteredFile.change(file)(damage), DamagedFile: Condition, Seq.empty[String])
    }: _*)
  }

  test("an empty file is refused if the schema is read from it") {
    // If the schema is given, Spark never opens empty files; its own source reads no rows from them either.
    val file = written()
    AlteredFile.replace(file, Array.emptyByteArray)
    refused(DamagedFile, file.getFileName.toString)(reader(kms).load(target).collect())
  }

  test("crypto metadata that cannot be read is refused") {
    def raw(numbers: Int*) = numbers.map(_.toByte).toArray
    val invented = Seq(
      Array.fill(200)(-1.toByte),
      new Array[Byte](200),
      raw(0x1c, 0x1c, 0x18, 0xff, 0xff, 0xff, 0xff, 0x07) ++ bytes("x" * 200),
      raw(0x1c, 0x1c, 0x19, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x07) ++ bytes("x" * 200),
      Array.fill(300000)(0x1c.toByte),
      // Without an algorithm, and with one of tomorrow.
      raw(0x28, 0x06) ++ bytes("footer") ++ raw(0),
      raw(0x1c, 0x9c, 0, 0, 0x18, 0x06) ++ bytes("footer") ++ raw(0)
    )
    val file = written()
    val longer = (content: Array[Byte]) => {
      val module = AlteredFile.moduleOfFooter(content)
      content.patch(module, little(0x7ffffff0), 4)
    }
    val changes = invented.map(footer => withFooter(_: Array[Byte], footer)) :+ longer
    refusedEach(file)(changes.map { change =>
      ((file: Path) => AlteredFile.change(file)(change), DamagedFile: Condition, Seq.empty[String])
    }: _*)
  }

  private def withKeyMetadata(content: Array[Byte])(file: Path): Unit =
    AlteredFile.cryptoMetadata(file) { metadata => metadata.setKey_metadata(content); () }

  test("key metadata that cannot be used is refused") {
    val unusable = Seq(
      Array.fill(8)(Seq(0xff, 0xfe, 0, 1).map(_.toByte)).flatten,
      bytes(""),
      bytes("""{"keyMaterialType":"PKMT1","""),
      bytes("""{"keyMaterialType":"PKMT9","internalStorage":true}"""),
      bytes("{}"),
      bytes(s"""{"keyMaterialType":"${"x" * 100000}"}"""),
      bytes(s"${"{\"a\":" * 20000}1${"}" * 20000}"),
      bytes(s"""{"a":${"[" * 50000}"""),
      bytes("nobody"),
      bytes("""{"keyMaterialType":"PKMT1","internalStorage":false,"keyReference":"footerKey"}""")
    )
    val tooLong = bytes(s"""{"keyMaterialType":"${"x" * 2000000}"}""")
    val changes = unusable.map(_ -> (KeyMetadata: Condition)) :+ (tooLong -> DamagedFile)
    refusedEach(written())(changes.map { case (content, condition) =>
      (withKeyMetadata(content) _, condition, Seq.empty[String])
    }: _*)
  }

  test("the name of a key is refused if the KMS exports no keys") {
    val file = written()
    withKeyMetadata(bytes("footer"))(file)
    refused(Condition.Unsupported, file.getFileName.toString) {
      reader(kms + ("keyManagement" -> "direct")).load(target).collect()
    }
  }

  /** Changes a field of the footer's key material. */
  private def withMaterial(field: String, value: String)(file: Path): Unit =
    AlteredFile.cryptoMetadata(file) { metadata =>
      val material = new String(metadata.getKey_metadata, "UTF-8")
      val changed = material.replaceAll(s""""$field":"[^"]*"""", s""""$field":"$value"""")
      require(changed != material, material)
      metadata.setKey_metadata(bytes(changed))
      ()
    }

  test("key material that names another master key, or has no wrapped key, is refused") {
    val wrapped = Seq("", "AAAA", "no base64!", "A" * 1000000)
    refusedEach(written())(
      (withMaterial("masterKeyID", "pii") _, NotAuthentic, Seq("'pii'")) +:
        wrapped.map(value =>
          (withMaterial("wrappedDEK", value) _, KeyMetadata: Condition, Seq.empty[String])
        ): _*
    )
  }

  test("a KMS address in the file is not followed") {
    val file = written()
    withMaterial("kmsInstanceID", "elsewhere")(file)
    withMaterial("kmsInstanceURL", "https://elsewhere.invalid")(file)
    // The material is not authenticated, so the table opens only if the address is ignored.
    for (scan <- Seq("v1", "v2"))
      assertEquals(rows(reader(kms + ("scan" -> scan)).load(target)), rows(people))
  }

  test("external key material that is missing or cannot be used is refused") {
    val file = written("keyMaterial" -> "external")
    val material = Files
      .list(directory.resolve("table"))
      .iterator
      .asScala
      .find(_.getFileName.toString.startsWith("_KEY_MATERIAL_FOR_"))
      .get
    for (content <- Seq("", "{", "[]", """{"footerKey": 7}""", """{"footerKey": "{}"}""", "{}")) {
      AlteredFile.replace(material, bytes(content))
      refusedEverywhere(file, KeyMetadata)
    }
    Files.delete(material)
    refusedEverywhere(file, KeyMetadata, "_KEY_MATERIAL_FOR_")
  }

  test("a file whose KMS refuses its key, or has another one, cannot be read") {
    for (
      (key, condition, words) <- Seq(
        ("denied-1", Condition.KeyDenied, "'denied-"),
        ("missing-1", Condition.KeyNotFound, "'missing-"),
        ("down-1", KmsUnavailable, "could not be reached")
      )
    ) {
      write(people, holding(key) + ("footerKey" -> key), s"$target-$key")
      refused(condition, ".parquet", words, "TestKms")(reader(kms).load(s"$target-$key").collect())
    }
    val file = written()
    refused(NotAuthentic, file.getFileName.toString, "'footer'") {
      reader(holding("footer", "pii", "pay")).load(target).collect()
    }
  }
}
