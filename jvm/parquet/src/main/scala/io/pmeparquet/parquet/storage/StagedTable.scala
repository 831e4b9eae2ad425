package io.pmeparquet.parquet.storage

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, Executors}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.{PmeErrors, UnfinishedFile}
import io.pmeparquet.material.MaterialFile

/**
 * A table that appears all at once: tasks write to a hidden directory beside its place. When all are done, a rename moves
 * the staged table there, or, where directories do not move in one step, [[UnfinishedCopy]] moves its files. ''Crosses the
 * wire.''
 *
 * @param run the directory where the tasks of this run write
 */
abstract class StagedTable private[storage] (val target: Path, private[storage] val run: RunDirectory)
    extends Serializable {

  /** Where files are that are complete, on file systems that move a directory in one step. */
  private[storage] def staged: Path

  /** Where an attempt with this directory writes a file. Creates the directories above it. */
  def place(directory: Path, file: String, conf: Configuration): Path =
    StagedTable.place(directory, file, conf)

  /** Ends the run, published or not. What is left goes, as far as no later run needs it. ''Driver only.'' */
  def end(conf: Configuration): Unit = run.end(conf)

  /** As [[end]], after the work; if that fails, its failure says what could not be removed. */
  def ending[A](conf: Configuration)(work: => A): A = run.ending(conf)(work)

  /**
   * Puts the table in its place.
   *
   * @param moves its files; where a directory moves in one step, all are in the staged table
   * @param leftovers directories that no run needs once the table is there
   */
  private[storage] def appear(moves: Seq[UnfinishedCopy.Move], conf: Configuration)(
      leftovers: => Seq[Path]
  ): Unit = {
    if (UnfinishedCopy.isNeeded(target, conf)) UnfinishedCopy.appear(moves, target, conf)
    else {
      moveStaged(conf)
      StagedTable.missing(target, moves.map(_.to), conf).foreach { file =>
        throw PmeErrors.publishedPartly(target.toString, file)
      }
    }
    // The table is there: the run has not failed if something else could not be removed.
    RunDirectory.tidy(target)(leftovers.foreach(OwnFiles.delete(_, conf)))
  }

  private def moveStaged(conf: Configuration): Unit = {
    StagedTable.requireFree(target, conf)
    target.getFileSystem(conf).mkdirs(target.getParent)
    try OwnFiles.moveToFree(staged, target, conf)
    catch {
      case failed: IOException =>
        // If somebody else was there first, that is the better message.
        StagedTable.requireFree(target, conf)
        throw failed
    }
  }
}

object StagedTable {

  /** A path within a directory, for names that Hadoop's paths would misinterpret. */
  def within(directory: Path, relative: String): Path = {
    val uri = directory.toUri
    new Path(uri.getScheme, uri.getAuthority, s"${uri.getPath}/$relative")
  }

  /** The same, with the directories above it. */
  private[storage] def place(directory: Path, relative: String, conf: Configuration): Path = {
    val path = within(directory, relative)
    OwnFiles.makeDirectories(path.getParent, directory, conf)
    path
  }

  /** Whether a copy to the target is not complete, because it was killed or still runs: [[UnfinishedCopy]]. */
  def isUnfinished(target: Path, conf: Configuration): Boolean = UnfinishedCopy.isLeft(target, conf)

  /**
   * @param target a qualified path
   * @throws io.pmeparquet.PmeException if something exists at the target
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
          "it is a symbolic link or a file",
          "Name a directory, or the one that the link leads to."
        )
      case _ if isUnfinished(target, conf) =>
        throw PmeErrors.badTarget(
          target.toString,
          s"a copy to it has not ended: files there begin with ${UnfinishedFile.Prefix}",
          "If no copy is running any more, delete it, and run this again."
        )
      case _ =>
        throw PmeErrors.badTarget(
          target.toString,
          "it is not empty",
          "Name a new directory, or empty this one."
        )
    }
  }

  /** One of these files that is not in the table. Attempts that nobody waits for may remove one while it moves. */
  private[storage] def missing(target: Path, files: Iterable[String], conf: Configuration): Option[String] = {
    val found = OwnFiles.filesBelow(target, conf).map(_.toUri.getPath).toSet
    files.find(file => !found(within(target, file).toUri.getPath))
  }
}

