package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.SecretReference

/** The options whose values must be references to secrets. */
private[pmeparquet] object SecretOptions {

  /**
   * Checks the options of every KMS, also of those not chosen, because Spark shows all values.
   *
   * @param values by lower-case names of ours
   * @param prefix of the names in messages
   * @throws io.pmeparquet.PmeException `PME_SECRET_IN_OPTION`
   */
  def requireReferences(values: Map[String, String], prefix: String = ""): Unit =
    for {
      option <- PmeOptions.all if option.secret
      value <- values.get(option.name.toLowerCase(Locale.ROOT)) if !option.default.contains(value)
    } SecretReference.parse(prefix + option.name, value)
}
