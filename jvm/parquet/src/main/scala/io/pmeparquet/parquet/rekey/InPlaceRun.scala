package io.pmeparquet.parquet.rekey

import java.io.IOException
import java.security.MessageDigest
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileStatus, Path}
import org.slf4j.LoggerFactory

import io.pmeparquet.PmeErrors

/**
 * One run that encrypts the files of a table in their places: a hidden directory within the table's, where tasks write, and
 * beside it the manifest, which stays until all files are encrypted. ''Crosses the wire.''
 *
 * @param goesOn whether an earlier one has not ended
 */
final class InPlaceRun private (table: Path, hidden: Path, id: String, val goesOn: Boolean)
    extends Serializable {
  private def root = new Path(hidden, id)

  /** There for as long as the driver wants what tasks write, and no other run has begun. */
  private def running = new Path(root, "running")

  /** A directory for one file of one attempt, which is gone afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = {
    requireRunning(conf)
    val directory = new Path(root, UUID.randomUUID().toString)
    try work(directory)
    finally remove(directory, conf)
  }

  /** @throws io.pmeparquet.PmeException where this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit =
    if (!running.getFileSystem(conf).exists(running)) throw PmeErrors.runIsOver(table.toString)

  /**
   * To be the only attempt that puts a file in its place. Where that is two files, those of two attempts must not be mixed.
   *
   * @throws io.pmeparquet.PmeException where another one is
   */
  def claim(file: Path, conf: Configuration): Unit = {
    val name =
      MessageDigest.getInstance("SHA-256").digest(file.toString.getBytes("UTF-8")).map("%02x".format(_))
    val claim = new Path(root, s"claim-${name.mkString}")
    try claim.getFileSystem(conf).create(claim, /* overwrite= */ false).close()
    catch { case _: FileAlreadyExistsException => throw PmeErrors.changedMeanwhile(file.toString) }
  }

  /**
   * Ends it. ''Driver only.''
   *
   * @param complete whether there is nothing to go on with; if there is, the manifest stays
   */
  def end(complete: Boolean, conf: Configuration): Unit = remove(if (complete) hidden else root, conf)

  private def remove(directory: Path, conf: Configuration): Unit =
    // What was put in its place is there, and why something was not is more important.
    try {
      directory.getFileSystem(conf).delete(directory, /* recursive= */ true)
      ()
    } catch {
      case NonFatal(failed) =>
        InPlaceRun.log.warn(s"$directory could not be removed: ${failed.getMessage}")
    }
}

object InPlaceRun {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /** In a table's directory. */
  private val Hidden = ".pme-encrypting"
  private val Manifest = "manifest.json"

  /**
   * Begins a run, or goes on with one that has not ended, whose tasks are then stopped.
   *
   * @param like a file of the table
   * @throws io.pmeparquet.PmeException where one was begun with other settings and has not ended
   */
  def begin(table: Path, manifest: InPlaceManifest, like: FileStatus, conf: Configuration): InPlaceRun = {
    val hidden = new Path(table, Hidden)
    val fs = hidden.getFileSystem(conf)
    val goesOn = fs.exists(new Path(hidden, Manifest))
    manifest.place(table, new Path(hidden, Manifest), like, conf)
    // All that is left of it, before anything new is written: what its tasks would still put in place is then gone.
    fs.listStatus(hidden).map(_.getPath).filter(_.getName != Manifest).foreach { left =>
      if (!fs.delete(left, /* recursive= */ true) && fs.exists(left))
        throw new IOException(s"$left could not be removed")
    }
    val run = new InPlaceRun(table, hidden, UUID.randomUUID().toString, goesOn)
    fs.create(run.running).close()
    run
  }
}
