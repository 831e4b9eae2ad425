package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.WrappedKey

/** What one file needs; it contains no secret. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys distinct keys; those to rewrap are proven to belong to the file
   * @param more whether there is work even if no key changes
   * @param met all master keys in use, and those that this rotation has replaced before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}
