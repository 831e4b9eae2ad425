package io.pmeparquet.cipher

import java.io.File
import java.net.URLClassLoader
import java.security.SecureRandom
import javax.crypto.spec.GCMParameterSpec
import javax.crypto.AEADBadTagException
import javax.crypto.Cipher

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException}

class CipherSuite extends FunSuite {
  private def hex(text: String): Array[Byte] = text.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray

  private lazy val wycheproof: Seq[JsonNode] = {
    val file = getClass.getResourceAsStream("/wycheproof_aes_gcm_test.json")
    val groups = new ObjectMapper().readTree(file).get("testGroups").asScala.toSeq
    groups
      .filter(group => group.get("ivSize").asInt == 96 && group.get("tagSize").asInt == 128)
      .flatMap(_.get("tests").asScala)
  }

  /** Jars of providers that cannot be on the class path with the others: the build hands them over (build.sbt). */
  private val isolatedJars: Seq[File] =
    sys.props("pme.test.isolated").split(File.pathSeparator).map(new File(_)).sortBy(_.getName).toSeq

  private def isolated(prefix: String): Seq[File] = {
    val jars = isolatedJars.filter(_.getName.startsWith(s"$prefix-"))
    assert(jars.nonEmpty, s"$prefix is missing")
    jars
  }

  /** The provider that option value `name` takes where the class path is `jars` and nothing else. */
  private def chosenFrom(jars: Seq[File], name: String): CryptoProvider = {
    val thread = Thread.currentThread()
    val before = thread.getContextClassLoader
    thread.setContextClassLoader(
      new URLClassLoader(jars.map(_.toURI.toURL).toArray, ClassLoader.getPlatformClassLoader)
    )
    try CryptoProvider.choose(name)
    finally thread.setContextClassLoader(before)
  }

  private def jarOf(provider: CryptoProvider): String =
    new File(provider.provider.getClass.getProtectionDomain.getCodeSource.getLocation.toURI).getName

  /** @param jar of a provider that is not on the class path of the tests */
  private final class Candidate(val name: String, val jar: Option[String] = None) {
    lazy val provider: CryptoProvider =
      jar.fold(CryptoProvider.of(name))(jar => chosenFrom(isolated(jar), name))

    /** Conscrypt has no AES-GCM with 192 bits. */
    def keySizes: Seq[Int] = if (name == "Conscrypt") Seq(128, 256) else Seq(128, 192, 256)

    override def toString: String = name + jar.fold("")(jar => s" of $jar")
  }

  private val candidates =
    Seq("auto", "SunJCE", "BC", "AmazonCorrettoCryptoProvider", "Conscrypt").map(new Candidate(_)) ++
      Seq(new Candidate("BC", Some("bcprov-lts8on")), new Candidate("BCFIPS", Some("bc-fips")))

