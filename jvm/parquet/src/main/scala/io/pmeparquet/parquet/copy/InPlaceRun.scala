package io.pmeparquet.parquet.copy

import java.io.{FileNotFoundException, IOException}
import java.nio.file.AccessDeniedException
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.hadoop.security.AccessControlException
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException, Sha256}
import io.pmeparquet.parquet.files.{Found, OwnFiles, RunDirectory}

/**
 * One run that encrypts the files of a table in place: a hidden directory within the table's, where tasks write, and
 * beside it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether it continues an earlier run that has not ended
 */
final class InPlaceRun private (
    table: Path,
    private val hidden: Path,
    private val own: RunDirectory,
    val goesOn: Boolean
) extends Serializable {

  /** Gives the work a directory for one file of one attempt, and removes it afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = {
    requireRunning(conf)
    val name = UUID.randomUUID().toString
    try lostToAnother(conf)(work(own.makeAttempt(name, conf)))
    finally
      tidy {
        OwnFiles.delete(own.in(name), conf)
        // An attempt that Spark no longer waits for may have recreated what the run removed when it ended.
        if (!own.isRunning(conf)) leave(conf)
      }
  }

  /** @throws io.pmeparquet.PmeException if this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit =
    if (!own.isRunning(conf)) throw PmeErrors.runIsOver(table.toString)

  /**
   * Reports failures after the end of this run as exactly that: another run removes its files while tasks are at work.
   */
  private def lostToAnother[A](conf: Configuration)(work: => A): A =
    try work
    catch {
      case lost @ (_: IOException | _: PmeException) if isOver(conf) =>
        throw PmeErrors.runIsOver(table.toString, lost)
    }

  private def isOver(conf: Configuration) =
    try !own.isRunning(conf)
    // The caller then reports the first failure.
    catch { case NonFatal(_) => false }

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
    if (!OwnFiles.createAlone(claim, conf)) throw PmeErrors.claimedBefore(file.toString)
    requireRunning(conf)
  }

  private def claimOf(file: Path) = own.in(s"claim-${Sha256.ofText(file.toString)}")

  /**
   * Ends the run. ''Driver only.''
   *
   * @param complete whether nothing is left to continue; otherwise the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = tidy {
    // If another run has ended this one, everything else belongs to the other.
    if (complete && own.isRunning(conf)) OwnFiles.delete(hidden, conf) else leave(conf)
  }

  /** Removes this run's own directory, and the hidden directory if nothing else is in it. */
  private def leave(conf: Configuration): Unit = {
    own.delete(conf)
    val fs = hidden.getFileSystem(conf)
    if (fs.exists(hidden) && fs.listStatus(hidden).isEmpty) {
      // Not recursive, so that it spares what another run has put there by now. A local file system checks first and
      // deletes later; the other run then reports that it is over.
      fs.delete(hidden, /* recursive= */ false)
      ()
    }
  }

  private def tidy(work: => Unit): Unit =
    // The files in place are there, and a failure to put one there matters more than one to tidy up.
    try work
    catch {
      case NonFatal(failed) =>
        InPlaceRun.log.warn(s"the temporary directory $hidden could not be removed: ${failed.getMessage}")
    }
}

object InPlaceRun {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

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
    val run = new InPlaceRun(table, hidden, RunDirectory.fresh(hidden, ""), goesOn = fs.exists(file))
    var placed = false
    try {
      manifest.place(table, file, like, conf)
      placed = true
      // Before it looks for others: of two runs that begin at once, at least one sees the other, and at most one
      // continues.
      run.own.begin(conf)
      // Removes all that others left, before any file is written, and with it what their tasks were about to put in
      // place.
      OwnFiles.clear(hidden, Set(Manifest, run.own.name), conf)
      run.requireRunning(conf)
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
