package io.pmeparquet.keys

/**
 * The way to a process of the same application that calls the KMS for the others, and knows their configurations. The
 * engine's layer implements it, and Java's `ServiceLoader` finds it, since parquet-java makes our crypto factory where
 * nobody hands it anything.
 */
trait ConfigurationRoute {

  /**
   * The desk for those who have this configuration; none if this engine has no such process here, or if the process
   * knows no such configuration.
   *
   * @param request a digest of what a KMS could look at, and which generation of keys new files are to have
   * @throws io.pmeparquet.PmeException if the process knows the configuration and cannot open its KMS, or does not
   *   answer
   */
  def desk(request: String): Option[KeyDesk]
}
