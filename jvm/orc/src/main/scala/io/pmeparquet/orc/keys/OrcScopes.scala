package io.pmeparquet.orc.keys

import java.security.SecureRandom

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.{KeyBrokers, KeyGrants, KeyRoute, Kms, KmsSource, KmsUse}
import io.pmeparquet.material.JobKeks
import io.pmeparquet.options.OrcReadSettings
import io.pmeparquet.parquet.scope.{ScopeRegistry, Scopes}

/** Makes the scopes of ORC files on the driver, and finds them by id. */
object OrcScopes {
  import OrcAccess.{isHadoop, localKeysOf, openedKms}

  /** What opens the master keys of a table. Two that are equal lead to the same keys. */
  private final case class Use(kms: KmsUse, wrapped: Seq[WrappedMasterKey])

  /**
   * The scope of a read. Reads with equal settings share one.
   *
   * @param wrapped master keys of the table
   * @throws io.pmeparquet.PmeException if the KMS cannot be opened
   */
  def forRead(
      use: KmsUse,
      wrapped: Seq[WrappedMasterKey],
      settings: OrcReadSettings,
      conf: Configuration
  ): OrcScope = {
    val own = Use(use, wrapped)
    val fits = (orc: OrcScope) =>
      orc.settings == settings && orc.opening != null &&
        orc.opening.kms.contains(use) && orc.opening.wrapped == wrapped
    ScopeRegistry.shared(fits) {
      val localKeys =
        localKeysOf(
          openedKms(use.settings, conf, use.audit),
          use.settings,
          wrapped,
          None,
          settings.kekLifetimeMillis
        )
      new KmsSource(localKeys, settings.kekLifetimeMillis)
    }(scope(own, None, None, settings, _))
  }

  /**
   * The scope of one write job. It asks the KMS here, before the write touches any file.
   *
   * @param masterKeys of the write, as `columnKeys` or `orc.encrypt` names them
   * @param dataKeyBits the length of local keys; none: that of the master key where it encrypts them, else 128
   * @throws io.pmeparquet.PmeException if the KMS does not have a key, or denies it
   */
  def forWrite(
      use: KmsUse,
      wrapped: Seq[WrappedMasterKey],
      masterKeys: Seq[String],
      dataKeyBits: Option[Int],
      conf: Configuration
  ): OrcScope = {
    val where = "ORC write"
    val own = Use(use, wrapped)
    val kms = openedKms(use.settings, conf, use.audit)
    val names = masterKeys.map { id =>
      val name = OrcKeyName.parse(id)
      val isWrapped = wrapped.exists(_.key.forall(_ == name))
      id -> (if (isHadoop(use.settings) && !isWrapped) newest(id, name, kms, where) else name)
    }
    val allowed = Some(names.map(_._2).toSet)
    val localKeys = localKeysOf(kms, use.settings, wrapped, allowed, JobMillis)
    val source = new KmsSource(localKeys, JobMillis)
    val keys = names.map { case (id, name) => writeKey(id, name, localKeys, source, dataKeyBits, where) }
    val read = OrcReadSettings.withoutRequirements(JobMillis)
    ScopeRegistry.register(scope(own, allowed, Some(keys.toList), read, source))
  }

  /**
   * The scope of a rotation, for a KMS that this driver has opened and that no executor calls. It opens key material, and
   * no local keys that a master key itself encrypts.
   */
  def forRotation(source: KmsSource, route: KeyRoute, lifetimeMillis: Long): OrcScope = {
    val access = OrcAccess.AtDriver(KeyBrokers.open(source, route, KeyGrants.toRead(_ => false)))
    val settings = OrcReadSettings.withoutRequirements(lifetimeMillis)
    ScopeRegistry.register(
      new OrcScope(Scopes.newId(), settings, access, None, new OrcOpening(source, None, Nil))
    )
  }

  private def writeKey(
      id: String,
      name: OrcKeyName,
      localKeys: OrcLocalKeys,
      source: KmsSource,
      asked: Option[Int],
      where: String
  ): OrcWriteKey =
    if (localKeys.decrypts(name, where)) {
      val bits = localKeys.bitsOf(name, where).orElse(asked).getOrElse(DefaultBits)
      requireBits(bits, id, where)
      asked.filter(_ != bits).foreach { wanted =>
        throw PmeErrors.contradiction(
          "dataKeyBits",
          s"master key '$id' has $bits bits, and ORC's local keys are as long as it, but dataKeyBits is $wanted",
          "Remove dataKeyBits, or name another key."
        )
      }
      // The KMS answers now or the job does not start.
      source.unwrap(Seq(trial(name, bits)), where).head.fold(failed => throw failed, _ => ())
      new OrcWriteKey(id, name, bits, None)
    } else {
      val bits = asked.getOrElse(DefaultBits)
      requireBits(bits, id, where)
      new OrcWriteKey(id, name, bits, Some(JobKeks.make(source, Seq(id), DefaultBits, where)))
    }

  private def requireBits(bits: Int, id: String, where: String): Unit =
    if (bits != 128 && bits != 256)
      throw PmeErrors.keyUnusable(
        where,
        id,
        s"it has $bits bits, and ORC has AES with keys of 128 and 256 bits"
      )

  private def trial(key: OrcKeyName, bits: Int) = {
    val encrypted = new Array[Byte](bits / 8)
    new SecureRandom().nextBytes(encrypted)
    io.pmeparquet.keys.WrappedKey(key.text, OrcLocalKeys.requestOf(encrypted), None)
  }

  /** A Hadoop KMS returns the newest version of a key when it wraps with it. */
  private def newest(id: String, name: OrcKeyName, kms: Kms, where: String): OrcKeyName =
    if (id != name.name) name
    else {
      val wrapped = kms.wrap(AesKey.random(DefaultBits, new SecureRandom), name.name, where)
      wrapped match {
        case HadoopVersion(version) => name.copy(version = version.toInt)
        case _ => throw PmeErrors.keyUnusable(where, id, "its KMS does not tell its version")
      }
    }

  private val HadoopVersion = "hadoop:([0-9]{1,9}):.*".r

  private def scope(
      use: Use,
      allowed: Option[Set[OrcKeyName]],
      writing: Option[List[OrcWriteKey]],
      settings: OrcReadSettings,
      source: KmsSource
  ): OrcScope = {
    // A write whose keys are wrapped here asks the driver for nothing.
    val asks = writing.forall(_.exists(_.keks.isEmpty))
    val grants = KeyGrants.toRead(_ => false).copy(unwraps = asks)
    val access = use.kms.route match {
      case Some(route) => OrcAccess.AtDriver(KeyBrokers.open(source, route, grants))
      case None => OrcAccess.AtKms(use.kms.settings, use.wrapped, allowed)
    }
    new OrcScope(
      Scopes.newId(),
      settings,
      access,
      writing,
      new OrcOpening(source, Some(use.kms), use.wrapped)
    )
  }

  private val DefaultBits = 128

  /** A write needs its keys until the job is done. */
  private val JobMillis = 7L * 24 * 3600 * 1000
}
