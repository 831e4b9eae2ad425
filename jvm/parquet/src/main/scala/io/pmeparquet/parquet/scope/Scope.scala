package io.pmeparquet.parquet.scope

import io.pmeparquet.keys.{KmsSource, KmsUse}

/**
 * The configuration, identity and caches of one reader or one write job. Nothing is cached outside a scope.
 *
 * parquet-java makes our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it holds the scope's random id and nothing else. The functions that Spark serialises for tasks carry the
 * scope itself. Its `toString` prints only the id. ''Crosses the wire.''
 */
abstract class Scope private[pmeparquet] (val id: String) extends Serializable {

  /** Whether reads share it, so that its caches are worth keeping. */
  private[pmeparquet] def isShared: Boolean

  /** Forgets expired keys. */
  private[pmeparquet] def sweep(): Unit
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

/** What a scope has only in the JVM that made it: the KMS, and the options that opened it. */
private[parquet] final class ScopeOpening(val source: KmsSource, val use: Option[KmsUse])

/** Holds keys for a limited time, and forgets the expired ones when it is swept. */
trait Expiring {
  def sweep(): Unit
}
