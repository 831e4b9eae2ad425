package io.pmeparquet.parquet.scope

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.keys.{
  IssuedKek,
  KekSource,
  KeyAudit,
  KeyBroker,
  KeyPurpose,
  KeySource,
  KmsSettings,
  KmsSource,
  KmsUse
}
import io.pmeparquet.kms.KmsAccess
import io.pmeparquet.material.SharedKeks

/**
 * The configuration, identity and caches of one reader or one write job. [[ScopeRegistry]] has all scopes of a JVM.
 *
 * parquet-java makes our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it holds the scope's random id and nothing else. The functions that Spark serialises for tasks carry the
 * scope itself. Its `toString` prints only the id. ''Crosses the wire.''
 */
abstract class Scope private[pmeparquet] (val id: String) extends Serializable {

  /** How long its caches are worth keeping when no read uses it; none if reads do not share it. */
  private[pmeparquet] def sharedMillis: Option[Long]

  /** Forgets expired keys. */
  private[pmeparquet] def sweep(): Unit
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

/**
 * What a scope has only in the JVM that made it: the KMS, and the options that opened it.
 *
 * @param keks what a key broker makes for executors as long as somebody keeps it
 */
private[parquet] final class ScopeOpening(
    val source: KmsSource,
    val use: Option[KmsUse],
    private[parquet] val keks: Option[KekSource] = None
)

/**
 * Makes one key-encryption key for each master key that a task of a job asks for. ''Driver only.''
 *
 * @param check refuses names that do not go together
 */
private[scope] final class LateKeks(val source: KmsSource, check: Seq[String] => Unit) extends KekSource {
  private val made = new SharedKeks(source, Long.MaxValue)
  private var names = Set.empty[String]

  override def kek(masterKeyId: String, bits: Int, where: String): IssuedKek = {
    // A task that is refused is tried again.
    synchronized {
      if (!names(masterKeyId)) check((names + masterKeyId).toSeq)
      names += masterKeyId
    }
    made.kek(masterKeyId, bits, where)
  }
}

/** How a scope gets keys in a JVM other than the one that made it. ''Crosses the wire'' with it. */
private[parquet] sealed trait KeyAccess extends Serializable {
  def open(conf: Configuration, lifetimeMillis: Long): KeySource
}

private[parquet] object KeyAccess {

  /** `kms.callFrom=driver` */
  final case class AtDriver(broker: KeyBroker) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource = broker
  }

  /** `kms.callFrom=executor` */
  final case class AtKms(settings: KmsSettings) extends KeyAccess {
    override def open(conf: Configuration, lifetimeMillis: Long): KeySource =
      new KmsSource(KmsAccess.open(settings, conf, KeyAudit.off(KeyPurpose.Read)), lifetimeMillis)
  }
}