  candidates.foreach { candidate =>
    test(s"provider $candidate gives the known answers and the verdict of every Wycheproof vector") {
      val provider = candidate.provider
      if (candidate.name != "auto") assertEquals(provider.name, candidate.name)
      candidate.jar.foreach(jar => assert(jarOf(provider).startsWith(jar), jarOf(provider)))
      assertEquals(KnownAnswers.check(provider), None)
      assertEquals(wycheproof.size, 197)
      wycheproof.filter(vector => candidate.keySizes.contains(vector.get("key").asText.length * 4)).foreach {
        vector =>
          def field(name: String) = hex(vector.get(name).asText)
          val module = field("iv") ++ field("ct") ++ field("tag")
          val out = new Array[Byte](module.length)
          val aad = field("aad")
          def open() =
            new AesGcm(AesKey.of(field("key"), "test"), provider)
              .open(module, 0, module.length, aad, aad.length, out, 0)
          val id = s"tcId ${vector.get("tcId").asInt}"
          vector.get("result").asText match {
            case "valid" => assertEquals(out.take(open()).toSeq, field("msg").toSeq, id)
            case "invalid" => intercept[AEADBadTagException](open())
            case other => fail(s"$id has an unknown verdict: $other")
          }
      }
    }

    test(
      s"provider $candidate opens modules of every size to 100 bytes and some large ones, at any place of an array"
    ) {
      val key = AesKey.of(Array.tabulate(32)(_.toByte), "test")
      val gcm = new AesGcm(key, candidate.provider)
      val ctr = new AesCtr(key, candidate.provider)
      val nonce = Array.tabulate(12)(i => (i * 7).toByte)
      ((0 to 100) ++ Seq(4096, 65537, 1 << 20)).foreach { size =>
        val plain = Array.tabulate(size)(i => (i * 31).toByte)
        val sun = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE")
        sun.init(Cipher.ENCRYPT_MODE, key.toSecretKey, new GCMParameterSpec(128, nonce))
        sun.updateAAD(Array[Byte](1, 2))
        val module = Array[Byte](9, 9, 9) ++ nonce ++ sun.doFinal(plain)
        val out = new Array[Byte](size + 100)
        val length = gcm.open(module, 3, module.length - 3, Array[Byte](1, 2, 3), 2, out, 5)
        assertEquals(length, size)
        assert(java.util.Arrays.equals(out.slice(5, 5 + size), plain), s"GCM $size")
        val counted = Cipher.getInstance("AES/CTR/NoPadding", "SunJCE")
        counted.init(
          Cipher.ENCRYPT_MODE,
          key.toSecretKey,
          new javax.crypto.spec.IvParameterSpec(nonce ++ Array[Byte](0, 0, 0, 1))
        )
        val stream = Array[Byte](9, 9, 9) ++ nonce ++ counted.doFinal(plain)
        assertEquals(ctr.open(stream, 3, stream.length - 3, Array.emptyByteArray, 0, out, 5), size)
        assert(java.util.Arrays.equals(out.slice(5, 5 + size), plain), s"CTR $size")
      }
    }

    test(s"what provider $candidate seals is laid out as files store it, and opens with the JVM's provider") {
      val key = AesKey.of(Array.tabulate(16)(_.toByte), "test")
      val (gcm, ctr) = (new AesGcm(key, candidate.provider), new AesCtr(key, candidate.provider))
      val (random, aad) = (new SecureRandom, Array[Byte](1, 2, 3))
      ((0 to 100) ++ Seq(4096, 65537, 1 << 20)).foreach { size =>
        val plain = Array.tabulate(size)(i => (i * 31).toByte)
        def parts(module: Array[Byte]) = {
          assertEquals(ModuleFrame.lengthAt(module, 0), module.length - 4, s"$size")
          module.slice(4, 16) -> module.drop(16)
        }
        val (nonce, rest) = parts(gcm.seal(plain, aad, 2, random))
        val sun = Cipher.getInstance("AES/GCM/NoPadding", "SunJCE")
        sun.init(Cipher.DECRYPT_MODE, key.toSecretKey, new GCMParameterSpec(128, nonce))
        sun.updateAAD(aad, 0, 2)
        assert(java.util.Arrays.equals(sun.doFinal(rest), plain), s"GCM $size")
        val (begin, stream) = parts(ctr.seal(plain, aad, 2, random))
        val counted = Cipher.getInstance("AES/CTR/NoPadding", "SunJCE")
        val counter = new javax.crypto.spec.IvParameterSpec(begin ++ Array[Byte](0, 0, 0, 1))
        counted.init(Cipher.DECRYPT_MODE, key.toSecretKey, counter)
        assert(java.util.Arrays.equals(counted.doFinal(stream), plain), s"CTR $size")
      }
    }
  }

