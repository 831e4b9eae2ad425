package io.pmeparquet.options

import io.pmeparquet.columns.ColumnPolicy

/**
 * The checked options of one read: what it accepts, and with which keys.
 *
 * @param keyOfFilesWithoutMetadata the key of files without key metadata, if it may be used as a data key
 * @param directKeys whether a master key that a file names may be used as its data key
 * @param allowedMasterKeys if set, the only master keys that are used
 * @param columns if set, files with other protection of columns are refused
 * @param masking what happens to columns whose keys are refused; none: the read fails
 */
final case class ReadSettings(
    keyOfFilesWithoutMetadata: Option[String],
    directKeys: Boolean,
    allowedMasterKeys: Option[Set[String]],
    columns: Option[ColumnPolicy],
    acceptCtr: Boolean,
    aadPrefix: Option[AadPrefix],
    allowPlaintextFiles: Boolean,
    allowClearLevels: Boolean,
    masking: Option[Masking],
    kekLifetimeMillis: Long,
    cryptoProvider: String
) extends Serializable {

  /** Whether this read may get a master key itself out of the KMS. */
  def givesOut(keyId: String): Boolean =
    keyOfFilesWithoutMetadata.contains(keyId) ||
      (directKeys && allowedMasterKeys.forall(_.contains(keyId)))
}

/**
 * Columns whose keys the KMS refuses read as NULL.
 *
 * @param leaveOut whether an inferred schema leaves them out
 * @param inConditions whether conditions may see the NULLs
 */
final case class Masking(leaveOut: Boolean, inConditions: Boolean) extends Serializable {

  /** The option that the user set. */
  def option: String = s"${PmeOptions.DeniedColumns.name}=${if (leaveOut) "drop" else "null"}"
}
