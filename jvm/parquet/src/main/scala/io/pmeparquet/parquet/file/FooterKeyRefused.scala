package io.pmeparquet.parquet.file

import io.pmeparquet.PmeException

/**
 * A file whose footer's key this reader does not get, where the read leaves such files out
 * ([[io.pmeparquet.options.ReadSettings.deniedFiles]]). Whoever does not know of that fails by it, as by any refusal.
 *
 * @param masterKeyId the master key that was refused; none if only the read's options name it
 */
final class FooterKeyRefused(val failure: PmeException, val masterKeyId: Option[String])
    extends PmeException(failure)
