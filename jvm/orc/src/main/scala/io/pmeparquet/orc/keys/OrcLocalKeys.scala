package io.pmeparquet.orc.keys

import java.util.Base64
import javax.crypto.spec.IvParameterSpec
import javax.crypto.Cipher

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException, RecentValues}
import io.pmeparquet.keys.Kms
import io.pmeparquet.kms.HadoopKmsClient
import io.pmeparquet.parquet.scope.Expiring

/**
 * Decrypts the local keys of ORC files, also if the KMS cannot. A local key is encrypted by AES-CTR under the master
 * key, with its own first bytes as the IV; ORC's memory provider and Hadoop KMS do the same. ''Driver only'' with
 * `kms.callFrom=driver`: master keys do not leave it.
 *
 * @param hasHadoop whether the KMS is a Hadoop KMS, which decrypts local keys itself
 * @param wrapped master keys that a key of the KMS wraps
 * @param allowed the only keys that it decrypts with; none for all
 * @param lifetimeMillis how long an unwrapped master key is used before the KMS is asked again
 */
final class OrcLocalKeys(
    kms: Kms,
    hasHadoop: Boolean,
    wrapped: Seq[WrappedMasterKey],
    allowed: Option[Set[OrcKeyName]],
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) extends Kms
    with Expiring {
  import OrcLocalKeys._

  private val masters = new RecentValues[OrcKeyName, AesKey](MaxMasters, lifetimeMillis, now)

  override def describe: String = kms.describe
  override def instanceId: String = kms.instanceId
  override def instanceUrl: String = kms.instanceUrl

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    kms.wrap(key, masterKeyId, where)

  override def unwrap(text: String, masterKeyId: String, where: String): AesKey =
    encryptedOf(text).fold(ofOthers(text, masterKeyId, where))(
      local(OrcKeyName.parse(masterKeyId), _, where)
    )

  /** A write asks for its own local keys only. */
  private def ofOthers(text: String, masterKeyId: String, where: String) =
    if (allowed.isEmpty) kms.unwrap(text, masterKeyId, where)
    else throw PmeErrors.keyRequestRefused(where, "a request to unwrap a key")

  override def takesBatches: Boolean = kms.takesBatches

  override def wrapAll(
      keys: Seq[AesKey],
      masterKeyId: String,
      where: String
  ): Seq[Either[PmeException, String]] = kms.wrapAll(keys, masterKeyId, where)

  /** Master keys are not given out, also where the KMS would. */
  override def directKey(id: String, where: String): Option[AesKey] = None

  private def local(key: OrcKeyName, encrypted: Array[Byte], where: String): AesKey = {
    if (!allowed.forall(_.contains(key)))
      throw PmeErrors.keyRequestRefused(where, s"a request for ORC key '${key.text}'")
    if (isHadoops(key)) AesKey.of(hadoops(key, encrypted, where), where)
    else derived(master(key, where), encrypted, where)
  }

  private def isHadoops(key: OrcKeyName) = hasHadoop && wrappedOf(key).isEmpty

  private def hadoops(key: OrcKeyName, encrypted: Array[Byte], where: String) =
    missingIsDenied(key, where) {
      kms.unwrap(HadoopKmsClient.localKeyText(key.version, encrypted), key.name, where).insecureBytes
    }

  override def sweep(): Unit = masters.sweep()

  /** Whether the master key itself, or a Hadoop KMS, decrypts local keys; the KMS may also only wrap and unwrap. */
  def decrypts(key: OrcKeyName, where: String): Boolean =
    hasHadoop || wrappedOf(key).isDefined || ofKms(key, where).isDefined

  /** The length of the master key in bits; none with a Hadoop KMS, which does not say. */
  def bitsOf(key: OrcKeyName, where: String): Option[Int] =
    if (isHadoops(key)) None else Some(master(key, where).bits)

  private def master(key: OrcKeyName, where: String): AesKey = masters.get(key) {
    wrappedOf(key) match {
      case Some(one) => missingIsDenied(key, where)(kms.unwrap(one.wrapped, one.kmsKey, where))
      case None =>
        missingIsDenied(key, where)(ofKms(key, where)).getOrElse(
          throw PmeErrors.orcNeedsMasterKey(where, key.text, describe)
        )
    }
  }

  private def wrappedOf(key: OrcKeyName): Option[WrappedMasterKey] =
    wrapped.find(_.key.contains(key)).orElse(wrapped.find(_.key.isEmpty))

  /** The master key of the KMS, under the first of its possible ids that the KMS has; none if it gives no key out. */
  private def ofKms(key: OrcKeyName, where: String): Option[AesKey] = {
    val answers = key.kmsIds.iterator.map(id => Kms.answer(kms.directKey(id, where))).toVector
    answers
      .collectFirst {
        case Right(found) => found
        case Left(failed) if failed.condition != Condition.KeyNotFound => throw failed
      }
      .getOrElse(throw answers.last.left.toOption.get)
  }

  /** ORC takes a key that is not there for one that the reader may not use, and so do we. */
  private def missingIsDenied[A](key: OrcKeyName, where: String)(ask: => A): A =
    try ask
    catch {
      case failed: PmeException if failed.condition == Condition.KeyNotFound =>
        throw PmeErrors.orcKeyMissing(where, key.text, describe, failed)
    }
}

object OrcLocalKeys {
  private val MaxMasters = 1000

  /** How a request says that it is for a local key. No KMS makes such a text. */
  private val Prefix = "orc:"

  private[keys] def requestOf(encrypted: Array[Byte]): String =
    Prefix + Base64.getEncoder.encodeToString(encrypted)

  private[keys] def isRequest(text: String): Boolean =
    text.startsWith(Prefix) || HadoopKmsClient.isLocalKeyText(text)

  private def encryptedOf(text: String): Option[Array[Byte]] =
    if (text.startsWith(Prefix)) Some(Base64.getDecoder.decode(text.substring(Prefix.length))) else None

  /** ORC's IV is as long as a block of AES, and local keys are as long as their algorithm's keys. */
  private val IvBytes = 16

  /** @throws io.pmeparquet.PmeException if the master key is too short for the algorithm of the local key */
  private[keys] def derived(master: AesKey, encrypted: Array[Byte], where: String): AesKey = {
    if (!isRaw(encrypted))
      throw PmeErrors.keyMetadata(
        where,
        s"its local key has ${encrypted.length} bytes, and none of ORC's algorithms has keys of this length"
      )
    if (master.bits < encrypted.length * 8)
      throw PmeErrors.keyMetadata(
        where,
        s"the master key has ${master.bits} bits, and the algorithm needs ${encrypted.length * 8}"
      )
    val cipher = Cipher.getInstance("AES/CTR/NoPadding")
    // The memory provider takes as much of a longer key as the algorithm needs.
    val key = AesKey.of(master.insecureBytes.take(encrypted.length), where)
    cipher.init(Cipher.DECRYPT_MODE, key.toSecretKey, new IvParameterSpec(encrypted.take(IvBytes)))
    AesKey.of(cipher.doFinal(encrypted), where)
  }

  /** Whether it is a local key that a master key encrypts, and not key material. */
  private[orc] def isRaw(encrypted: Array[Byte]): Boolean = encrypted.length == 16 || encrypted.length == 32
}
