package io.pmeparquet.orc.keys

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors, PmeException, RecentValues}
import io.pmeparquet.keys.{KeySource, KmsSource, KmsUse, WrappedKey}
import io.pmeparquet.material.{DataKeyUnwrapper, DoubleWrapper, JobKeks, KeyMaterial}
import io.pmeparquet.options.OrcReadSettings
import io.pmeparquet.parquet.scope.{Scope, ScopeRegistry}

/**
 * The keys of one read of ORC files, or of one write job: what `PmeKeyProvider` asks. ''Crosses the wire'' with the
 * functions that Spark sends to tasks, and prints only its id.
 *
 * @param settings of the read; of a write those of a read without requirements
 * @param access how executors get keys
 * @param writing the keys of a write; none for a read
 */
final class OrcScope private[keys] (
    id: String,
    val settings: OrcReadSettings,
    access: OrcAccess,
    writing: Option[List[OrcWriteKey]],
    @transient private[keys] val opening: OrcOpening
) extends Scope(id) {
  import OrcScope._

  @transient private var source: KeySource = _
  @transient private var unwrapping: DataKeyUnwrapper = _
  @transient private var conf: Configuration = _
  @transient private lazy val local =
    new RecentValues[(OrcKeyName, Seq[Byte]), AesKey](MaxKept, settings.kekLifetimeMillis)
  @transient private lazy val refused =
    new RecentValues[(OrcKeyName, Seq[Byte]), Unit](MaxRefused, Long.MaxValue)
  @transient private lazy val maskedKeys = ConcurrentHashMap.newKeySet[OrcKeyName]()
  @transient @volatile private var isPrepared: Boolean = _

  /** The key of a file's column, from its encrypted form in the file. */
  def localKey(key: OrcKeyName, encrypted: Array[Byte], where: String): AesKey =
    local.get(key -> encrypted.toSeq) {
      if (OrcLocalKeys.isRaw(encrypted)) {
        val asked = WrappedKey(key.text, OrcLocalKeys.requestOf(encrypted), None)
        keySource.unwrap(Seq(asked), where).head.fold(failed => throw failed, _.key)
      } else unwrapper.unwrap(material(key, encrypted, where), where)
    }

  /** The key material that an encrypted local key is; none if the master key itself encrypts it. */
  private[orc] def materialOf(key: OrcKeyName, encrypted: Array[Byte], where: String): Option[KeyMaterial] =
    if (OrcLocalKeys.isRaw(encrypted)) None else Some(material(key, encrypted, where))

  /** Key material of ours, which must be that of the key that the file names. */
  private def material(key: OrcKeyName, encrypted: Array[Byte], where: String): KeyMaterial = {
    if (encrypted.length > MaxMaterialBytes)
      throw PmeErrors.keyMetadata(where, s"its local key has ${encrypted.length} bytes")
    val material = KeyMaterial.parse(new String(encrypted, UTF_8), where)
    if (!key.kmsIds.contains(material.masterKeyId))
      throw PmeErrors.keyMetadata(
        where,
        s"its key material names master key '${material.masterKeyId}', and the file names '${key.text}'"
      )
    if (OrcLocalKeys.isRequest(material.wrappedKey.wrapped))
      throw PmeErrors.keyMetadata(where, "its key material is not what a KMS wraps")
    material
  }

  /** A new local key of a write, with its encrypted form. */
  private[keys] def newLocalKey(key: OrcKeyName, where: String): (AesKey, Array[Byte]) = {
    val own = writeKeys.find(_.key == key).getOrElse(throw notOfWrite(key))
    own.keks match {
      case Some(keks) =>
        val made = AesKey.random(own.bits, new SecureRandom)
        val material = new DoubleWrapper(keks).wrap(made, own.id, isFooterKey = false, where)
        made -> material.toJson(internal = true).getBytes(UTF_8)
      case None =>
        // The encrypted form is random, as ORC's own providers make it, and decrypts to the key.
        val encrypted = new Array[Byte](own.bits / 8)
        new SecureRandom().nextBytes(encrypted)
        localKey(key, encrypted, where) -> encrypted
    }
  }

  /** A new local key under a key of the write, as `columnKeys` names it: with its name in files, and its encrypted form. */
  private[orc] def newKeyOf(id: String, where: String): (OrcKeyName, AesKey, Array[Byte]) = {
    val own = writeKey(id).key
    val (made, encrypted) = newLocalKey(own, where)
    (own, made, encrypted)
  }

  /** The keys of a write. */
  private[keys] def writeKeys: Seq[OrcWriteKey] = writing.getOrElse(Nil)

  /** The key of a write that ORC means by a name. */
  private[keys] def writeKey(name: String): OrcWriteKey =
    writeKeys
      .find(_.id == name)
      .orElse(writeKeys.find(_.key.isMeantBy(name)))
      .getOrElse(throw notOfWrite(OrcKeyName.parse(name)))

  private def notOfWrite(key: OrcKeyName): PmeException =
    PmeErrors.keyRequestRefused("ORC write", s"a new key under '${key.text}'")

  /** Whether masks of this key are shown for the first time. */
  private[keys] def isFirstMask(key: OrcKeyName): Boolean = maskedKeys.add(key)

  /** Notes a local key that this reader is refused, after the columns that it opens were hidden. */
  private[orc] def noteRefused(key: OrcKeyName, encrypted: Array[Byte]): Unit =
    refused.put(key -> encrypted.toSeq, (), Long.MaxValue)

  /** Whether ORC may read masks without a local key: the read shows them, or has hidden the columns that it opens. */
  private[keys] def mayMask(key: OrcKeyName, encrypted: Array[Byte]): Boolean =
    settings.showMasks || refused.find(key -> encrypted.toSeq).isDefined

  /** Has its provider made once in this JVM. */
  private[keys] def prepareOnce(own: Configuration)(prepare: => Unit): Unit = {
    useConf(own)
    if (!isPrepared) {
      prepare
      isPrepared = true
    }
  }

  /** Remembers the configuration of this JVM, which a KMS is opened with if executors call it. */
  private[pmeparquet] def useConf(own: Configuration): Unit = synchronized { if (conf == null) conf = own }

  private def unwrapper: DataKeyUnwrapper = synchronized {
    if (unwrapping == null) unwrapping = new DataKeyUnwrapper(keySource, settings.kekLifetimeMillis)
    unwrapping
  }

  private def keySource: KeySource = synchronized {
    if (source == null)
      source = Option(opening).fold {
        access.open(Option(conf).getOrElse(new Configuration), settings.kekLifetimeMillis)
      }(_.source)
    source
  }

  // Whoever has the id has the keys.
  override def toString: String = s"OrcScope(${id.take(8)})"

  override private[pmeparquet] def sharedMillis: Option[Long] =
    if (writing.isEmpty) Some(settings.kekLifetimeMillis) else None

  override private[pmeparquet] def sweep(): Unit = {
    local.sweep()
    val (own, unwrappers) = synchronized((source, Option(unwrapping)))
    own match {
      case calling: KmsSource => calling.sweep()
      case _ => ()
    }
    unwrappers.foreach(_.sweep())
  }

  private def readResolve(): AnyRef = ScopeRegistry.intern(this)
}

private object OrcScope {

  /** One for each file and key, for as many files as tasks have open. */
  val MaxKept = 1000
  val MaxMaterialBytes = 4096

  /** If one is forgotten, a read fails where it would have shown NULL. */
  val MaxRefused = 100000
}

/**
 * What a scope has only in the JVM that made it.
 *
 * @param kms none for a scope that no other read shares
 */
private[keys] final class OrcOpening(
    val source: KmsSource,
    val kms: Option[KmsUse],
    val wrapped: Seq[WrappedMasterKey]
)

/**
 * A master key of a write. ''Crosses the wire'' within its scope.
 *
 * @param id as `columnKeys` and the KMS have it
 * @param bits of local keys
 * @param keks where the KMS only wraps: what wraps local keys; none if the master key itself encrypts them
 */
private[keys] final class OrcWriteKey(
    val id: String,
    val key: OrcKeyName,
    val bits: Int,
    val keks: Option[JobKeks]
) extends Serializable
