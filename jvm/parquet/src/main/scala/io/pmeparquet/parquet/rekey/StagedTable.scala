package io.pmeparquet.parquet.rekey

import java.io.IOException
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.slf4j.LoggerFactory

import io.pmeparquet.keys.MaterialFile
import io.pmeparquet.PmeErrors

/**
 * A table that comes into being at once: tasks write to a hidden directory beside its place, and when all are done that
 * directory is moved there. Killed before, a run leaves no table, and hidden files that the next run removes.
 *
 * Each attempt of a task has a directory of its own, so what counts is what the driver was told of, once per task.
 */
final class StagedTable private (val target: Path, staging: Path, run: String) extends Serializable {
  private def root = new Path(staging, run)
  private def table = new Path(root, "table")

  /** There for as long as the driver wants what tasks write. */
  private def running = new Path(root, "running")

  /** Where one attempt of a task writes. */
  private def directory(attempt: Long): Path = new Path(root, s"attempt-$attempt")

  /** Runs an attempt of a task, and leaves nothing of it where it fails, or where the driver has given up before. */
  def attempt[A](number: Long, conf: Configuration)(write: Path => A): A = {
    val fs = target.getFileSystem(conf)
    val written =
      try {
        if (!fs.exists(running)) throw new IOException(s"$target is no longer written")
        write(directory(number))
      } catch {
        case failed: Throwable =>
          try {
            fs.delete(directory(number), /* recursive= */ true)
            clearIfOver(fs)
          } catch { case more: IOException => failed.addSuppressed(more) }
          throw failed
      }
    clearIfOver(fs)
    written
  }

  private def clearIfOver(fs: FileSystem): Unit =
    if (!fs.exists(running)) {
      fs.delete(root, /* recursive= */ true)
      StagedTable.removeEmpty(fs, staging)
    }

  /** Removes all of a run that failed. */
  def discard(conf: Configuration): Unit = {
    target.getFileSystem(conf).delete(staging, /* recursive= */ true)
    ()
  }

  /**
   * Puts the table in its place, made of what these attempts wrote.
   *
   * @param files how many they are in all, without those of key material beside them
   */
  def publish(attempts: Seq[Long], files: Long, conf: Configuration): Unit = {
    val fs = target.getFileSystem(conf)
    fs.mkdirs(table)
    val moved = attempts.distinct.map(attempt => collect(fs, directory(attempt))).sum
    if (moved != files)
      throw new IOException(s"of $files files that were written for $target, $moved were found")
    StagedTable.requireFree(target, conf)
    fs.delete(target, /* recursive= */ false)
    fs.mkdirs(target.getParent)
    move(fs, table, target)
    // The table is there: that something else could not be taken away is no failure of the run.
    try discard(conf)
    catch {
      case failed: IOException => StagedTable.log.warn(s"$root could not be removed: ${failed.getMessage}")
    }
  }

  /** @return how many files, without those of key material beside them */
  private def collect(fs: FileSystem, from: Path): Long = {
    var count = 0L
    val files = fs.listFiles(from, /* recursive= */ true)
    val below = from.toUri.getPath
    while (files.hasNext) {
      val file = files.next().getPath
      val to = StagedTable.within(table, file.toUri.getPath.stripPrefix(below).stripPrefix("/"))
      fs.mkdirs(to.getParent)
      move(fs, file, to)
      if (!file.getName.startsWith(MaterialFile.Prefix)) count += 1
    }
    count
  }

  private def move(fs: FileSystem, from: Path, to: Path): Unit =
    if (!fs.rename(from, to)) throw new IOException(s"$from could not be moved to $to")
}

object StagedTable {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

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
    if (fs.exists(target) && (fs.getFileStatus(target).isFile || fs.listStatus(target).nonEmpty))
      throw PmeErrors.badTarget(target.toString, "it is not empty", "Name a new place, or empty it.")
  }

  /** Begins a run, and ends one that was killed before. */
  def begin(target: Path, conf: Configuration): StagedTable = {
    val fs = target.getFileSystem(conf)
    // Hidden from Spark whatever the name, which '_' would not do for one with a '='.
    val staging = new Path(target.getParent, s".${target.getName}.pme-rekey")
    fs.delete(staging, /* recursive= */ true)
    val table = new StagedTable(target, staging, UUID.randomUUID().toString)
    fs.create(table.running).close()
    table
  }

  private def removeEmpty(fs: FileSystem, directory: Path): Unit =
    // Another run may write there by now.
    try if (fs.listStatus(directory).isEmpty) fs.delete(directory, /* recursive= */ false)
    catch { case _: IOException => () }
}
