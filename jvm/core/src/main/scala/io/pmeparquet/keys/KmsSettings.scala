package io.pmeparquet.keys

import java.security.MessageDigest

import io.pmeparquet.keys.vault.VaultSettings
import io.pmeparquet.options.ClientKind
import io.pmeparquet.Secret

/**
 * How to reach the master keys, with all secrets resolved. Prints no secret. Two settings are equal when they lead to
 * the same keys for the same user: caches are kept by that.
 *
 * ''Crosses the wire'' within a scope with `kms.callFrom=executor`, and never else.
 */
sealed trait KmsSettings extends Serializable

object KmsSettings {

  /** @param timeoutMillis all that one call of a PKCS#11 token may take */
  final case class Keystore(
      name: String,
      storeType: String,
      content: Option[Content],
      password: Secret,
      timeoutMillis: Long
  ) extends KmsSettings
  final case class Static(keys: Secret) extends KmsSettings
  final case class Vault(at: VaultSettings) extends KmsSettings

  /**
   * Any `org.apache.parquet.crypto.keytools.KmsClient`, or Iceberg's `KeyManagementClient`.
   *
   * @param identity
   *   tells apart configurations and users: a client may read whatever it likes from the Hadoop configuration
   * @param handed what the client finds in its Hadoop configuration, and nobody in another
   * @param withheld
   *   what a table's definition would put into that configuration, and what stands there in its place, if anything
   */
  final case class ClientClass(
      name: String,
      instanceId: String,
      instanceUrl: String,
      token: Secret,
      identity: String,
      handed: Map[String, Secret] = Map.empty,
      withheld: Map[String, Option[String]] = Map.empty
  ) extends KmsSettings {

    /** What messages call it. */
    def title: String = ClientKind.all.find(_.className == name).fold(s"KMS client $name")(_.title)

    /** The artifact of ours that the class is in, where it is not the connector's. */
    def jar: Option[String] = ClientKind.all.find(_.className == name).flatMap(_.jar)
  }

  /** The bytes of a keystore file, as read on the driver. */
  final class Content(private val bytes: Array[Byte]) extends Serializable {
    def insecureBytes: Array[Byte] = bytes
    override def equals(other: Any): Boolean = other match {
      case that: Content => MessageDigest.isEqual(bytes, that.bytes)
      case _ => false
    }
    override def hashCode(): Int = bytes.length
    override def toString: String = s"Content(${bytes.length} bytes)"
  }
}

/**
 * A KMS and who calls it.
 *
 * @param route how executors reach the driver, which then is the one that calls; none where executors call themselves
 */
final case class KmsUse(settings: KmsSettings, route: Option[KeyRoute])
