package io.pmeparquet.kms.local

import java.security._
import java.security.cert.Certificate
import java.security.spec.ECGenParameterSpec

import io.pmeparquet.kms.local.FakeToken.Step

/** The key pair `s` of a [[FakeToken]], whose private key does not leave it. */
private object FakeSigner {
  val Alias = "s"

  val pair: KeyPair = {
    val generator = KeyPairGenerator.getInstance("EC")
    generator.initialize(new ECGenParameterSpec("secp256r1"))
    generator.generateKeyPair()
  }
}

private final class FakePrivateKey extends PrivateKey {
  override def getAlgorithm: String = "EC"
  override def getFormat: String = null
  override def getEncoded: Array[Byte] = null
}

private final class FakeCertificate extends Certificate("fake") {
  override def getPublicKey: PublicKey = FakeSigner.pair.getPublic
  override def toString: String = "fake"

  private def unused = throw new UnsupportedOperationException
  override def getEncoded: Array[Byte] = unused
  override def verify(key: PublicKey): Unit = unused
  override def verify(key: PublicKey, provider: String): Unit = unused
}

/** The JVM's own signature, with a key that the token alone has. */
private final class FakeSignature(token: FakeToken) extends SignatureSpi {
  private val inner = Signature.getInstance("SHA256withECDSA", "SunEC")

  override def engineInitSign(key: PrivateKey): Unit = {
    token.reach(Step.Sign)
    inner.initSign(FakeSigner.pair.getPrivate)
  }
  override def engineUpdate(bytes: Array[Byte], offset: Int, length: Int): Unit =
    inner.update(bytes, offset, length)
  override def engineSign(): Array[Byte] = inner.sign()

  private def unused = throw new UnsupportedOperationException
  override def engineInitVerify(key: PublicKey): Unit = unused
  override def engineUpdate(byte: Byte): Unit = unused
  override def engineVerify(signature: Array[Byte]): Boolean = unused
  override def engineSetParameter(name: String, value: AnyRef): Unit = unused
  override def engineGetParameter(name: String): AnyRef = unused
}
