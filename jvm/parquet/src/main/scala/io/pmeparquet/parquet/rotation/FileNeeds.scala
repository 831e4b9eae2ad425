package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.WrappedKey

/** What one file needs: nothing of it is a secret. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys distinct, and those that are to be wrapped anew are proven to be the file's
   * @param more whether there is something to be done even where no key changes
   * @param met all master keys that keys are under, and those that this rotation has taken some from before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}
