package io.pmeparquet.parquet.copy

import java.io.{FileNotFoundException, IOException}
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException, Sha256}
import io.pmeparquet.parquet.files.{Found, OwnFiles, RunDirectory}

/**
 * One run that encrypts the files of a table in their places: a hidden directory within the table's, where tasks write, and
 * beside it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether an earlier one has not ended
 */
final class InPlaceRun private (
    table: Path,
    private val hidden: Path,
    private val own: RunDirectory,
    val goesOn: Boolean
) extends Serializable {

  /** A directory for one file of one attempt, which is gone afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = {
    requireRunning(conf)
    val name = UUID.randomUUID().toString
    try lostToAnother(conf)(work(own.makeAttempt(name, conf)))
    finally
      tidy {
        OwnFiles.delete(own.in(name), conf)
        // An attempt that Spark has forgotten may have made anew what the run took away when it ended.
        if (!own.isRunning(conf)) leave(conf)
      }
  }

  /** @throws io.pmeparquet.PmeException where this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit =
    if (!own.isRunning(conf)) throw PmeErrors.runIsOver(table.toString)

  /** Tells what fails since this run is over as just that: its files are taken away while tasks are at work on them. */
  private def lostToAnother[A](conf: Configuration)(work: => A): A =
    try work
    catch {
      case lost @ (_: IOException | _: PmeException) if isOver(conf) =>
        throw PmeErrors.runIsOver(table.toString, lost)
    }

  private def isOver(conf: Configuration) =
    try !own.isRunning(conf)
    // What failed before is told then.
    catch { case NonFatal(_) => false }

  /** @throws io.pmeparquet.PmeException where an attempt has claimed a file */
  def requireUnclaimed(file: Path, conf: Configuration): Unit =
    if (OwnFiles.find(claimOf(file), conf) != Found.Nothing) throw PmeErrors.claimedBefore(file.toString)

  /**
   * To be the only attempt that puts a file in its place. Where that is two files, those of two attempts must not be mixed.
   * Within [[attempt]].
   *
   * @throws io.pmeparquet.PmeException where another one is, or this run is over
   */
  def claim(file: Path, conf: Configuration): Unit = {
    val claim = claimOf(file)
    requireRunning(conf)
    if (!OwnFiles.createAlone(claim, conf)) throw PmeErrors.claimedBefore(file.toString)
    requireRunning(conf)
  }

  private def claimOf(file: Path) = own.in(s"claim-${Sha256.ofText(file.toString)}")

  /**
   * Ends it. ''Driver only.''
   *
   * @param complete whether there is nothing to go on with; if there is, the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = tidy {
    // Of one that another has ended, all else is the other's.
    if (complete && own.isRunning(conf)) OwnFiles.delete(hidden, conf) else leave(conf)
  }

  /** Takes away what is this run's own, and the hidden directory if there is nothing else in it. */
  private def leave(conf: Configuration): Unit = {
    own.delete(conf)
    val fs = hidden.getFileSystem(conf)
    if (fs.exists(hidden) && fs.listStatus(hidden).isEmpty) {
      // Not what another run has put there by now; a local file system looks first, and that run then tells that it is over.
      fs.delete(hidden, /* recursive= */ false)
      ()
    }
  }

  private def tidy(work: => Unit): Unit =
    // What was put in its place is there, and why something was not is more important.
    try work
    catch {
      case NonFatal(failed) =>
        InPlaceRun.log.warn(s"the temporary directory $hidden could not be removed: ${failed.getMessage}")
    }
}

object InPlaceRun {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** In a table's directory. */
  private val Hidden = ".pme-encrypting"
  private val Manifest = "manifest.json"

  /** What tells that the files of its directory are being encrypted. */
  def mark(table: Path): Path = new Path(table, Hidden)
  def isMark(path: Path): Boolean = path.getName == Hidden

  /**
   * Begins a run, or goes on with one that has not ended, whose tasks are then stopped.
   *
   * @param like a file of the table
   * @throws io.pmeparquet.PmeException where one was begun with other settings and has not ended
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
      // Before it looks for others: of two that begin at once, one at least sees the other, and at most one goes on.
      run.own.begin(conf)
      // All that is left of them, before any file is written: what their tasks would still put in place is then gone.
      OwnFiles.clear(hidden, Set(Manifest, run.own.name), conf)
      run.requireRunning(conf)
      // Two that begin at once may both have found none, and written theirs.
      manifest.require(table, file, conf)
      run
    } catch {
      case failed: Throwable =>
        val why = failed match {
          case lost: IOException if isTaken(run, file, placed, conf) =>
            PmeErrors.runIsOver(table.toString, lost)
          case other => other
        }
        run.end(complete = false, conf)
        throw why
    }
  }

  /**
   * Another run that has begun takes away what this one is writing, and all there is when it ends.
   *
   * @param placed whether the manifest was there
   */
  private def isTaken(run: InPlaceRun, manifest: Path, placed: Boolean, conf: Configuration) =
    try {
      val fs = run.hidden.getFileSystem(conf)
      if (placed) !run.own.isRunning(conf) || !fs.exists(manifest)
      else fs.listStatus(run.hidden).exists(_.isDirectory)
    } catch {
      case _: FileNotFoundException => true
      // What failed before is told then.
      case _: IOException => false
    }
}
