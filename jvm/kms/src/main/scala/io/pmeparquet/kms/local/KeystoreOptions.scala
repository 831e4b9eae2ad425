package io.pmeparquet.kms.local

import io.pmeparquet.kms.client.ClientValues
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.PmeErrors

/** Makes the settings of `kms=keystore` and `kms=static`. */
object KeystoreOptions {
  import PmeOptions._

  /** @throws io.pmeparquet.PmeException for what is missing or of no use */
  def settings(values: ClientValues): KeystoreSettings = {
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

  def static(values: ClientValues): StaticSettings =
    StaticSettings(values.requiredSecret(StaticKeys, "with kms=static"))
}
