package io.pmeparquet.orc.keys

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}
import java.lang.ref.Reference
import java.nio.charset.StandardCharsets.{ISO_8859_1, UTF_8}
import java.security.SecureRandom
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.orc.{EncryptionAlgorithm, InMemoryKeystore, OrcConf}
import org.apache.orc.impl.{CryptoUtils, HadoopShims, KeyProvider}

import io.pmeparquet.{AesKey, PmeException, Secret}
import io.pmeparquet.keys.{KeyAudit, KeyBrokers, KeyPurpose, KeyRoute, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.material.KeyMaterial
import io.pmeparquet.options.{Masking, OrcReadSettings}

/** The provider that ORC finds by its service interface, and the scopes that it leads to. */
class PmeKeyProviderSuite extends FunSuite {
  import PmeKeyProviderSuite._

  private val random = new SecureRandom
  private val conf = new Configuration(false)
  private val (pii, pay) = (AesKey.random(128, random), AesKey.random(256, random))

  private def use(keys: (String, AesKey)*) = {
    val lines = keys.map { case (name, key) =>
      s"$name=${Base64.getEncoder.encodeToString(key.insecureBytes)}"
    }
    KmsUse(StaticSettings(new Secret(lines.mkString("\n"))), Some(Here), KeyAudit.off(KeyPurpose.Read))
  }
  private val both = use("pii" -> pii, "pay@3" -> pay)

  private def reading(of: KmsUse, masking: Option[Masking] = None, masks: Boolean = false) =
    OrcScopes.forRead(
      of,
      Nil,
      OrcReadSettings(None, allowPlaintextFiles = false, masking, masks, lifetime),
      conf
    )
  // Equal settings share a scope.
  private def lifetime = {
    scopes += 1
    100000L + scopes
  }

  /** As ORC finds a provider. */
  private def providerOf(kind: String): KeyProvider = {
    val own = new Configuration(false)
    own.set(OrcConf.KEY_PROVIDER.getAttribute, kind)
    CryptoUtils.getKeyProvider(own, random)
  }

  private def metadata(name: String, version: Int, algorithm: EncryptionAlgorithm) =
    new HadoopShims.KeyMetadata(name, version, algorithm)
  private val of128 = metadata("pii", 0, EncryptionAlgorithm.AES_CTR_128)
  private val of256 = metadata("pay", 3, EncryptionAlgorithm.AES_CTR_256)
  private val memory = new InMemoryKeystore(random)
    .addKey("pii", 0, of128.getAlgorithm, pii.insecureBytes)
    .addKey("pay", 3, of256.getAlgorithm, pay.insecureBytes)

  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  test("ORC finds the provider of each read, and keys of its memory provider open") {
    val scope = reading(both)
    val provider = providerOf(OrcProviders.kindOf(scope))
    for (key <- Seq(of128, of256)) {
      val made = memory.createLocalKey(key)
      assertEquals(
        provider.decryptLocalKey(key, made.getEncryptedKey).getEncoded.toSeq,
        made.getDecryptedKey.getEncoded.toSeq
      )
    }
    Reference.reachabilityFence(scope)
  }

  test("two reads with different keys see their own, though ORC caches providers") {
    val (one, other) = (reading(both), reading(use("pii" -> AesKey.random(128, random))))
    val made = memory.createLocalKey(of128)
    val opened = Seq(one, other, one).map(scope =>
      providerOf(OrcProviders.kindOf(scope)).decryptLocalKey(of128, made.getEncryptedKey).getEncoded.toSeq
    )
    assertEquals(opened.map(_ == made.getDecryptedKey.getEncoded.toSeq), Seq(true, false, true))
    assertEquals(
      condition(providerOf(OrcProviders.kindOf(other)).decryptLocalKey(of256, made.getEncryptedKey)),
      "PME_KEY_DENIED"
    )
    Reference.reachabilityFence((one, other))
  }

  test("reads with equal settings share a scope, and others do not") {
    val settings = OrcReadSettings(None, allowPlaintextFiles = false, None, showMasks = false, lifetime)
    def scope(of: KmsUse, wrapped: Seq[WrappedMasterKey], settings: OrcReadSettings) =
      OrcScopes.forRead(of, wrapped, settings, conf)
    val one = scope(both, Nil, settings)
    assert(scope(both, Nil, settings) eq one)
    assert(!(scope(both, Nil, settings.copy(showMasks = true)) eq one))
    assert(!(scope(both, Seq(WrappedMasterKey(None, "pii", "x")), settings) eq one))
    assert(!(scope(use("pii" -> pii), Nil, settings) eq one))
  }

  test("a missing key is null, which shows masks, only where the read says what happens to its columns") {
    val encrypted = memory.createLocalKey(of128).getEncryptedKey
    val none = use("other" -> pii)
    def asked(scope: OrcScope) = {
      val found = providerOf(OrcProviders.kindOf(scope)).decryptLocalKey(of128, encrypted)
      Reference.reachabilityFence(scope)
      found
    }
    assertEquals(condition(asked(reading(none))), "PME_KEY_DENIED")
    assertEquals(asked(reading(none, masks = true)), null)
    // Where the read shows NULL, ORC may see the mask only of columns that are hidden already.
    val hiding = reading(none, Some(Masking("null", "error", inConditions = false)))
    assertEquals(condition(asked(hiding)), "PME_KEY_DENIED")
    hiding.noteRefused(OrcKeyName("pii", 0), memory.createLocalKey(of128).getEncryptedKey)
    assertEquals(condition(asked(hiding)), "PME_KEY_DENIED")
    hiding.noteRefused(OrcKeyName("pii", 0), encrypted)
    assertEquals(asked(hiding), null)
    // Whatever the read accepts: a key that does not fit is no refusal.
    val short = reading(use("pay@3" -> pii), masks = true)
    assertEquals(
      condition(
        providerOf(OrcProviders.kindOf(short))
          .decryptLocalKey(of256, memory.createLocalKey(of256).getEncryptedKey)
      ),
      "PME_KEY_METADATA"
    )
  }

  test("without a scope, or after its end, there is no key") {
    val alone = providerOf("pme")
    assertEquals(alone.getKeyNames.size, 0)
    for (
      ask <- Seq[KeyProvider => Any](
        _.getCurrentKeyVersion("pii"),
        _.createLocalKey(of128),
        _.decryptLocalKey(of128, new Array[Byte](16))
      )
    )
      intercept[PmeException](ask(alone))
    assertEquals(
      condition(providerOf("pme:none").decryptLocalKey(of128, new Array[Byte](16))),
      "PME_KMS_UNAVAILABLE"
    )
    assertEquals(new PmeKeyProviderFactory().create("memory", conf, random), null)
  }

  test("a write makes local keys that ORC's memory provider opens, under its own master keys only") {
    val scope = OrcScopes.forWrite(both, Nil, Seq("pii", "pay@3"), None, conf)
    val provider = providerOf(OrcProviders.kindOf(scope))
    for ((name, key, bits) <- Seq(("pii", of128, 128), ("pay@3", of256, 256))) {
      val current = provider.getCurrentKeyVersion(name)
      assertEquals((current.getKeyName, current.getVersion), (key.getKeyName, key.getVersion))
      val (one, other) = (provider.createLocalKey(current), provider.createLocalKey(current))
      assertEquals(one.getDecryptedKey.getEncoded.length * 8, bits)
      assertEquals(
        memory.decryptLocalKey(key, one.getEncryptedKey).getEncoded.toSeq,
        one.getDecryptedKey.getEncoded.toSeq
      )
      assert(!one.getEncryptedKey.sameElements(other.getEncryptedKey))
    }
    assertEquals(condition(provider.getCurrentKeyVersion("other")), "PME_KEY_DENIED")
    assertEquals(condition(provider.createLocalKey(metadata("pay", 4, of256.getAlgorithm))), "PME_KEY_DENIED")
    assertEquals(
      condition(provider.decryptLocalKey(metadata("other", 0, of128.getAlgorithm), new Array[Byte](16))),
      "PME_KEY_DENIED"
    )
    Reference.reachabilityFence(scope)
  }

  test("a write under two versions of a key uses the one that each column names") {
    val versions = use("k@1" -> pii, "k" -> pay)
    val scope = OrcScopes.forWrite(versions, Nil, Seq("k@1", "k"), None, conf)
    val provider = providerOf(OrcProviders.kindOf(scope))
    assertEquals(Seq("k", "k@1").map(provider.getCurrentKeyVersion(_).getVersion), Seq(0, 1))
    Reference.reachabilityFence(scope)
  }

  test("a write is refused keys that the KMS lacks, and lengths that ORC or the master key does not have") {
    def write(keys: Seq[String], bits: Option[Int] = None, of: KmsUse = both) =
      OrcScopes.forWrite(of, Nil, keys, bits, conf)
    assertEquals(condition(write(Seq("pii", "nope"))), "PME_KEY_NOT_FOUND")
    assertEquals(condition(write(Seq("pay"))), "PME_KEY_NOT_FOUND")
    assertEquals(condition(write(Seq("pii"), Some(256))), "PME_BAD_OPTION")
    assertEquals(condition(write(Seq("k"), of = use("k" -> AesKey.random(192, random)))), "PME_KEY_NOT_FOUND")
  }

  test("key material of ours opens only under the master key that the file names") {
    val name = OrcKeyName("pii", 0)
    val kms = io.pmeparquet.kms.KmsAccess.open(both.settings, conf, KeyAudit.off(KeyPurpose.Read))
    def material(id: String) = KeyMaterial(
      isFooterKey = false,
      masterKeyId = id,
      wrappedDek = kms.wrap(AesKey.of(Array.fill(16)(5.toByte), "test"), id, "test"),
      kek = None
    )
    val scope = reading(both)
    def opened(text: String) = scope.localKey(name, text.getBytes(UTF_8), "test")
    assertEquals(opened(material("pii").toJson(internal = true)).insecureBytes.toSeq, Seq.fill(16)(5.toByte))
    assertEquals(condition(opened(material("pay@3").toJson(internal = true))), "PME_KEY_METADATA")
    val encrypted = OrcLocalKeys.requestOf(new Array[Byte](16))
    for (text <- Seq(encrypted, "hadoop-orc:0:AAAAAAAAAAAAAAAAAAAAAA=="))
      assertEquals(
        condition(opened(material("pii").copy(wrappedDek = text).toJson(internal = true))),
        "PME_KEY_METADATA"
      )
    assertEquals(condition(opened("x" * 5000)), "PME_KEY_METADATA")
    assertEquals(condition(opened("not json, and not 16 bytes")), "PME_KEY_METADATA")
  }

  test("what crosses the wire has no key, prints none, and is the known scope again") {
    for (scope <- Seq(reading(both), OrcScopes.forWrite(both, Nil, Seq("pii", "pay@3"), None, conf))) {
      val bytes = new ByteArrayOutputStream
      new ObjectOutputStream(bytes).writeObject(scope)
      val sent = new String(bytes.toByteArray, ISO_8859_1)
      for (
        key <- Seq(pii, pay);
        found <- Seq(
          new String(key.insecureBytes, ISO_8859_1),
          Base64.getEncoder.encodeToString(key.insecureBytes)
        )
      )
        assert(!sent.contains(found) && !scope.toString.contains(found))
      assert(new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject() eq scope)
    }
  }
}

private object PmeKeyProviderSuite {
  var scopes = 0

  /** A driver that executors reach without a network. */
  case object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
  }
}
