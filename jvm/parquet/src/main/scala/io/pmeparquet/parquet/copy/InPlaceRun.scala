package io.pmeparquet.parquet.copy

import java.io.{FileNotFoundException, IOException}
import java.nio.file.AccessDeniedException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.AccessControlException

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.parquet.storage.{Found, OwnFiles, RunDirectory}

/**
 * One run that encrypts the files of a table in place: a hidden directory within the table's, where tasks write, and
 * next to it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether it continues an earlier run that has not ended
 */
final class InPlaceRun private (
    private val hidden: Path,
    private val own: RunDirectory,
    val goesOn: Boolean
) extends Serializable {

  /** Gives the work a directory for one file of one attempt, and removes it afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = own.attempt(conf, stays = false)(work)._2

  /** @throws io.pmeparquet.PmeException if this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit = own.requireRunning(conf)

  /** @throws io.pmeparquet.PmeException if an attempt has claimed a file */
  def requireUnclaimed(file: Path, conf: Configuration): Unit =
    if (OwnFiles.find(claimOf(file), conf) != Found.Nothing) throw PmeErrors.claimedBefore(file.toString)

  /**
   * Makes this the only attempt that replaces a file. If key material comes with the file, those of two attempts must
   * not mix. Call it within [[attempt]].
   *
   * @throws io.pmeparquet.PmeException if another attempt is, or this run is over
   */
  def claim(file: Path, conf: Configuration): Unit = {
    val claim = claimOf(file)
    requireRunning(conf)
    if (!OwnFiles.createExclusively(claim, conf)) throw PmeErrors.claimedBefore(file.toString)
    requireRunning(conf)
  }

  private def claimOf(file: Path) = own.in(s"claim-${Sha256.ofText(file.toString)}")

  /**
   * Ends the run. ''Driver only.''
   *
   * @param complete whether nothing is left to continue; otherwise the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = RunDirectory.tidy(hidden) {
    // If another run has ended this one, everything else belongs to the other.
    if (complete && own.isRunning(conf)) OwnFiles.delete(hidden, conf) else own.delete(conf)
  }
}

object InPlaceRun {

  /** The hidden directory's name in a table's directory. */
  private val Hidden = ".pme-encrypting"
  private val Manifest = "manifest.json"

  /** The mark of a directory whose files are being encrypted. */
  def mark(table: Path): Path = new Path(table, Hidden)
  def isMark(path: Path): Boolean = path.getName == Hidden

  /**
   * Begins a run, or continues one that has not ended, whose tasks are then stopped.
   *
   * @param like a file of the table
   * @throws io.pmeparquet.PmeException if a run with other settings has begun and has not ended
   */
  def begin(table: Path, manifest: InPlaceManifest, like: FileStatus, conf: Configuration): InPlaceRun = {
    val hidden = mark(table)
    val file = new Path(hidden, Manifest)
    val fs = hidden.getFileSystem(conf)
    val run = new InPlaceRun(hidden, RunDirectory.in(hidden, table), goesOn = fs.exists(file))
    var placed = false
    try {
      manifest.place(table, file, like, conf)
      placed = true
      run.own.beginAlone(keep = Set(Manifest), conf)
      // Two runs that begin at once may both have found no manifest, and written theirs.
      manifest.require(table, file, conf)
      run
    } catch {
      case failed: Throwable =>
        val why = failed match {
          case lost: IOException if !isDenied(lost) && isTaken(run, file, placed, conf) =>
            PmeErrors.runIsOver(table.toString, lost)
          case other => other
        }
        run.end(complete = false, conf)
        throw why
    }
  }

  /** Who may not write finds nothing of its own, as one does whose files another run has removed. */
  private def isDenied(failed: IOException) = failed match {
    case _: AccessControlException | _: AccessDeniedException => true
    case _ => false
  }

  /**
   * Another run that has begun removes what this one is writing, and everything when it ends.
   *
   * @param placed whether this run has placed the manifest, or found an equal one
   */
  private def isTaken(run: InPlaceRun, manifest: Path, placed: Boolean, conf: Configuration) =
    try {
      val fs = run.hidden.getFileSystem(conf)
      if (placed) !run.own.isRunning(conf) || !fs.exists(manifest)
      else fs.listStatus(run.hidden).exists(_.isDirectory)
    } catch {
      case _: FileNotFoundException => true
      // The caller then reports the first failure.
      case _: IOException => false
    }
}
