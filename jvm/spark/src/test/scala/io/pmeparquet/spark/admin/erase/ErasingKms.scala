package io.pmeparquet.spark.admin.erase

import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.{AesKey, Sha256}
import io.pmeparquet.kms.client.{KeyAdministrationClient, KmsFailure, SigningClient}
import io.pmeparquet.material.LocalWrap

/** A KMS that destroys keys, and does what a test says meanwhile. Ids `alias/NAME` lead to the key NAME. */
final class ErasingKms
    extends KmsClient
    with SigningClient
    with KeyAdministrationClient
    with KeyAdministrationClient.Keys {
  import ErasingKms._
  import KeyAdministrationClient.Keys._

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    ()

  override def wrapKey(key: Array[Byte], id: String): String = {
    onWrap()
    if (unwrapsOnly(nameOf(id))) throw KmsFailure.denied("not to wrap", null)
    LocalWrap.wrap(AesKey.of(key, "k"), used(id).toSecretKey, LocalWrap.aadOf(nameOf(id)), random, "k")
  }

  override def unwrapKey(wrapped: String, id: String): Array[Byte] =
    LocalWrap.unwrap(wrapped, used(id).toSecretKey, LocalWrap.aadOf(nameOf(id)), "k", id).insecureBytes

  private def used(id: String): AesKey = {
    val name = nameOf(id)
    if (gone.containsKey(name) && !lies)
      throw if (forgets()) KmsFailure.missing("no such key", null)
      else KmsFailure.destroyed("it is gone", null)
    if (spent(name)) throw KmsFailure.destroyed("its versions are gone", null)
    if (denied(name)) throw KmsFailure.denied("not for you", null)
    if (!known(name)) throw KmsFailure.missing("no such key", null)
    AesKey.of(Sha256.ofTexts(Seq(name)), "k")
  }

  override def publicKey(id: String): Array[Byte] = signer(id).getPublic.getEncoded

  override def sign(message: Array[Byte], id: String): Array[Byte] = {
    val signature = Signature.getInstance("Ed25519")
    signature.initSign(signer(id).getPrivate)
    signature.update(message)
    signature.sign()
  }

  override def keys: KeyAdministrationClient.Keys = this

  override def state(id: String): String = {
    val name = nameOf(id)
    if (gone.containsKey(name)) if (forgets()) MISSING else s"$SCHEDULED 2027-01-15"
    else if (known(name)) USABLE
    else MISSING
  }

  override def nameOf(id: String): String =
    if (odd(id)) throw KmsFailure.missing("no key can have that name", null) else id.stripPrefix("alias/")

  override def create(id: String): Unit = again(nameOf(id))
  override def consequence: String = "in this test"
  override def forgets(): Boolean = ErasingKms.forgetsGone

  override def destroy(id: String): String = {
    onDestroy(id)
    gone.put(nameOf(id), "")
    if (forgets()) DESTROYED else state(id)
  }
}

object ErasingKms {
  private val signers = new ConcurrentHashMap[String, KeyPair]
  private def signer(id: String) =
    signers.computeIfAbsent(id, _ => KeyPairGenerator.getInstance("Ed25519").generateKeyPair())

  /** The public key of a signer as PEM. */
  def pem(id: String): String = {
    val content = java.util.Base64.getEncoder.encodeToString(signer(id).getPublic.getEncoded)
    s"-----BEGIN PUBLIC KEY-----\n$content\n-----END PUBLIC KEY-----\n"
  }

  private val random = new java.security.SecureRandom
  private val gone = new ConcurrentHashMap[String, String]
  @volatile var known: Set[String] = Set.empty
  @volatile var onDestroy: String => Unit = (_: String) => ()
  @volatile var onWrap: () => Unit = () => ()

  /** Keys that it does not let this user use. */
  @volatile var denied: Set[String] = Set.empty

  /** Keys that it lets this user use, and not wrap with. */
  @volatile var unwrapsOnly: Set[String] = Set.empty

  /** Keys that it still has, and does not use any more: only some of their versions are destroyed. */
  @volatile var spent: Set[String] = Set.empty

  /** Ids that are none. */
  @volatile var odd: Set[String] = Set.empty

  /** Whether it does not know what it has destroyed, as Vault. */
  @volatile var forgetsGone = false

  /** Whether it goes on using what it has destroyed. */
  @volatile var lies = false

  def reset(names: String*): Unit = {
    gone.clear()
    known = names.toSet
    denied = Set.empty
    unwrapsOnly = Set.empty
    spent = Set.empty
    odd = Set.empty
    onDestroy = _ => ()
    onWrap = () => ()
    forgetsGone = false
    lies = false
  }

  /** Makes a key, perhaps of a name that was destroyed. */
  def again(name: String): Unit = {
    known += name
    gone.remove(name)
    ()
  }

  def isGone(name: String): Boolean = gone.containsKey(name)
}
