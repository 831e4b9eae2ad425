package io.pmeparquet.parquet.scope

import io.pmeparquet.keys.{KmsSource, KmsUse}

/**
 * The configuration, identity and caches of one reader or one write job. Nothing is cached outside a scope.
 *
 * parquet-java creates our crypto factory by class name from a Hadoop configuration, so the configuration must lead to
 * the scope: it contains the scope's random id and nothing else. The scope itself travels inside the functions that
 * Spark serializes for tasks. ''Crosses the wire.'' It prints only its id.
 */
abstract class Scope private[scope] (val id: String) extends Serializable {

  /** Drops expired keys. */
  private[parquet] def sweep(): Unit
  override def toString: String = s"${getClass.getSimpleName}($id)"
}

/** What a scope has only in the JVM that made it: the KMS itself, and its settings. */
private[parquet] final class ScopeOpening(val source: KmsSource, val use: Option[KmsUse])
