package io.pmeparquet.keys

/**
 * A KMS and who calls it.
 *
 * @param route how executors reach the driver, which then calls the KMS; none if executors call it themselves
 * @param audit what it is called for, and how that is recorded
 */
final case class KmsUse(settings: KmsSettings, route: Option[KeyRoute], audit: KeyAudit)
