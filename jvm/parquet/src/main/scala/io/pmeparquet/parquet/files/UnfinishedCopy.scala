package io.pmeparquet.parquet.files

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.{PmeErrors, UnfinishedFile}

/**
 * Puts a table in its place where a directory does not move in one step: in object stores. Until the last file is there,
 * each directory with data has a file that is no Parquet file. So readers fail, also those of other programs, instead of
 * returning some of the rows. A run that is killed leaves these files.
 */
private[files] object UnfinishedCopy {
  private val Threads = 16

  private val Notice =
    ("A copy of a table to this directory has not ended. Files may be missing, so readers must fail on this file. " +
      "If no copy is running any more, delete what it has copied, and run it again.\n").getBytes(UTF_8)

  /** A file of the table: where it is, and its path within the target. */
  final case class Move(from: Path, to: String)

  /** Whether this file system is not one of those that are known to move a directory in one step. */
  def isNeeded(target: Path, conf: Configuration): Boolean = {
    val fs = Place.of(target, conf).fs
    !Place.isLocal(fs) && fs.getUri.getScheme != Place.Hdfs
  }

  /** Whether a run that was killed has left a part of a table, or another one is at work. */
  def isLeft(target: Path, conf: Configuration): Boolean =
    !target.isRoot && isNeeded(target, conf) &&
      OwnFiles.filesBelow(target, conf).exists(file => UnfinishedFile.is(file.getName))

  /**
   * Moves the files, and removes them again if that fails.
   *
   * @throws io.pmeparquet.PmeException if something exists at the target. Of several runs that begin this at the same
   *   moment, at most one succeeds
   */
  def appear(moves: Seq[Move], target: Path, conf: Configuration): Unit = {
    val fs = target.getFileSystem(conf)
    val name = UnfinishedFile.fresh()
    val notices =
      moves.map(move => StagedTable.within(target, move.to).getParent).distinct.map(new Path(_, name))
    val moved = new ConcurrentLinkedQueue[Path]
    var isBegun = false
    StagedTable.requireFree(target, conf)
    try {
      inParallel(notices)(OwnFiles.write(_, Notice, conf))
      // Two runs that have both found the target free see each other's notices, and neither moves a file.
      if (hasOthers(target, notices, conf))
        throw PmeErrors.badTarget(target.toString, "another process writes there", "Name a new directory.")
      isBegun = true
      inParallel(moves) { move =>
        val to = StagedTable.within(target, move.to)
        if (!fs.rename(move.from, to)) throw new IOException(s"${move.from} could not be moved to $to")
        moved.add(to)
        ()
      }
      StagedTable.missing(target, moves.map(_.to), conf).foreach { file =>
        throw PmeErrors.lostWhilePublished(target.toString, file)
      }
    } catch {
      case NonFatal(failed) =>
        try {
          inParallel(moved.asScala.toSeq)(OwnFiles.delete(_, conf))
          // A file whose move failed can be there, or one of somebody else: then nobody must read this part of a table.
          if (!isBegun || !hasOthers(target, notices, conf)) {
            inParallel(notices)(OwnFiles.delete(_, conf))
            // Otherwise another run may be at work in these directories.
            if (isBegun) removeEmpty(fs, target, notices.map(_.getParent))
          }
        } catch { case NonFatal(more) => failed.addSuppressed(more) }
        throw failed
    }
    try inParallel(notices)(OwnFiles.delete(_, conf))
    catch {
      case failed: IOException =>
        val remedy = "Remove them, or delete the directory and run this again"
        throw new IOException(
          s"the copy at $target is complete, and not all files $name in it could be removed. $remedy.",
          failed
        )
    }
  }

  /** Some stores keep directories when the last file in them is gone. The next run needs a free target. */
  private def removeEmpty(fs: FileSystem, target: Path, directories: Seq[Path]): Unit =
    directories
      .flatMap(Iterator.iterate(_)(_.getParent).takeWhile(_ != target).toList)
      .distinct
      .sortBy(-_.depth)
      .foreach(one => if (fs.exists(one)) fs.delete(one, /* recursive= */ false))

  private def hasOthers(target: Path, notices: Seq[Path], conf: Configuration) = {
    val own = notices.map(_.toUri.getPath).toSet
    OwnFiles.filesBelow(target, conf).exists(file => !own(file.toUri.getPath))
  }

  /** Each file is some requests, one after the other. After a failure, begins no more, and waits for those that run. */
  private def inParallel[A](all: Seq[A])(act: A => Unit): Unit = {
    val pool = Executors.newFixedThreadPool(Threads)
    val failures = new ConcurrentLinkedQueue[Throwable]
    try {
      all
        .map { one =>
          pool.submit(new Runnable {
            override def run(): Unit =
              if (failures.isEmpty) {
                try act(one)
                catch { case failed: Throwable => failures.add(failed) }
                ()
              }
          })
        }
        .foreach(_.get())
      Option(failures.poll()).foreach { first =>
        failures.asScala.filterNot(_ eq first).foreach(first.addSuppressed)
        throw first
      }
    } finally pool.shutdownNow()
  }
}
