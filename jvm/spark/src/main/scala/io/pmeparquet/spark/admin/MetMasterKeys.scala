package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.rotation.FileNeeds
import io.pmeparquet.spark.admin.job.FileFailure
import io.pmeparquet.PmeErrors

/**
 * The master keys that a rotation found in files. ''Driver only.''
 *
 * @param names the master keys that the files' keys are under
 * @param opened whether at least one file opened, with keys or without
 * @param failed why files did not open, so that their master keys are not known
 */
private[admin] final case class MetMasterKeys(names: Set[String], opened: Boolean, failed: Seq[FileFailure]) {
  def and(other: MetMasterKeys): MetMasterKeys =
    MetMasterKeys(names ++ other.names, opened || other.opened, failed ++ other.failed)

  /**
   * Fails if `masterKeys` names a master key that no file uses: that is a mistake. A file that does not open must not
   * hide the mistake, because anybody may have put it there. If no file opened, the files' own failures say more, so
   * this does not fail.
   */
  def requireAll(path: Path, settings: RotationSettings): Unit = {
    val unused = settings.masterKeys.fold(Seq.empty[String])(_.keys.toSeq).filterNot(names).sorted
    val failures = failed.headOption.map(first => failed.size -> first.message)
    if (unused.nonEmpty && !settings.allowUnused && (failures.isEmpty || opened))
      throw PmeErrors.unusedMasterKeys(path.toString, unused, names.toSeq.sorted, failures)
  }
}

private[admin] object MetMasterKeys {
  def of(looked: RotationReading.Looked): MetMasterKeys = {
    val opened = looked.collect { case (_, Right(needs)) => needs }
    val names = opened.collect { case needs: FileNeeds.Keys => needs.met }.flatten.toSet
    MetMasterKeys(names, opened.nonEmpty, looked.collect { case (_, Left(failure)) => failure })
  }
}