/**
 * A staged table whose attempts count as a whole, once per task: only what tasks report to the driver is in the table. So
 * a file and its key material are of one attempt. If two runs write to one target, the first to finish gets it. The next
 * run removes what a killed one leaves.
 */
final class CopiedTable private (target: Path, run: RunDirectory) extends StagedTable(target, run) {
  // Named unlike any partition.
  private[storage] override def staged: Path = run.in(s"table-${run.name}")

  /**
   * Runs an attempt of a task, and removes everything of it if it fails, or if the driver has already given up.
   * ''Executor only.''
   *
   * @return what it wrote, and its name for [[publish]]
   */
  def attempt[A](conf: Configuration)(write: Path => A): (String, A) = run.attempt(conf, stays = true)(write)

  /**
   * Puts the table in its place, from the files of these attempts. ''Driver only.''
   *
   * @param files the number of files in all, without key material beside them
   */
  def publish(attempts: Seq[String], files: Long, conf: Configuration): Unit = {
    val moves = attempts.distinct.map(run.in).flatMap { attempt =>
      OwnFiles.requireDirectory(attempt, conf)
      val above = attempt.toUri.getPath + "/"
      OwnFiles.filesBelow(attempt, conf).map { file =>
        UnfinishedCopy.Move(file, file.toUri.getPath.stripPrefix(above))
      }
    }
    val count = moves.count(!_.from.getName.startsWith(MaterialFile.Prefix))
    if (count != files)
      throw new IOException(s"$files files were written for $target, but only $count were found")
    if (!UnfinishedCopy.isNeeded(target, conf)) {
      OwnFiles.makeDirectory(staged, conf)
      val fs = target.getFileSystem(conf)
      moves.foreach(move => UnfinishedCopy.rename(fs, move.from, place(staged, move.to, conf)))
    }
    // What can no longer reach the target. If killed runs can be distinguished, running ones clean up themselves.
    appear(moves, conf)(
      if (RunDirectory.hasLocks(target, conf)) Nil else CopiedTable.others(target, conf)
    )
  }
}

object CopiedTable {

  /** Begins a run, and removes what killed runs left, but nothing that another run is using. */
  def begin(target: Path, conf: Configuration): CopiedTable = {
    target.getFileSystem(conf).mkdirs(target.getParent)
    others(target, conf).filter(RunDirectory.isLeft(_, conf)).foreach(OwnFiles.delete(_, conf))
    val run = RunDirectory.beside(target, prefix(target))
    run.begin(conf)
    new CopiedTable(target, run)
  }

  // Hidden from Spark whatever the name; a '_' would not hide one with a '='. Encrypting and decrypting to a copy stage
  // here, too; the name stays since runs of other versions look for leftovers under it.
  private def prefix(target: Path) = s".${target.getName}.pme-rekey-"

  private def others(target: Path, conf: Configuration): Seq[Path] =
    RunDirectory.list(target.getParent, prefix(target), "[0-9a-f-]{36}", conf)
}

/**
 * Puts a table in its place where a directory does not move in one step: in object stores. Until the last file is there,
 * each directory with data has a file that is no Parquet file. So readers fail, also those of other programs, instead of
 * returning some of the rows. A run that is killed leaves these files.
 */
private[storage] object UnfinishedCopy {
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
        rename(fs, move.from, to)
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

  def rename(fs: FileSystem, from: Path, to: Path): Unit =
    if (!fs.rename(from, to)) throw new IOException(s"$from could not be moved to $to")

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
  private[storage] def inParallel[A](all: Seq[A])(act: A => Unit): Unit = {
    val failures = new ConcurrentLinkedQueue[Throwable]
    val calls = all.map { one =>
      Executors.callable { () =>
        try if (failures.isEmpty) act(one)
        catch { case failed: Throwable => failures.add(failed); () }
      }
    }
    val pool = Executors.newFixedThreadPool(Threads)
    try pool.invokeAll(calls.asJava)
    finally pool.shutdownNow()
    Option(failures.poll()).foreach { first =>
      failures.forEach(more => first.addSuppressed(more))
      throw first
    }
  }
}
