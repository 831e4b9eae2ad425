package io.pmeparquet.parquet.storage

import java.io.IOException

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.{PmeErrors, Sha256}

/**
 * A staged table that a later run continues. A file of an attempt that is complete and verified moves to the staged table;
 * when all files are there, it moves to the target.
 *
 * A run that is killed leaves the staged table. The next run for the same target and purpose finds its files, and decides
 * itself whether to trust them: whoever can write to the storage can have put them there. ''Crosses the wire.''
 *
 * @param staging the hidden directory of all runs for the same target and purpose
 */
final class ResumableTable private (target: Path, staging: Path, run: RunDirectory)
    extends StagedTable(target, run) {
  private[storage] override val staged = new Path(staging, ResumableTable.Staged)

  /** Gives the work a directory for one file of one attempt, and removes it afterwards. ''Executor only.'' */
  def attempt[A](conf: Configuration)(work: Path => A): A = run.attempt(conf, stays = false)(work)._2

  /** The staged file of this name, by an earlier run or an attempt of this one; none if there is none. */
  def find(file: String, conf: Configuration): Option[Path] = {
    val path = StagedTable.within(staged, file)
    OwnFiles.find(path, conf) match {
      case Found.File(_) => Some(path)
      case Found.Nothing => None
      case _ => throw PmeErrors.planted(path.toString)
    }
  }

  /** Removes a staged file that is not what it should be. */
  def drop(file: String, conf: Configuration): Unit = {
    val path = StagedTable.within(staged, file)
    path.getFileSystem(conf).delete(path, /* recursive= */ false)
    ()
  }

  /**
   * Moves a complete file of an attempt to the staged table, unless there is one: to replace it would leave a gap, in which
   * [[publish]] could move the table without it.
   *
   * @return whether it was moved. If not, the caller decides whether the existing one is as good
   */
  def keep(written: Path, file: String, conf: Configuration): Boolean = {
    run.requireRunning(conf)
    val fs = written.getFileSystem(conf)
    val to = place(staged, file, conf)
    find(file, conf).isEmpty && {
      val isMoved = fs.rename(written, to)
      if (!isMoved && find(file, conf).isEmpty) throw new IOException(s"$written could not be moved to $to")
      isMoved
    }
  }

  /**
   * Puts the table in its place, with exactly these files. ''Driver only.''
   *
   * @param files paths within the table
   */
  def publish(files: Set[String], conf: Configuration): Unit = {
    run.requireRunning(conf)
    OwnFiles.requireDirectory(staged, conf)
    removeOthers(target.getFileSystem(conf), files, conf)
    files.find(find(_, conf).isEmpty).foreach { file =>
      throw new IOException(s"file $file was written for $target, but it was not found")
    }
    val moves = files.toSeq.map(file => UnfinishedCopy.Move(StagedTable.within(staged, file), file))
    appear(moves, conf)(ResumableTable.all(target, conf))
  }

  /** Removes files of the staged table that are not these: sources may have changed between two runs. */
  private def removeOthers(fs: FileSystem, files: Set[String], conf: Configuration): Unit = {
    val wanted = files.map(StagedTable.within(staged, _))
    val above = wanted.flatMap { path =>
      Iterator.iterate(path.getParent)(_.getParent).takeWhile(_ != staged).map(_.toUri.getPath).toList
    }
    val names = wanted.map(_.toUri.getPath)
    def clean(directory: Path): Unit = fs.listStatus(directory).foreach { one =>
      val path = one.getPath
      // A link stands for what it leads to in a listing.
      OwnFiles.find(path, conf) match {
        case Found.Directory if above(path.toUri.getPath) => clean(path)
        case Found.File(_) if names(path.toUri.getPath) => ()
        case Found.File(_) =>
          fs.delete(path, /* recursive= */ false)
          ()
        case _ => OwnFiles.delete(path, conf)
      }
    }
    clean(staged)
  }
}

object ResumableTable {

  /** The staged table in the hidden directory; unlike the name of a run. */
  private val Staged = "table"
  private val DigestCharacters = 16

  /**
   * Begins a run, or continues one that has not ended, whose tasks are then stopped.
   *
   * @param target a qualified path with nothing there
   * @param purpose what decides the content of files: runs with another purpose share no files with this one
   */
  def begin(target: Path, purpose: String, conf: Configuration): ResumableTable = {
    StagedTable.requireFree(target, conf)
    target.getFileSystem(conf).mkdirs(target.getParent)
    val staging = new Path(target.getParent, prefix(target) + Sha256.ofText(purpose).take(DigestCharacters))
    OwnFiles.ensureDirectory(staging, conf)
    val run = RunDirectory.in(staging, target)
    val table = new ResumableTable(target, staging, run)
    try {
      // Removes what others left, and with it the marks of runs that have not ended.
      run.beginAlone(keep = Set(Staged), conf)
      OwnFiles.ensureDirectory(table.staged, conf)
      run.requireRunning(conf)
      table
    } catch {
      case failed: Throwable =>
        table.end(conf)
        throw failed
    }
  }

  // Hidden from Spark whatever the name; a '_' would not hide one with a '='.
  private def prefix(target: Path) = s".${target.getName}.pme-migrate-"

  /** The hidden directories of all runs to a target, whatever their purpose. */
  private def all(target: Path, conf: Configuration): Seq[Path] =
    RunDirectory.list(target.getParent, prefix(target), s"[0-9a-f]{$DigestCharacters}", conf)
}
