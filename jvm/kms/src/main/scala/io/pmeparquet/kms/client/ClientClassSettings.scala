package io.pmeparquet.kms.client

import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.kms.http.ServerAddress
import io.pmeparquet.options.{ClientKind, OptionSpec, PmeOptions}
import io.pmeparquet.Secret

/**
 * Any `org.apache.parquet.crypto.keytools.KmsClient`, or Iceberg's `KeyManagementClient`.
 *
 * @param identity
 *   distinguishes configurations and users: a client may read anything from the Hadoop configuration
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

/** Makes the settings of a KMS that is reached by a class. ''Driver only.'' */
object ClientClassSettings {

  /** @throws io.pmeparquet.PmeException for an address or a time of no use */
  def ofKind(kind: ClientKind, values: DriverOptionReader): ClientClassSettings = {
    kind.addresses.foreach(option => values.text(option).foreach(ServerAddress.parse(option, _)))
    values.millis(PmeOptions.KmsTimeout)
    settings(kind.className, values, kind.options :+ PmeOptions.KmsTimeout)
  }

  /** @param name of the class */
  def ofClass(name: String, values: DriverOptionReader): ClientClassSettings =
    settings(name, values, Seq(PmeOptions.ClientProperties))

  /** @param handed options that the client is to find in its configuration */
  private def settings(
      name: String,
      values: DriverOptionReader,
      handed: Seq[OptionSpec]
  ): ClientClassSettings =
    ClientClassSettings(
      name,
      values.text(PmeOptions.InstanceId).get,
      values.text(PmeOptions.InstanceUrl).get,
      values.accessToken,
      values.identity,
      handed
        .filter(values.isSet)
        .flatMap(option => valueOf(option, values).map(PmeOptions.ParquetPrefix + option.name -> _))
        .toMap,
      values.withheld
    )

  private def valueOf(option: OptionSpec, values: DriverOptionReader): Option[Secret] =
    if (option.secret) values.secret(option) else values.text(option).map(text => new Secret(text.trim))
}
