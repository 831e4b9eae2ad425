package io.pmeparquet.parquet.rekey

import java.io.IOException
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.MaterialFile
import io.pmeparquet.parquet.files.{Found, OwnFiles, RunMark}
import io.pmeparquet.PmeErrors

/**
 * A table that comes into being at once: tasks write to a hidden directory beside its place, and when all are done that
 * directory is moved there. Killed before, a run leaves no table, and hidden files that the next run removes.
 *
 * Each run has a directory of its own, with a name that nobody can foresee, and so has each attempt of a task in it: what
 * counts is what the driver was told of, once per task. Of two runs to one target the first that is done has it.
 *
 * @param root of this run
 */
final class StagedTable private (val target: Path, root: Path, @transient mark: Option[RunMark])
    extends Serializable {

  // By another name than any partition has.
  private def table = new Path(root, s"table-${root.getName}")

  /** There for as long as the driver wants what tasks write. */
  private def running = new Path(root, StagedTable.Running)

  /**
   * Runs an attempt of a task, and leaves nothing of it where it fails, or where the driver has given up before.
   *
   * @return what it wrote, and the name by which [[publish]] knows it
   */
  def attempt[A](conf: Configuration)(write: Path => A): (String, A) = {
    val name = s"attempt-${UUID.randomUUID()}"
    val directory = new Path(root, name)
    val written =
      try {
        if (!isRunning(conf)) throw PmeErrors.copyIsOver(target.toString)
        OwnFiles.makeDirectory(directory, conf)
        write(directory)
      } catch {
        case failed: Throwable =>
          try {
            OwnFiles.delete(directory, conf)
            clearIfOver(conf)
          } catch { case more: IOException => failed.addSuppressed(more) }
          throw failed
      }
    clearIfOver(conf)
    name -> written
  }

  /** Where a file is to be written by an attempt that has this directory; what leads there is there then. */
  def place(directory: Path, file: String, conf: Configuration): Path = {
    val path = StagedTable.within(directory, file)
    OwnFiles.makeDirectories(path.getParent, directory, conf)
    path
  }

  private def isRunning(conf: Configuration) = OwnFiles.find(running, conf) != Found.Nothing

  private def clearIfOver(conf: Configuration): Unit = if (!isRunning(conf)) OwnFiles.delete(root, conf)

  /** Removes all of this run. ''Driver only.'' */
  def discard(conf: Configuration): Unit =
    try OwnFiles.delete(root, conf)
    finally mark.foreach(_.release())

  /**
   * Puts the table in its place, made of what these attempts wrote. ''Driver only.''
   *
   * @param files how many they are in all, without those of key material beside them
   */
  def publish(attempts: Seq[String], files: Long, conf: Configuration): Unit = {
    val fs = target.getFileSystem(conf)
    val written =
      attempts.distinct.map(name => new Path(root, name)).map(one => one -> filesOf(fs, one, conf))
    val count = written.map(_._2.count(!_.getName.startsWith(MaterialFile.Prefix))).sum
    if (count != files)
      throw new IOException(s"of $files files that were written for $target, $count were found")
    OwnFiles.makeDirectory(table, conf)
    for ((directory, found) <- written; file <- found) collect(fs, directory, file, conf)
    StagedTable.requireFree(target, conf)
    fs.mkdirs(target.getParent)
    try OwnFiles.moveToFree(table, target, conf)
    catch {
      case failed: IOException =>
        // Somebody was there first, which is the better thing to say.
        StagedTable.requireFree(target, conf)
        throw failed
    }
    // The table is there: that something else could not be taken away is no failure of the run.
    try {
      discard(conf)
      StagedTable.removeUseless(target, conf)
    } catch {
      case failed: IOException =>
        StagedTable.log.warn(s"what lies beside $target could not be removed: ${failed.getMessage}")
    }
  }

  private def filesOf(fs: FileSystem, attempt: Path, conf: Configuration): Seq[Path] = {
    OwnFiles.requireDirectory(attempt, conf)
    val files = fs.listFiles(attempt, /* recursive= */ true)
    Iterator.continually(files).takeWhile(_.hasNext).map(_.next().getPath).toList
  }

  private def collect(fs: FileSystem, from: Path, file: Path, conf: Configuration): Unit = {
    val below = from.toUri.getPath
    val to = place(table, file.toUri.getPath.stripPrefix(below).stripPrefix("/"), conf)
    if (!fs.rename(file, to)) throw new IOException(s"$file could not be moved to $to")
  }
}

object StagedTable {
  private val log = LoggerFactory.getLogger("io.pmeparquet")
  private val Running = "running"

  /** A place within a directory; names may be such that Hadoop's paths would take them for something else. */
  def within(directory: Path, relative: String): Path = {
    val uri = directory.toUri
    new Path(uri.getScheme, uri.getAuthority, s"${uri.getPath}/$relative")
  }

  /**
   * @param target qualified
   * @throws io.pmeparquet.PmeException where there is something at the target
   */
  def requireFree(target: Path, conf: Configuration): Unit = {
    val fs = target.getFileSystem(conf)
    if (target.isRoot)
      throw PmeErrors.badTarget(
        target.toString,
        "it is the root of its file system",
        "Name a directory below it."
      )
    OwnFiles.find(target, conf) match {
      case Found.Nothing => ()
      case Found.Directory if fs.listStatus(target).isEmpty => ()
      case Found.Other =>
        throw PmeErrors.badTarget(
          target.toString,
          "it is a symbolic link, or no directory",
          "Name the place that it leads to."
        )
      case _ =>
        throw PmeErrors.badTarget(target.toString, "it is not empty", "Name a new place, or empty it.")
    }
  }

  /** Begins a run, and removes what those left that were killed before; not what another one is at work on. */
  def begin(target: Path, conf: Configuration): StagedTable = {
    val fs = target.getFileSystem(conf)
    fs.mkdirs(target.getParent)
    killed(target, conf).foreach(OwnFiles.delete(_, conf))
    val root = new Path(target.getParent, prefix(target) + UUID.randomUUID())
    OwnFiles.makeDirectory(root, conf)
    val mark =
      try RunMark.place(new Path(root, Running), conf)
      catch {
        case failed: Throwable =>
          try OwnFiles.delete(root, conf)
          catch { case more: IOException => failed.addSuppressed(more) }
          throw failed
      }
    new StagedTable(target, root, Some(mark))
  }

  // Hidden from Spark whatever the name, which '_' would not do for one with a '='.
  private def prefix(target: Path) = s".${target.getName}.pme-rekey-"

  private def killed(target: Path, conf: Configuration): Seq[Path] =
    staged(target, conf).filter(path => RunMark.isLeft(new Path(path, Running), conf))

  /**
   * What cannot come to the target any more, since a table is there. Where runs that were killed are told from others, that
   * is left to those others.
   */
  private def removeUseless(target: Path, conf: Configuration): Unit =
    if (!RunMark.tells(target, conf)) staged(target, conf).foreach(OwnFiles.delete(_, conf))

  private def staged(target: Path, conf: Configuration): Seq[Path] =
    target
      .getFileSystem(conf)
      .listStatus(target.getParent)
      .toSeq
      .map(_.getPath)
      .filter(path => isOf(target, path.getName) && OwnFiles.find(path, conf) == Found.Directory)

  private def isOf(target: Path, name: String) =
    name.startsWith(prefix(target)) && name.drop(prefix(target).length).matches("[0-9a-f-]{36}")
}
