package io.pmeparquet.kms.local

import io.pmeparquet.keys.{FileContent, KmsSettings}
import io.pmeparquet.Secret

/**
 * `kms=keystore`.
 *
 * @param timeoutMillis limit of one call to a PKCS#11 token
 */
final case class KeystoreSettings(
    name: String,
    storeType: String,
    content: Option[FileContent],
    password: Secret,
    timeoutMillis: Long
) extends KmsSettings {
  override def kind: String = "keystore"
  override def isInProcess: Boolean = true
}

/** `kms=static`: the keys themselves. */
final case class StaticSettings(keys: Secret) extends KmsSettings {
  override def kind: String = "static"
  override def isInProcess: Boolean = true
}
