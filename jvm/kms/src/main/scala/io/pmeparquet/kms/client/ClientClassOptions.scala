package io.pmeparquet.kms.client

import io.pmeparquet.kms.http.ServerAddress
import io.pmeparquet.options.{ClientKind, OptionSpec, PmeOptions}
import io.pmeparquet.Secret

/** Makes the settings of a KMS that is reached by a class. ''Driver only.'' */
object ClientClassOptions {

  /** @throws io.pmeparquet.PmeException for an address or a time of no use */
  def ofKind(kind: ClientKind, values: DriverValues): ClientClassSettings = {
    kind.addresses.foreach(option => values.text(option).foreach(ServerAddress.parse(option, _)))
    values.millis(PmeOptions.KmsTimeout)
    settings(kind.className, values, kind.options :+ PmeOptions.KmsTimeout)
  }

  /** @param name of the class */
  def ofClass(name: String, values: DriverValues): ClientClassSettings =
    settings(name, values, Seq(PmeOptions.ClientProperties))

  /** @param handed options that the client is to find in its configuration */
  private def settings(name: String, values: DriverValues, handed: Seq[OptionSpec]): ClientClassSettings =
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

  private def valueOf(option: OptionSpec, values: DriverValues): Option[Secret] =
    if (option.secret) values.secret(option) else values.text(option).map(text => new Secret(text.trim))
}
