package io.pmeparquet.parquet.file

import java.nio.charset.StandardCharsets.ISO_8859_1
import java.util.Base64

import org.apache.parquet.format.{AesGcmCtrV1, AesGcmV1, EncryptionAlgorithm}

import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.parquet.AttackedFilesSuite
import io.pmeparquet.Secret

/** Checks before a page is read: algorithm, AAD prefix, signature, encryption at all, and keys. */
class AttackedFootersSuite extends AttackedFilesSuite {
  private val AadPrefix = Option("PME_AAD_PREFIX")
  private val Algorithm = Option("PME_ALGORITHM")
  private val KeyMetadata = Option("PME_KEY_METADATA")
  private val Plaintext = Option("PME_PLAINTEXT_FILE")

  /** The algorithm that is stated, with parts of its AAD. */
  private def stated(
      isCtr: Boolean,
      prefix: Option[Array[Byte]],
      unique: Option[Array[Byte]]
  ): EncryptionAlgorithm =
    if (isCtr) {
      val one = new AesGcmCtrV1()
      prefix.foreach(one.setAad_prefix(_))
      unique.foreach(one.setAad_file_unique(_))
      EncryptionAlgorithm.AES_GCM_CTR_V1(one)
    } else {
      val one = new AesGcmV1()
      prefix.foreach(one.setAad_prefix(_))
      unique.foreach(one.setAad_file_unique(_))
      EncryptionAlgorithm.AES_GCM_V1(one)
    }

  private def uniqueOf(algorithm: EncryptionAlgorithm): Array[Byte] =
    if (algorithm.isSetAES_GCM_V1) algorithm.getAES_GCM_V1.getAad_file_unique
    else algorithm.getAES_GCM_CTR_V1.getAad_file_unique

  for (kind <- kinds) {
    directory.test(s"a rewritten footer whose fields stay has the same bytes: ${title(kind)}") { root =>
      // This shows that the tests below change nothing else.
      val original = content(attacked(root, keys ++ kind))
      assert(crypto(original, kind)(_ => ()).sameElements(original))
    }

    directory.test(s"a file that claims the other algorithm is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      def claiming(content: Array[Byte]) = crypto(content, kind) { crypto =>
        crypto.algorithm = stated(!isCtr(kind), None, Some(uniqueOf(crypto.algorithm)))
      }
      val original = content(file)
      if (isCtr(kind))
        // A page without a tag is too short for the size in its header, if the footer is not signed.
        allEnd(file, reader(use))(
          attack("GCM", claiming(original), NotAuthentic, Damaged)
            .firstLook(if (isPlain(kind)) NotAuthentic else Read)
        )
      else {
        // The tag of each page at its front: CTR then starts counting as GCM did.
        val forged = modules(original).filter(_.isPage).foldLeft(original) { (made, page) =>
          val body = page.of(original)
          put(made, page.at, body.take(16) ++ body.takeRight(16) ++ body.slice(16, body.length - 16))
        }
        val both = Seq("claimed" -> claiming(original), "forged" -> claiming(forged))
        allEnd(file, reader(use))(both.map { case (name, bytes) => attack(name, bytes, Algorithm) }: _*)
        // The former tag is sixteen bytes too many for a page. A readable footer is signed, including the algorithm.
        val noticed = if (isPlain(kind)) NotAuthentic else Damaged
        allEnd(file, reader(use, ctr))(
          attack("forged, and CTR is accepted", claiming(forged), noticed)
            .firstLook(if (isPlain(kind)) NotAuthentic else Read)
        )
      }
    }

    directory.test(s"another file id, and one of another length, do not open: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      def having(unique: Option[Array[Byte]]) =
        crypto(content(file), kind)(_.algorithm = stated(isCtr(kind), None, unique))
      val lengths =
        Seq(0, 7, 9, 1000).map(length => s"$length" -> Option(new Array[Byte](length))) :+ ("none" -> None)
      allEnd(file, readerOf(kind))(
        lengths.map { case (name, unique) => attack(name, having(unique), AadPrefix) } :+
          attack("another", having(Some(new Array[Byte](8))), NotAuthentic): _*
      )
    }

