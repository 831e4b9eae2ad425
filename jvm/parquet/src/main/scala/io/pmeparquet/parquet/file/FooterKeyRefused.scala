package io.pmeparquet.parquet.file

import io.pmeparquet.PmeException

/**
 * A file whose footer's key this reader does not get, where the read leaves such files out
 * ([[io.pmeparquet.options.ReadSettings.deniedFiles]]). Whoever does not know of that fails by it, as by any refusal.
 *
 * @param masterKeyId the master key that was refused; none if only the read's options name it
 * @param isInFooter whether the file itself has all that the KMS was asked, and no key material beside it. Whoever can write
 *   to the storage could alter that to name a key that is refused, or a version of a key.
 */
final class FooterKeyRefused(
    val failure: PmeException,
    val masterKeyId: Option[String],
    val isInFooter: Boolean
) extends PmeException(failure)