  test("of Amazon's jars for several processors on one class path, the one for this machine is taken") {
    val jars = isolated("AmazonCorrettoCryptoProvider")
    assertEquals(jars.size, 2)
    val ours = if (System.getProperty("os.arch") == "aarch64") "-linux-aarch_64.jar" else "-linux-x86_64.jar"
    Seq(jars, jars.reverse).foreach { classPath =>
      val provider = chosenFrom(classPath, "auto")
      assertEquals(provider.name, "AmazonCorrettoCryptoProvider")
      assert(jarOf(provider).endsWith(ours), jarOf(provider))
    }
  }

  test("a provider that is not there, or fails its self-test, is refused by name") {
    val missing = intercept[PmeException](CryptoProvider.of("Nobody"))
    assertEquals(missing.getCondition(), "PME_UNSUPPORTED")
    assert(missing.getMessage.contains("Nobody") && missing.getMessage.contains("SunJCE"))
    // It is a provider, and has no AES.
    assertEquals(intercept[PmeException](CryptoProvider.of("SunRsaSign")).getCondition(), "PME_UNSUPPORTED")
  }

  test("the AAD of a module is laid out as the specification has it") {
    val aad = new ModuleAad(Array[Byte](10, 11), 0x0102, 0x0304)
    def of(kind: ModuleKind, page: Int) = {
      val length = aad.select(kind, page); aad.bytes.take(length).toSeq
    }
    assertEquals(of(ModuleKind.DataPage, 0x0506), Seq[Byte](10, 11, 2, 2, 1, 4, 3, 6, 5))
    assertEquals(of(ModuleKind.DataPageHeader, 1), Seq[Byte](10, 11, 4, 2, 1, 4, 3, 1, 0))
    assertEquals(of(ModuleKind.DictionaryPage, 7), Seq[Byte](10, 11, 3, 2, 1, 4, 3))
    assertEquals(of(ModuleKind.BloomFilterBitset, 0), Seq[Byte](10, 11, 9, 2, 1, 4, 3))
    assertEquals(of(ModuleKind.Footer, 0), Seq[Byte](10, 11, 0))
  }

  test("a signature is that of its content, key and AAD only") {
    val key = AesKey.of(Array.fill(16)(1.toByte), "test")
    val gcm = new AesGcm(key, CryptoProvider.of("auto"))
    val (nonce, content, aad) = (Array.fill(12)(5.toByte), Array.tabulate(1000)(_.toByte), Array[Byte](1, 2))
    val sun = Cipher.getInstance("AES/GCM/NoPadding")
    sun.init(Cipher.ENCRYPT_MODE, key.toSecretKey, new GCMParameterSpec(128, nonce))
    sun.updateAAD(aad)
    val signature = nonce ++ sun.doFinal(content).takeRight(16)
    def signs(content: Array[Byte], aad: Array[Byte], signature: Array[Byte]) =
      gcm.signs(content, 0, content.length, aad, aad.length, signature)
    assert(signs(content, aad, signature))
    assert(!signs(content.updated(500, 0.toByte), aad, signature))
    assert(!signs(content, Array[Byte](1, 3), signature))
    signature.indices.foreach(i =>
      assert(!signs(content, aad, signature.updated(i, (signature(i) ^ 1).toByte)))
    )
  }

  test("a sealed module opens as its content, and no two have the same nonce") {
    val gcm = new AesGcm(AesKey.of(Array.fill(16)(1.toByte), "test"), CryptoProvider.of("auto"))
    val (random, content, aad) = (new SecureRandom, Array.tabulate(100)(_.toByte), Array[Byte](1, 2))
    val modules = Seq.fill(1000)(gcm.seal(content, aad, aad.length, random))
    val out = new Array[Byte](content.length)
    gcm.open(modules.head, 4, modules.head.length - 4, aad, aad.length, out, 0)
    assertEquals(out.toSeq, content.toSeq)
    assertEquals(modules.map(_.slice(4, ModuleFrame.ContentAt).toSeq).distinct.size, modules.size)
  }
}
