package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.WrappedKey

/** What one file needs. It contains no secrets. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys the file's distinct wrapped keys; those to rewrap are proven to be the file's
   * @param more whether there is work even if no key changes
   * @param met all master keys of its keys, and those from which this rotation has taken keys before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}
