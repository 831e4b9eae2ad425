package io.pmeparquet.kms.local

import java.nio.file.Paths

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

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

  /** The keystore's file, if it is on a local disk. */
  def localFile(conf: Configuration): Option[java.nio.file.Path] =
    content.map(_ => new Path(name)).flatMap { path =>
      val fs = path.getFileSystem(conf)
      if (fs.getUri.getScheme == "file") Some(Paths.get(fs.makeQualified(path).toUri.getPath)) else None
    }
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
