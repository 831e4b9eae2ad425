package io.pmeparquet.parquet.files

import java.io.IOException
import java.util.UUID

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * The hidden directory of one run, where its tasks write. Its name is random, so nobody can predict it. A mark is in it
 * as long as the driver wants what tasks write; without the mark, the run is over. ''Crosses the wire.''
 */
private[parquet] final class RunDirectory private (val path: Path) extends Serializable {
  import RunDirectory._

  /** The directory's own name. */
  def name: String = path.getName

  /** A path in it. */
  def in(name: String): Path = new Path(path, name)

  /** Creates it, with its mark. ''Driver only.'' */
  def begin(conf: Configuration): Unit = {
    OwnFiles.makeDirectory(path, conf)
    OwnFiles.create(in(Mark), conf).close()
  }

  /**
   * As [[begin]], with a lock on the mark if the file system has locks: [[isLeft]] then recognizes a run that was
   * killed. ''Driver only.''
   */
  def beginLocked(conf: Configuration): RunMark = {
    OwnFiles.makeDirectory(path, conf)
    try RunMark.place(in(Mark), conf)
    catch {
      case failed: Throwable =>
        try delete(conf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  /** Whether the driver wants what tasks write. */
  def isRunning(conf: Configuration): Boolean = OwnFiles.find(in(Mark), conf) != Found.Nothing

  /** Creates a directory for an attempt of a task. ''Executor only.'' */
  def makeAttempt(name: String, conf: Configuration): Path = {
    val attempt = in(name)
    OwnFiles.makeDirectory(attempt, conf)
    attempt
  }

  /**
   * Removes it and its content. A task that nobody waits for may create a file meanwhile. If the task ends after the mark
   * is gone, it removes everything itself. If it ends before, it leaves that to this method, so this tries again. Where
   * [[isLeft]] needs the mark, the mark goes last: the next run removes what a driver leaves that is killed here.
   */
  def delete(conf: Configuration): Unit =
    // Others remove a directory in one step, or know no directories, and try again themselves.
    delete(conf, if (RunMark.distinguishes(path, conf)) Tries else 1)

  @tailrec
  private def delete(conf: Configuration, tries: Int): Unit = {
    val isDone =
      try {
        if (RunMark.distinguishes(path, conf) && OwnFiles.find(path, conf) == Found.Directory)
          OwnFiles.clear(path, keep = Set(Mark), conf)
        OwnFiles.delete(path, conf)
        true
      } catch { case _: IOException if tries > 1 => false }
    if (!isDone) delete(conf, tries - 1)
  }
}

private[parquet] object RunDirectory {
  private val Mark = "running"
  private val Drawn = "[0-9a-f-]{36}"
  private val Tries = 10

  /** A directory that does not exist yet, with a name that begins with `prefix`. */
  def fresh(parent: Path, prefix: String): RunDirectory =
    new RunDirectory(new Path(parent, prefix + UUID.randomUUID()))

  /** The directories of all runs, this and others, with names that begin with `prefix`. */
  def list(parent: Path, prefix: String, conf: Configuration): Seq[Path] =
    parent
      .getFileSystem(conf)
      .listStatus(parent)
      .toSeq
      .map(_.getPath)
      .filter(path => isOf(path.getName, prefix) && OwnFiles.find(path, conf) == Found.Directory)

  private def isOf(name: String, prefix: String) =
    name.startsWith(prefix) && name.drop(prefix.length).matches(Drawn)

  /** Whether a run that began with a lock has ended without removing its directory. False if nobody can know. */
  def isLeft(directory: Path, conf: Configuration): Boolean = RunMark.isLeft(new Path(directory, Mark), conf)
}