    directory.test(
      s"an encrypted footer under another magic is refused, and a readable one, too: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      val other = (if (isPlain(kind)) "PARE" else "PAR1").getBytes
      allEnd(file, readerOf(kind))(
        attack("magic", content(file).dropRight(4) ++ other, Damaged, Plaintext)
      )
    }
  }

  for (kind <- kinds.filterNot(isCtr)) {
    directory.test(s"a shifted boundary between AAD prefix and file id is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind :+ ("aadPrefix" -> "orders"))
      val original = content(file)
      var aad = Array.emptyByteArray
      crypto(original, kind)(crypto => aad = "orders".getBytes ++ uniqueOf(crypto.algorithm))
      val shifted = (0 to aad.length).filter(_ != 6).map { at =>
        val altered =
          crypto(original, kind)(_.algorithm = stated(isCtr = false, Some(aad.take(at)), Some(aad.drop(at))))
        attack(s"at $at", altered, AadPrefix, NotAuthentic)
      }
      val none = crypto(original, kind)(_.algorithm = stated(isCtr = false, None, Some(aad)))
      allEnd(file, reader(use))(shifted :+ attack("no prefix", none, AadPrefix, NotAuthentic): _*)
      allEnd(file, reader(use, "aadPrefix" -> "orders"))(shifted: _*)
    }

    directory.test(s"an AAD prefix other than the reader's is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind :+ ("aadPrefix" -> "orders"))
      val original = content(file)
      def having(prefix: Option[String]) = crypto(original, kind) { crypto =>
        crypto.algorithm = stated(isCtr = false, prefix.map(_.getBytes), Some(uniqueOf(crypto.algorithm)))
      }
      val invoices = having(Some("invoices"))
      allEnd(file, reader(use, "aadPrefix" -> "orders"))(
        attack("the writer's", original, Read),
        attack("the file's is another", invoices, AadPrefix),
        attack("the file's is gone", having(None), AadPrefix)
      )
      allEnd(file, reader(use, "aadPrefix" -> "invoices"))(
        attack("the reader's is another", original, AadPrefix)
      )
      allEnd(file, reader(use))(attack("another, not expected", invoices, NotAuthentic))
    }
  }

  for (kind <- kinds.filter(isPlain)) {
    directory.test(s"an altered or missing signature is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val start = original.length - TailBytes - SignatureBytes
      val flips = (start until start + SignatureBytes)
        .map(at =>
          attack(s"byte ${at - start}", original.updated(at, (original(at) ^ 1).toByte), NotAuthentic)
        )
      val (signed, signature) = footer(original).splitAt(footer(original).length - SignatureBytes)
      val others = Seq(
        "none" -> Array.emptyByteArray,
        "half" -> signature.take(14),
        "zeros" -> new Array[Byte](SignatureBytes)
      )
        .map { case (name, other) => attack(name, withFooter(original, signed ++ other), NotAuthentic) }
      allEnd(file, readerOf(kind))(flips ++ others: _*)
    }

    directory.test(s"a flipped bit anywhere in a signed footer is refused clearly: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val original = content(file)
      val places = footerAt(original) until original.length - TailBytes - SignatureBytes by 20
      allEnd(file, readerOf(kind))(
        places.map(at =>
          attack(
            s"byte $at",
            original.updated(at, (original(at) ^ 1).toByte),
            ofAlteredFooter.toSeq.map(Option(_)): _*
          )
        ): _*
      )
    }

    directory.test(
      s"a footer stripped of its algorithm, or of all encryption, gives no rows: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      val stripped = unsigned(content(file)) { metadata =>
        metadata.unsetEncryption_algorithm()
        metadata.unsetFooter_signing_key_metadata()
      }
      val bare = unsigned(content(file))(plaintext)
      val allowing = "plaintextFiles" -> "allow"
      allEnd(file, readerOf(kind))(
        attack("of its algorithm", stripped, NotAuthentic),
        attack("of all", bare, Plaintext)
      )
      allEnd(file, readerOf(kind, allowing))(
        attack("of its algorithm", stripped, NotAuthentic),
        attack("of all", bare, Damaged)
      )
    }
  }

  directory.test("a plaintext file is refused unless it is allowed, and under another magic it is damaged") {
    root =>
      val plain = attacked(root, Nil)
      val magic = content(plain).dropRight(4) ++ "PARE".getBytes
      allEnd(plain, reader(use))(
        attack("refused", content(plain), Plaintext),
        attack("by another magic", magic, Damaged)
      )
      allEnd(plain, reader(use, "plaintextFiles" -> "allow"))(
        attack("allowed", content(plain), Read),
        attack("by another magic", magic, Damaged)
      )
  }

  // ---- keys

  private def quoted(text: String) = "\"" + text + "\""
  private val zeros = Base64.getEncoder.encodeToString(new Array[Byte](44))

  private def cipher(mode: Int, nonce: Array[Byte]) = {
    val gcm = javax.crypto.Cipher.getInstance("AES/GCM/NoPadding")
    val master = new javax.crypto.spec.SecretKeySpec(Array.fill(16)('f'.toByte), "AES")
    gcm.init(mode, master, new javax.crypto.spec.GCMParameterSpec(128, nonce))
    gcm.updateAAD("f".getBytes)
    gcm
  }

  /** Bytes of any number, wrapped with the footer's master key. */
  private def wrapped(bytes: Array[Byte]): String = {
    val nonce = Array.tabulate(12)(_.toByte)
    val sealing = cipher(javax.crypto.Cipher.ENCRYPT_MODE, nonce)
    quoted(Base64.getEncoder.encodeToString(nonce ++ sealing.doFinal(bytes)))
  }

  /** The data key of a footer, which its master key wraps. */
  private def footerKey(content: Array[Byte], kind: Seq[(String, String)]): Array[Byte] = {
    var wrapped = Array.emptyByteArray
    crypto(content, kind)(crypto => wrapped = Base64.getDecoder.decode(crypto.materialOf("wrappedDEK")))
    cipher(javax.crypto.Cipher.DECRYPT_MODE, wrapped.take(12)).doFinal(wrapped.drop(12))
  }

  for (kind <- kinds) {
    directory.test(s"a wrong, short or zero key in the key material is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind :+ ("doubleWrapping" -> "false"))
      val others = Seq(
        ("its own", footerKey(content(file), kind), Seq(if (isPlain(kind)) NotAuthentic else Read)),
        ("wrong", Array.fill(16)(5.toByte), Seq(NotAuthentic)),
        ("wrong, of 256 bits", Array.fill(32)(5.toByte), Seq(NotAuthentic)),
        // parquet-java takes a key of zeros for a wiped one.
        ("all zero", new Array[Byte](16), Seq(NotAuthentic, Damaged)),
        ("short", Array.fill(5)(5.toByte), Seq(KeyMetadata)),
        ("of one byte", Array[Byte](5), Seq(KeyMetadata)),
        ("the footer's, cut", footerKey(content(file), kind).take(15), Seq(KeyMetadata)),
        ("long", Array.fill(64)(5.toByte), Seq(KeyMetadata))
      )
      allEnd(file, readerOf(kind))(others.map { case (name, key, allowed) =>
        attack(name, crypto(content(file), kind)(_.material("wrappedDEK", wrapped(key))), allowed: _*)
      }: _*)
    }

    directory.test(s"altered key material is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val fields = Seq(
        "masterKeyID" -> "\"n\"",
        "masterKeyID" -> "\"other\"",
        "wrappedKEK" -> quoted(zeros),
        "wrappedDEK" -> quoted(zeros),
        "wrappedKEK" -> wrapped("short".getBytes),
        "wrappedKEK" -> "\"\"",
        "wrappedDEK" -> "\"\"",
        "keyEncryptionKeyID" -> quoted(zeros)
      )
      val absent = Option("PME_KEY_NOT_FOUND")
      allEnd(file, readerOf(kind))(fields.map { case (field, value) =>
        val allowed = if (value == "\"other\"") Seq(absent) else Seq(NotAuthentic, KeyMetadata)
        attack(s"$field $value", crypto(content(file), kind)(_.material(field, value)), allowed: _*)
      }: _*)
    }

    directory.test(
      s"a file without key metadata, or with the name of a key, needs what the reader says: ${title(kind)}"
    ) { root =>
      val file = attacked(root, keys ++ kind)
      val (none, named) = (
        crypto(content(file), kind)(_.metadata = null),
        crypto(content(file), kind)(_.metadata = "f".getBytes)
      )
      val column = crypto(content(file), kind)(_.material("isFooterKey", "false"))
      val beside = crypto(content(file), kind) { crypto =>
        crypto.metadata =
          """{"keyMaterialType":"PKMT1","internalStorage":false,"keyReference":"../../etc/passwd"}""".getBytes
      }
      allEnd(file, readerOf(kind))(
        attack("none", none, Option("PME_NO_KEY")),
        attack("a name", named, KeyMetadata),
        attack("of a column", column, KeyMetadata),
        attack("in a file elsewhere", beside, KeyMetadata)
      )
    }

    directory.test(s"key metadata that is no key material is refused: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val garbage = Seq(
        "no text" -> new String(Array.fill(8)(Array(0xff, 0xfe, 0, 1).map(_.toByte)).flatten, ISO_8859_1),
        "nothing" -> "",
        "half of it" -> """{"keyMaterialType":"PKMT1",""",
        "another kind" -> """{"keyMaterialType":"PKMT9","internalStorage":true}""",
        "one field twice" -> """{"keyMaterialType":"PKMT1","keyMaterialType":"PKMT1"}""",
        "a number" -> """{"keyMaterialType":1e999999999}""",
        "a long number" -> s"""{"keyMaterialType":${"9" * 60000}}""",
        "deep" -> s"${"{\"a\":" * 20000}1${"}" * 20000}",
        "a deep list" -> s"""{"a":${"[" * 50000}""",
        "100 KB" -> s"""{"keyMaterialType":"${"x" * 100000}"}"""
      )
      val long = s"""{"keyMaterialType":"${"x" * 2000000}"}"""
      def having(text: String) = crypto(content(file), kind)(_.metadata = text.getBytes(ISO_8859_1))
      allEnd(file, readerOf(kind))(
        garbage.map { case (name, text) => attack(name, having(text), KeyMetadata) } :+
          attack("2 MB", having(long), KeyMetadata, Damaged): _*
      )
    }

    directory.test(s"a file opens with no other keys of the same names: ${title(kind)}") { root =>
      val file = attacked(root, keys ++ kind)
      val zero = Base64.getEncoder.encodeToString(new Array[Byte](16))
      val others =
        KmsUse(StaticSettings(new Secret(s"f=$zero\nn=$zero")), None, KeyAudit.off(KeyPurpose.Read))
      val readers = kind.filter(_ == ctr)
      assertEquals(outcome(reader(use, readers: _*), file), Read)
      assertEquals(outcome(reader(others, readers: _*), file), NotAuthentic)
      assertEquals(firstLook(reader(others, readers: _*), file), NotAuthentic)
    }
  }
}
