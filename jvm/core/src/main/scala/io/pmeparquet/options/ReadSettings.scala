package io.pmeparquet.options

import io.pmeparquet.{Condition, KeyRefusal}
import io.pmeparquet.columns.{ColumnPolicy, FilePlace, KeyNames}

/**
 * The checked options of one read: what it accepts, and with which keys.
 *
 * @param keyOfFilesWithoutMetadata the key of files without key metadata, if it may be used as a data key
 * @param directKeys whether a master key that a file names may be used as its data key
 * @param allowedMasterKeys if set, the only master keys that are used
 * @param columns if set, files with other protection of columns are refused
 * @param masking what happens to columns whose keys are refused; none: the read fails
 * @param deniedFiles for which failures of a footer's key, by their names, a query leaves out the file; else it fails
 */
final case class ReadSettings(
    keyOfFilesWithoutMetadata: Option[String],
    directKeys: Boolean,
    allowedMasterKeys: Option[KeyNames],
    columns: Option[ColumnPolicy],
    acceptCtr: Boolean,
    aadPrefix: Option[AadPrefix],
    allowPlaintextFiles: Boolean,
    allowClearLevels: Boolean,
    masking: Option[Masking],
    deniedFiles: Set[String],
    kekLifetimeMillis: Long,
    cryptoProvider: String
) extends Serializable {

  /**
   * What the columns of a file must have.
   *
   * @param where the file, for messages
   */
  def columnsAt(place: FilePlace, where: String): Option[ColumnPolicy] = columns.map(_.at(place, where))

  /** Whether a query leaves out a file whose footer's key this reader does not get for this reason. */
  def leavesOutFile(failure: Condition): Boolean = deniedFiles(failure.name)

  /** Whether a column's key that this reader does not get for this reason is a refusal, rather than a failure. */
  def isRefusal(failure: Condition): Boolean =
    KeyRefusal.ByKms(failure) || masking.exists(_.covers(failure))

  /** Whether this read may get a master key itself out of the KMS. */
  def givesOut(keyId: String): Boolean =
    keyOfFilesWithoutMetadata.contains(keyId) ||
      (directKeys && allowedMasterKeys.forall(_.contains(keyId)))
}

/**
 * Columns whose keys this reader does not get read as NULL.
 *
 * @param denied what happens where the KMS refuses the key: a value of `deniedColumns`
 * @param missing the same where it does not have the key: a value of `missingKeys`
 * @param inConditions whether conditions may see the NULLs
 */
final case class Masking(denied: String, missing: String, inConditions: Boolean) extends Serializable {

  /** Whether the read goes on after a failure of this kind. */
  def covers(failure: Condition): Boolean = choiceFor(failure) != "error"

  /** Whether an inferred schema leaves out the column. */
  def leavesOut(failure: Condition): Boolean = choiceFor(failure) == "drop"

  /** Whether an inferred schema leaves out any column. */
  def leavesOutSome: Boolean = denied == "drop" || missing == "drop"

  private def choiceFor(failure: Condition) = failure match {
    case Condition.KeyDenied => denied
    case KeyRefusal.Missing => missing
    // The KMS refuses it, and does not have it: either option covers that.
    case Condition.KeyDestroyed => if (missing == "error") denied else missing
    case _ => "error"
  }

  /** The options that the user set. */
  def option: String = Seq(PmeOptions.DeniedColumns.name -> denied, PmeOptions.MissingKeys.name -> missing)
    .collect { case (name, choice) if choice != "error" => s"$name=$choice" }
    .mkString(", ")
}
