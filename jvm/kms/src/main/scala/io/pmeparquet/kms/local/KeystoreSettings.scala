package io.pmeparquet.kms.local

import io.pmeparquet.{PmeErrors, Secret}
import io.pmeparquet.keys.{FileContent, KmsSettings}
import io.pmeparquet.kms.client.KmsOptionReader
import io.pmeparquet.options.PmeOptions

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

object KeystoreSettings {
  import PmeOptions._

  /** @throws io.pmeparquet.PmeException for what is missing or of no use */
  def of(values: KmsOptionReader): KeystoreSettings = {
    val storeType = values.text(KeystoreType).get
    val path = values.text(KeystorePath)
    if (path.isEmpty && !storeType.equalsIgnoreCase(Pkcs11Token.KeystoreType))
      throw PmeErrors.noKms
    val password = values.requiredSecret(KeystorePassword, "with kms=keystore")
    KeystoreSettings(
      path.getOrElse(storeType),
      storeType,
      path.map(file => values.content(file, s"keystore $file")),
      password,
      values.millis(KmsTimeout)
    )
  }
}
