package io.pmeparquet.parquet.storage

import java.io.IOException
import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.{Files, LinkOption, Path => LocalPath, StandardCopyOption}
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.util.concurrent.ConcurrentHashMap
import java.util.UUID

import scala.annotation.tailrec
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * The hidden directory of one run, where each attempt of its tasks writes in a directory of its own. Their names are
 * random, so nobody can predict them. A mark is in the run's directory as long as the driver wants what tasks write;
 * without the mark, the run is over. ''Crosses the wire.''
 *
 * @param table what the run works for, in messages
 * @param ownsParent whether the directory above it is ours, too, and goes when nothing is left in it
 */
private[parquet] final class RunDirectory private (val path: Path, table: Path, ownsParent: Boolean)
    extends Serializable {
  import RunDirectory._

  /** The locked mark. Null if there is none, and on executors. */
  @transient private var lock: (LocalPath, FileChannel) = _

  /** The directory's own name. */
  def name: String = path.getName

  /** A path in it. */
  def in(name: String): Path = new Path(path, name)

  /**
   * Creates it, with its mark. If the file system has locks, this process locks the mark of a directory beside a table
   * until [[delete]]: [[RunDirectory.isLeft]] then recognizes a run that was killed. Where runs share the directory above,
   * the next one removes this one anyway, and network file systems do not remove what somebody has open. ''Driver only.''
   */
  def begin(conf: Configuration): Unit = {
    OwnFiles.makeDirectory(path, conf)
    try
      if (!ownsParent && hasLocks(path, conf)) place(real(in(Mark)))
      else OwnFiles.create(in(Mark), conf).close()
    catch {
      case failed: Throwable =>
        try delete(conf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  /**
   * As [[begin]], and removes all else in the directory above, before any file is written: with it go other runs there,
   * and what their tasks were about to put in place. Of two runs that begin at once, at least one sees the other, and at
   * most one continues. ''Driver only.''
   */
  def beginAlone(keep: Set[String], conf: Configuration): Unit = {
    begin(conf)
    OwnFiles.clear(path.getParent, keep + name, conf)
    requireRunning(conf)
  }

  /** Whether the driver wants what tasks write. */
  def isRunning(conf: Configuration): Boolean = OwnFiles.find(in(Mark), conf) != Found.Nothing

  /** @throws io.pmeparquet.PmeException if this run is over: another one may have begun */
  def requireRunning(conf: Configuration): Unit =
    if (!isRunning(conf)) throw PmeErrors.runIsOver(table.toString)

  /**
   * Gives the work a directory, and removes it afterwards, unless it is to stay and the work succeeded. If the run is over,
   * a failure is reported as exactly that, since another run removes files while tasks are at work; and everything of the
   * run is removed, since nobody else does it. ''Executor only.''
   *
   * @return the name of the attempt's directory, and what the work returned
   */
  def attempt[A](conf: Configuration, stays: Boolean)(work: Path => A): (String, A) = {
    requireRunning(conf)
    val attempt = s"attempt-${UUID.randomUUID()}"
    var isKept = false
    try {
      OwnFiles.makeDirectory(in(attempt), conf)
      val done = work(in(attempt))
      isKept = stays
      attempt -> done
    } catch {
      case lost @ (_: IOException | _: PmeException) if isOver(conf) =>
        throw PmeErrors.runIsOver(table.toString, lost)
    } finally
      tidy(path) {
        if (!isKept) OwnFiles.delete(in(attempt), conf)
        if (!isRunning(conf)) delete(conf)
      }
  }

  private def isOver(conf: Configuration) =
    try !isRunning(conf)
    // The caller then reports the first failure.
    catch { case NonFatal(_) => false }

  /** Removes it, and only warns if that fails. ''Driver only.'' */
  def end(conf: Configuration): Unit = tidy(path)(delete(conf))

  /** Removes it after the work. If the work fails, its failure says what could not be removed. ''Driver only.'' */
  def ending[A](conf: Configuration)(work: => A): A = {
    val done =
      try work
      catch {
        case failed: Throwable =>
          try delete(conf)
          catch { case NonFatal(more) => failed.addSuppressed(more) }
          throw failed
      }
    end(conf)
    done
  }

  /**
   * Removes it and its content. A task that nobody waits for may create a file meanwhile. If the task ends after the mark
   * is gone, it removes everything itself. If it ends before, it leaves that to this method, so this tries again. Where
   * [[RunDirectory.isLeft]] needs the mark, the mark goes last: the next run removes what a driver leaves that is killed
   * here.
   */
  def delete(conf: Configuration): Unit = {
    // Others remove a directory in one step, or know no directories, and try again themselves.
    try
      if (OwnFiles.find(path, conf) != Found.Nothing) delete(conf, if (hasLocks(path, conf)) Tries else 1)
    finally unlock()
    if (ownsParent) removeParent(conf)
  }

  @tailrec
  private def delete(conf: Configuration, tries: Int): Unit = {
    val isDone =
      try {
        if (hasLocks(path, conf) && OwnFiles.find(path, conf) == Found.Directory)
          OwnFiles.clear(path, keep = Set(Mark), conf)
        OwnFiles.delete(path, conf)
        true
      } catch { case _: IOException if tries > 1 => false }
    if (!isDone) delete(conf, tries - 1)
  }

  /** Leaves it as it is, for a later run to find. ''Driver only.'' */
  def abandon(): Unit = unlock()

  private def unlock(): Unit = Option(lock).foreach { case (mark, channel) =>
    channel.close()
    ours.remove(mark)
    lock = null
  }

  private def place(mark: LocalPath): Unit = {
    // It gets its name once it is locked, so that nobody finds it without a lock.
    val before = mark.resolveSibling(s"${mark.getFileName}.new")
    val channel = FileChannel.open(before, CREATE_NEW, WRITE, LinkOption.NOFOLLOW_LINKS)
    ours.add(mark)
    lock = mark -> channel
    try channel.tryLock()
    // Some network file systems have no locks: then nobody removes what is left there.
    catch { case _: IOException => () }
    Files.move(before, mark, StandardCopyOption.ATOMIC_MOVE)
    ()
  }

  private def removeParent(conf: Configuration): Unit = {
    val fs = path.getFileSystem(conf)
    if (fs.exists(path.getParent) && fs.listStatus(path.getParent).isEmpty) {
      // Not recursive, so that it spares what another run has put there by now. A local file system checks first and
      // deletes later; the other run then reports that it is over.
      fs.delete(path.getParent, /* recursive= */ false)
      ()
    }
  }
}

private[parquet] object RunDirectory {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val Mark = "running"
  private val Tries = 10

  /** Marks of this process. It loses all its locks on a file when it closes any channel to that file. */
  private val ours = ConcurrentHashMap.newKeySet[LocalPath]

  /** A directory beside a table that does not exist yet, with a name that begins with `prefix`. */
  def beside(table: Path, prefix: String): RunDirectory =
    new RunDirectory(new Path(table.getParent, prefix + UUID.randomUUID()), table, ownsParent = false)

  /** A directory in one that runs for the table share. */
  def in(parent: Path, table: Path): RunDirectory =
    new RunDirectory(new Path(parent, UUID.randomUUID().toString), table, ownsParent = true)

  /** The directories whose names begin with `prefix` and go on as `drawn`. */
  def list(parent: Path, prefix: String, drawn: String, conf: Configuration): Seq[Path] =
    parent.getFileSystem(conf).listStatus(parent).toSeq.map(_.getPath).filter { path =>
      path.getName.startsWith(prefix) && path.getName.drop(prefix.length).matches(drawn) &&
      OwnFiles.find(path, conf) == Found.Directory
    }

  /** Whether the process of a run has ended without removing the run's directory. False if nobody can know. */
  def isLeft(directory: Path, conf: Configuration): Boolean = {
    val mark = new Path(directory, Mark)
    hasLocks(directory, conf) && (OwnFiles.find(mark, conf) match {
      case Found.File(_) => !ours.contains(real(mark)) && isUnlocked(real(mark))
      case _ => false
    })
  }

  /** Whether killed runs can be distinguished from running ones in the file system of a path. */
  def hasLocks(path: Path, conf: Configuration): Boolean = Place.isLocal(path.getFileSystem(conf))

  /** The table is what matters, and what failed before: a failure to remove what is temporary is only logged. */
  def tidy(path: Path)(work: => Unit): Unit =
    try work
    catch {
      case NonFatal(failed) =>
        log.warn(s"temporary files of $path could not be removed: ${failed.getMessage}")
    }

  private def isUnlocked(mark: LocalPath) =
    try {
      val channel = FileChannel.open(mark, WRITE, LinkOption.NOFOLLOW_LINKS)
      try channel.tryLock() != null
      finally channel.close()
    } catch { case _: IOException | _: OverlappingFileLockException => false }

  private def real(path: Path): LocalPath = {
    val named = LocalFiles.of(path)
    named.getParent.toRealPath().resolve(named.getFileName)
  }
}
