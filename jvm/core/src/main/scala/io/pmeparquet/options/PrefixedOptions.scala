package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

/** Options behind a prefix of ours, where every name must be ours: in a Hadoop configuration, or in a catalog. */
private[pmeparquet] object PrefixedOptions {

  /**
   * @param set names without the prefix, and values
   * @return the values by lower-case names
   * @throws io.pmeparquet.PmeException for a name that is not ours, one that is set twice, and a secret as a value
   */
  def of(set: Seq[(String, String)], prefix: String): Map[String, String] = {
    val own = once(set, prefix)
    own.keys
      .filterNot(UnknownOptions.isKnown)
      .foreach(name => throw UnknownOptions.unknown("setting", prefix + name, name))
    SecretOptions.requireReferences(own, prefix)
    own
  }

  /**
   * The values by lower-case names.
   *
   * @param prefix what messages put before a name
   * @throws io.pmeparquet.PmeException for a name that is set twice: which value counts would be chance
   */
  def once(set: Seq[(String, String)], prefix: String = ""): Map[String, String] = {
    val own = set.map { case (name, value) => lower(name) -> value }.toMap
    set.filter { case (name, value) => own(lower(name)) != value }.foreach { case (name, _) =>
      throw PmeErrors.contradiction(prefix + name, "it is set twice, in other letters", "Set it once.")
    }
    own
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}
