package io.pmeparquet.options

import io.pmeparquet.columns.UnlistedColumns
import io.pmeparquet.keys.KmsUse

/** The checked options of one write: its KMS, and how its files are encrypted. */
final case class WriteSettings(use: KmsUse, files: FileSettings)

/**
 * The keys that options name, before anybody knows the columns of a file, or whether a write can use them. Values of a
 * level that a higher one overrides are not among them.
 *
 * @param columns the text of `columnKeys`
 * @param unlisted what happens to columns that no key names
 */
private[pmeparquet] final case class NamedKeys(
    footer: Option[String],
    columns: Option[String],
    uniform: Option[String],
    unlisted: UnlistedColumns
)
