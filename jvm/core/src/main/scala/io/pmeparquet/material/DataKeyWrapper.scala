package io.pmeparquet.material

import java.security.SecureRandom
import java.util.concurrent.ConcurrentHashMap
import java.util.Base64

import io.pmeparquet.{AesKey, RecentValues}
import io.pmeparquet.keys.{Invocations, IssuedKek, KekSource, KeyBroker, KeySource, KmsSource}

/** Wraps the data keys of files (envelope encryption). One per write job. */
trait DataKeyWrapper {
  def wrap(dek: AesKey, masterKeyId: String, isFooterKey: Boolean, where: String): KeyMaterial
}

/** `doubleWrapping=false`: the master key wraps each data key, with one KMS call each. */
final class SingleWrapper(source: KeySource) extends DataKeyWrapper {
  override def wrap(dek: AesKey, masterKeyId: String, isFooterKey: Boolean, where: String): KeyMaterial = {
    val instance = if (isFooterKey) Some(source.instance) else None
    KeyMaterial(isFooterKey, masterKeyId, source.wrap(dek, masterKeyId, where), None, instance)
  }
}

/** `doubleWrapping=true`: the key-encryption keys of the job wrap data keys, without the KMS. */
final class DoubleWrapper(keks: JobKeks) extends DataKeyWrapper {
  private val random = new SecureRandom

  override def wrap(dek: AesKey, masterKeyId: String, isFooterKey: Boolean, where: String): KeyMaterial = {
    val kek = keks.of(masterKeyId)
    kek.used.count(where)
    val wrapped = LocalWrap.wrap(dek, kek.key.toSecretKey, kek.id, random, where)
    val material = KeyMaterial.Kek(Base64.getEncoder.encodeToString(kek.id), kek.wrapped)
    KeyMaterial(
      isFooterKey,
      masterKeyId,
      wrapped,
      Some(material),
      if (isFooterKey) Some(keks.instance) else None
    )
  }
}

/**
 * The key-encryption keys of one write job: one per master key, which the KMS wraps once, on the driver. A job wraps one
 * data key per file and column; each JVM counts its own.
 *
 * ''Crosses the wire'' within the scope of the job, so that executors can write without the KMS. It does not print keys.
 *
 * @param instance the KMS as key material names it: instance id and url
 * @param later makes those that the driver did not know before the job
 */
final class JobKeks private (
    keks: Map[String, JobKeks.Kek],
    val instance: (String, String),
    later: Option[String => JobKeks.Kek]
) extends Serializable {
  @transient private lazy val met = new ConcurrentHashMap[String, JobKeks.Kek]

  /** @throws io.pmeparquet.PmeException if it is a later one, and the KMS refuses it */
  def of(masterKeyId: String): JobKeks.Kek =
    keks.getOrElse(
      masterKeyId,
      met.computeIfAbsent(
        masterKeyId,
        id =>
          later.getOrElse(throw new IllegalStateException(s"internal error: no KEK made for '$id'")).apply(id)
      )
    )
}

object JobKeks {
  final class Kek(val id: Array[Byte], val key: AesKey, val wrapped: String) extends Serializable {
    @transient lazy val used: Invocations = new Invocations
  }

  /** @throws io.pmeparquet.PmeException if the KMS does not have a master key or refuses it */
  def make(source: KmsSource, masterKeyIds: Seq[String], bits: Int, where: String): JobKeks = {
    val random = new SecureRandom
    val keys = masterKeyIds.distinct.map(AesKey.random(bits, random) -> _)
    val keks = keys.zip(source.wrapAll(keys, where)).map { case ((key, masterKeyId), wrapped) =>
      val id = new Array[Byte](KeyMaterial.KekIdBytes)
      random.nextBytes(id)
      masterKeyId -> new Kek(id, key, wrapped)
    }
    new JobKeks(keks.toMap, source.instance, None)
  }

  /** The keys that another process makes for all that write with this configuration. */
  def shared(
      source: KekSource,
      instance: (String, String),
      masterKeyIds: Seq[String],
      bits: Int,
      where: String
  ): JobKeks = {
    val make = kekOf(source, bits, where)
    new JobKeks(masterKeyIds.distinct.map(id => id -> make(id)).toMap, instance, None)
  }

  /** Those of a job whose master keys its tasks find out. They ask the driver. */
  def asNeeded(source: KeyBroker, bits: Int, where: String): JobKeks =
    new JobKeks(Map.empty, source.instance, Some(kekOf(source, bits, where)))

  private def kekOf(source: KekSource, bits: Int, where: String): String => Kek = { masterKeyId =>
    val lent = source.kek(masterKeyId, bits, where)
    new Kek(lent.id, lent.key, lent.wrapped)
  }
}

/**
 * Makes one key-encryption key for each master key and length, for the writes of several processes. ''Driver only.''
 *
 * @param lifetimeMillis how long new writes begin with the same key
 */
final class SharedKeks(
    source: KeySource,
    lifetimeMillis: Long,
    now: () => Long = RecentValues.monotonicMillis
) extends KekSource {
  private val made = new RecentValues[(String, Int), IssuedKek](SharedKeks.MaxKept, lifetimeMillis, now)
  private val random = new SecureRandom

  override def kek(masterKeyId: String, bits: Int, where: String): IssuedKek = made.get(masterKeyId -> bits) {
    val key = AesKey.random(bits, random)
    val id = new Array[Byte](KeyMaterial.KekIdBytes)
    random.nextBytes(id)
    new IssuedKek(id, key, source.wrap(key, masterKeyId, where))
  }

  /** Forgets expired keys. */
  def sweep(): Unit = made.sweep()
}

private object SharedKeks {
  val MaxKept = 10000
}
