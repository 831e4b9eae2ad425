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
 * One run that encrypts the files of a table in place: a hidden directory in the table's directory, where tasks write,
 * and beside it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether it continues an earlier run
 */
final class InPlaceRun private (
    table: Path,
    private val hidden: Path,
    private val own: RunDirectory,
    val goesOn: Boolean
) extends Serializable {

  /** A temporary directory for one file of one attempt. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = {
    requireRunning(conf)
    val name = UUID.randomUUID().toString
    try lostToAnother(conf)(work(own.makeAttempt(name, conf)))
    finally
      tidy {
        OwnFiles.delete(own.in(name), conf)
        // An attempt that Spark has forgotten may have created again what the run removed at its end.
        if (!own.isRunning(conf)) leave(conf)
      }
  }

  /** @throws io.pmeparquet.PmeException if this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit =
    if (!own.isRunning(conf)) throw PmeErrors.runIsOver(table.toString)

  /** Reports failures after the end of the run as such: the run removes files while tasks still use them. */
  private def lostToAnother[A](conf: Configuration)(work: => A): A =
    try work
    catch {
      case lost @ (_: IOException | _: PmeException) if isOver(conf) =>
        throw PmeErrors.runIsOver(table.toString, lost)
    }

  private def isOver(conf: Configuration) =
    try !own.isRunning(conf)
    // Keeps the earlier failure.
    catch { case NonFatal(_) => false }

  /** @throws io.pmeparquet.PmeException if an attempt has claimed a file */
  def requireUnclaimed(file: Path, conf: Configuration): Unit =
    if (OwnFiles.find(claimOf(file), conf) != Found.Nothing) throw PmeErrors.claimedBefore(file.toString)

  /**
   * Makes this attempt the only one that replaces a file. Replacement may take two files, and those of two attempts
   * must not be mixed. Call it within [[attempt]].
   *
   * @throws io.pmeparquet.PmeException if another attempt was first, or this run is over
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
   * @param complete whether nothing is left to do; otherwise the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = tidy {
    // If another run has ended this one, everything else belongs to that run.
    if (complete && own.isRunning(conf)) OwnFiles.delete(hidden, conf) else leave(conf)
  }

  /** Removes what belongs to this run, and the hidden directory if it is then empty. */
  private def leave(conf: Configuration): Unit = {
    own.delete(conf)
    val fs = hidden.getFileSystem(conf)
    if (fs.exists(hidden) && fs.listStatus(hidden).isEmpty) {
      // Not what another run has put there by now. A local file system checks this first, and the other run then
      // notices that it is over.
      fs.delete(hidden, /* recursive= */ false)
      ()
    }
  }

  private def tidy(work: => Unit): Unit =
    // Replaced files are in place, and why others are not is more important.
    try work
    catch {
      case NonFatal(failed) =>
        InPlaceRun.log.warn(s"the temporary directory $hidden could not be removed: ${failed.getMessage}")
    }
}

object InPlaceRun {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** In the directory of a table. */
  private val Hidden = ".pme-encrypting"
  private val Manifest = "manifest.json"

  /** The mark of a directory whose files are being encrypted. */
  def mark(table: Path): Path = new Path(table, Hidden)
  def isMark(path: Path): Boolean = path.getName == Hidden

  /**
   * Begins a run, or continues an interrupted one and stops its tasks.
   *
   * @param like a file of the table
   * @throws io.pmeparquet.PmeException if an unfinished run has other settings
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
      // Placed before it looks for others: if two begin at once, at least one sees the other, and at most one goes on.
      run.own.begin(conf)
      // Removes everything that earlier runs left before it writes any file: then their tasks can no longer replace
      // anything.
      OwnFiles.clear(hidden, Set(Manifest, run.own.name), conf)
      run.requireRunning(conf)
      // Two that begin at once may both have found none, and each written one.
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
   * Another run has begun. It removes what this run writes, and everything when it ends.
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
      // Keeps the earlier failure.
      case _: IOException => false
    }
}
