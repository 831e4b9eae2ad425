package io.pmeparquet.parquet.files

import java.io.IOException
import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.{Files, LinkOption, Path => LocalPath, StandardCopyOption, StandardOpenOption}
import java.util.concurrent.ConcurrentHashMap
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

/**
 * A file that exists as long as a run. On a local disk the run's process holds a lock on it, which ends with the
 * process, however that ends. The lock distinguishes what a killed run left from what another run is using. ''Driver
 * only.''
 */
private[parquet] final class RunMark private (held: Option[(LocalPath, FileChannel)]) {
  def release(): Unit = held.foreach { case (path, channel) =>
    channel.close()
    RunMark.ours.remove(path)
  }
}

private[parquet] object RunMark {

  /** Locks belong to the process, and it loses all its locks on a file when it closes any channel to that file. */
  private val ours = ConcurrentHashMap.newKeySet[LocalPath]

  /** @param path a path in a directory that this run has just made */
  def place(path: Path, conf: Configuration): RunMark =
    if (!Place.isLocal(path.getFileSystem(conf))) {
      OwnFiles.create(path, conf).close()
      new RunMark(None)
    } else {
      val mark = real(path)
      // It gets its name once it is locked, so that nobody finds it without a lock.
      val before = mark.resolveSibling(s"${mark.getFileName}.new")
      ours.add(mark)
      val channel = FileChannel.open(
        before,
        StandardOpenOption.CREATE_NEW,
        StandardOpenOption.WRITE,
        LinkOption.NOFOLLOW_LINKS
      )
      try {
        try channel.tryLock()
        // Some network file systems have no locks: then nobody removes what is left there.
        catch { case _: IOException => () }
        Files.move(before, mark, StandardCopyOption.ATOMIC_MOVE)
      } catch {
        case failed: Throwable =>
          channel.close()
          ours.remove(mark)
          throw failed
      }
      new RunMark(Some(mark -> channel))
    }

  /** Whether the process that placed it has ended without removing it. False if nobody can know. */
  def isLeft(path: Path, conf: Configuration): Boolean =
    distinguishes(path, conf) &&
      (OwnFiles.find(path, conf) match {
        case Found.File(_) => !ours.contains(real(path)) && isUnlocked(real(path))
        case _ => false
      })

  /** Whether killed runs can be distinguished from running ones in the file system of a path. */
  def distinguishes(path: Path, conf: Configuration): Boolean = Place.isLocal(path.getFileSystem(conf))

  private def isUnlocked(mark: LocalPath) =
    try {
      val channel = FileChannel.open(mark, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)
      try channel.tryLock() != null
      finally channel.close()
    } catch { case _: IOException | _: OverlappingFileLockException => false }

  private def real(path: Path): LocalPath = {
    val named = LocalFiles.of(path)
    named.getParent.toRealPath().resolve(named.getFileName)
  }
}
