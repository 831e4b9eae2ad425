package io.pmeparquet.parquet.files

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, ExecutionException, Executors, Future}
import java.util.UUID

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.{PmeErrors, UnfinishedFile}

/**
 * Puts a table in its place where a directory does not move in one step: in object stores. Until the last file is there,
 * each directory with data has a file that is no Parquet file, so every reader fails, of any program, instead of returning
 * some of the rows. A run that is killed leaves these files.
 */
private[files] object UnfinishedCopy {
  private val Threads = 16

  private val Notice =
    ("A copy of a table to this directory has not ended. Files may be missing, so readers must fail on this file. " +
      "If no copy is running any more, delete the whole directory, and run the copy again.\n").getBytes(UTF_8)

  /** A file of the table: where it is, and its path within the target. */
  final case class Move(from: Path, to: String)

  /** Whether a directory of this file system moves in one step. */
  def isNeeded(target: Path, conf: Configuration): Boolean = {
    val fs = Place.of(target, conf).fs
    !Place.isLocal(fs) && fs.getUri.getScheme != Place.Hdfs
  }

  /** Whether a run that was killed has left a part of a table, or another one is at work. */
  def isLeft(target: Path, conf: Configuration): Boolean =
    isNeeded(target, conf) &&
      filesIn(target.getFileSystem(conf), target).exists(file => UnfinishedFile.is(file.getName))

  /** The files below a directory. */
  def movesOf(directory: Path, conf: Configuration): Seq[Move] = {
    val below = directory.toUri.getPath
    filesIn(directory.getFileSystem(conf), directory).map { file =>
      Move(file, file.toUri.getPath.stripPrefix(below).stripPrefix("/"))
    }.toList
  }

  /**
   * Moves the files, and removes them again if that fails.
   *
   * @throws io.pmeparquet.PmeException if something exists at the target. Of several runs that begin this at the same
   *   moment, at most one succeeds
   */
  def appear(moves: Seq[Move], target: Path, conf: Configuration): Unit = {
    val fs = target.getFileSystem(conf)
    val name = s"${UnfinishedFile.Prefix}${UUID.randomUUID()}.parquet"
    val notices =
      moves.map(move => StagedTable.within(target, move.to).getParent).distinct.map(new Path(_, name))
    val moved = new ConcurrentLinkedQueue[Path]
    var isBegun = false
    StagedTable.requireFree(target, conf)
    try {
      inParallel(notices)(OwnFiles.write(_, Notice, conf))
      // Two runs that have both found the target free see each other's notices, and neither moves a file.
      if (hasOthers(fs, target, notices))
        throw PmeErrors.badTarget(target.toString, "another process writes there", "Name a new directory.")
      isBegun = true
      inParallel(moves) { move =>
        val to = StagedTable.within(target, move.to)
        if (!fs.rename(move.from, to)) throw new IOException(s"${move.from} could not be moved to $to")
        moved.add(to)
      }
    } catch {
      case NonFatal(failed) =>
        try {
          inParallel(moved.asScala.toSeq)(OwnFiles.delete(_, conf))
          // A file whose move failed can be there, or one of somebody else: then nobody must read this part of a table.
          if (!isBegun || !hasOthers(fs, target, notices)) inParallel(notices)(OwnFiles.delete(_, conf))
        } catch { case NonFatal(more) => failed.addSuppressed(more) }
        throw failed
    }
    inParallel(notices)(OwnFiles.delete(_, conf))
  }

  private def hasOthers(fs: FileSystem, target: Path, notices: Seq[Path]) = {
    val own = notices.map(_.toUri.getPath).toSet
    filesIn(fs, target).exists(file => !own(file.toUri.getPath))
  }

  private def filesIn(fs: FileSystem, directory: Path): Iterator[Path] = {
    val files = fs.listFiles(directory, /* recursive= */ true)
    Iterator.continually(files).takeWhile(_.hasNext).map(_.next().getPath)
  }

  /** Each file is some requests, one after the other. Waits for all, also if one fails. */
  private def inParallel[A](all: Seq[A])(act: A => Unit): Unit = {
    val pool = Executors.newFixedThreadPool(Threads)
    try {
      val running: Seq[Future[_]] =
        all.map(one => pool.submit(new Runnable { override def run(): Unit = act(one) }))
      val failures = running.flatMap { one =>
        try { one.get(); None }
        catch { case failed: ExecutionException => Some(failed.getCause) }
      }
      failures.headOption.foreach { first =>
        failures.tail.filterNot(_ eq first).foreach(first.addSuppressed)
        throw first
      }
    } finally pool.shutdownNow()
  }
}
