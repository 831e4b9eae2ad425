package io.pmeparquet.kms.client

import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.options.ClientKind
import io.pmeparquet.Secret

/**
 * Any `org.apache.parquet.crypto.keytools.KmsClient`, or Iceberg's `KeyManagementClient`.
 *
 * @param identity
 *   tells configurations and users apart: a client may read anything from the Hadoop configuration
 * @param handed what the client finds in its Hadoop configuration, and nobody finds in another
 * @param withheld
 *   what a table's definition would put into that configuration, and the value that replaces it, if any
 */
final case class ClientClassSettings(
    name: String,
    instanceId: String,
    instanceUrl: String,
    token: Secret,
    identity: String,
    handed: Map[String, Secret] = Map.empty,
    withheld: Map[String, Option[String]] = Map.empty
) extends KmsSettings {
  private def known: Option[ClientKind] = ClientKind.all.find(_.className == name)

  override def kind: String = known.fold(name)(_.name)
  override def isInProcess: Boolean = false

  /** The client as messages name it. */
  def title: String = known.fold(s"KMS client $name")(_.title)

  /** The artifact of ours that holds the class, if it is not in the connector's jar. */
  def jar: Option[String] = known.flatMap(_.jar)
}
