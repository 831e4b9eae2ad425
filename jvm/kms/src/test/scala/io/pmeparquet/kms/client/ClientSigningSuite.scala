package io.pmeparquet.kms.client

import java.security.{KeyPair, KeyPairGenerator, Signature}

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.keys.PublicKeys

/** A KMS client class that signs. */
class ClientSigningSuite extends FunSuite {
  private val message = "a message".getBytes

  private def opened(client: Class[_]) = ClientClassKms.open(
    ClientClassSettings(client.getName, "DEFAULT", "DEFAULT", new Secret("DEFAULT"), "tests"),
    new Configuration(false)
  )

  private def failure(run: => Any): PmeException = {
    val failed = intercept[PmeException](run)
    Seq("table t: ", "KMS client ").foreach(words =>
      assert(failed.getMessage.contains(words), failed.getMessage)
    )
    failed
  }

  test("a client that signs makes a signing key of the public key that it has") {
    val signing = opened(classOf[Signer]).signingKey("good", "table t")
    assertEquals(signing.algorithm, PublicKeys.Ed25519)
    assertEquals(signing.publicKey.getEncoded.toSeq, Signer.pair.getPublic.getEncoded.toSeq)
    assert(PublicKeys.verifies(signing.publicKey, message, signing.sign(message, "table t")))
  }

  test("a signature that does not match the public key is refused") {
    Seq("another's", "none").foreach { id =>
      val signing = opened(classOf[Signer]).signingKey(id, "t")
      val failed = failure(signing.sign(message, "table t"))
      assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
      assert(failed.getMessage.contains("does not match its public key"), failed.getMessage)
    }
  }

  test("public key and signature are of the version that the client pinned") {
    val signing = opened(classOf[Signer]).signingKey("newest", "table t")
    assert(signing.describe.contains("'newest/1'"), signing.describe)
    assert(PublicKeys.verifies(signing.publicKey, message, signing.sign(message, "table t")))
    val failed = failure(opened(classOf[Signer]).signingKey("absent version", "table t"))
    assertEquals(failed.getCondition(), "PME_KEY_NOT_FOUND")
  }

  test("a key that is missing, of another algorithm or denied has its condition") {
    val kms = opened(classOf[Signer])
    assertEquals(failure(kms.signingKey("absent", "table t")).getCondition(), "PME_KEY_NOT_FOUND")
    val unsupported = failure(kms.signingKey("rsa", "table t"))
    assertEquals(unsupported.getCondition(), "PME_KEY_NOT_FOUND")
    assert(unsupported.getMessage.contains(PublicKeys.Supported), unsupported.getMessage)
    assertEquals(failure(kms.signingKey("denied", "table t")).getCondition(), "PME_KEY_DENIED")
    val signing = kms.signingKey("denied to sign", "t")
    assertEquals(failure(signing.sign(message, "table t")).getCondition(), "PME_KEY_DENIED")
  }

  test("a client that does not sign says so") {
    assertEquals(
      failure(opened(classOf[Wrapper]).signingKey("k", "table t")).getCondition(),
      "PME_UNSUPPORTED"
    )
  }
}

class Wrapper extends KmsClient {
  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    ()
  override def wrapKey(key: Array[Byte], masterKeyId: String): String =
    throw new UnsupportedOperationException
  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] =
    throw new UnsupportedOperationException
}

/** Signs with the key pair that the id asks for. */
final class Signer extends Wrapper with SigningClient {
  override def pinned(keyId: String): String = keyId match {
    case "newest" => "newest/1"
    case "absent version" => null
    case _ => keyId
  }

  override def publicKey(keyId: String): Array[Byte] = keyId match {
    case "absent" | "newest" => null
    case "denied" => throw KmsFailure.denied("it may not be read", null)
    case "rsa" => KeyPairGenerator.getInstance("RSA").generateKeyPair().getPublic.getEncoded
    case _ => Signer.pair.getPublic.getEncoded
  }

  override def sign(message: Array[Byte], keyId: String): Array[Byte] = keyId match {
    case "denied to sign" => throw KmsFailure.denied("it may not sign", null)
    case "none" | "newest" => null
    case "another's" => Signer.signed(message, Signer.another)
    case _ => Signer.signed(message, Signer.pair)
  }
}

object Signer {
  val pair: KeyPair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
  val another: KeyPair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()

  def signed(message: Array[Byte], by: KeyPair): Array[Byte] = {
    val signature = Signature.getInstance("Ed25519")
    signature.initSign(by.getPrivate)
    signature.update(message)
    signature.sign()
  }
}
