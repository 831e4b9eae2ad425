package io.pmeparquet.spark.keys

import java.nio.charset.StandardCharsets.UTF_8
import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.security.spec.ECGenParameterSpec
import java.util.Base64

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.{KeyToolkit, KmsClient}
import org.apache.parquet.crypto.KeyAccessDeniedException

import io.pmeparquet.kms.client.SigningClient
import io.pmeparquet.Sha256

/**
 * A KMS of which each user has some keys. Its instance URL says which: master keys as `footer`, or as `pii=mallory` for
 * another key of that name; all others are denied. It signs with any key pair that is named as `sign:name`.
 */
class HolderKms extends KmsClient with SigningClient {
  private var held: Map[String, String] = Map.empty

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    held = instanceUrl.split(',').map(_.split('=')).map(key => key.head -> key.last).toMap

  override def wrapKey(key: Array[Byte], id: String): String =
    KeyToolkit.encryptKeyLocally(key, master(id), id.getBytes(UTF_8))

  override def unwrapKey(wrapped: String, id: String): Array[Byte] =
    KeyToolkit.decryptKeyLocally(wrapped, master(id), id.getBytes(UTF_8))

  override def publicKey(id: String): Array[Byte] = pair(id).map(_.getPublic.getEncoded).orNull

  override def sign(message: Array[Byte], id: String): Array[Byte] = {
    val own = pair(id).get
    val signer =
      Signature.getInstance(if (own.getPrivate.getAlgorithm == "EC") "SHA256withECDSA" else "Ed25519")
    signer.initSign(own.getPrivate)
    signer.update(message)
    signer.sign()
  }

  private def master(id: String) = {
    val whose = held.getOrElse(id, throw new KeyAccessDeniedException(s"test: $id is denied"))
    Sha256.ofBytes(s"$whose of $id".getBytes(UTF_8)).take(16)
  }

  private def pair(id: String) = held.get(s"sign:$id").map(_ => HolderKms.pairOf(id))
}

object HolderKms {
  private val pairs = mutable.HashMap.empty[String, KeyPair]

  /** Keys whose names begin with `ec` or `rsa` are of that kind, and others Ed25519 keys. */
  private def pairOf(id: String): KeyPair = synchronized {
    pairs.getOrElseUpdate(
      id,
      if (id.startsWith("ec")) {
        val generator = KeyPairGenerator.getInstance("EC")
        generator.initialize(new ECGenParameterSpec("secp256r1"))
        generator.generateKeyPair()
      } else KeyPairGenerator.getInstance(if (id.startsWith("rsa")) "RSA" else "Ed25519").generateKeyPair()
    )
  }

  /** The public key of a key pair as PEM. */
  def pem(id: String): String = {
    val content = Base64.getEncoder.encodeToString(pairOf(id).getPublic.getEncoded)
    s"-----BEGIN PUBLIC KEY-----\n$content\n-----END PUBLIC KEY-----\n"
  }

  /** Options of a user who has these keys. */
  def options(keys: String*): Map[String, String] = Map(
    "kms" -> classOf[HolderKms].getName,
    "parquet.encryption.kms.instance.url" -> ("none" +: keys).mkString(",")
  )
}
