package io.pmeparquet.parquet.storage

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.{PmeErrors, UnfinishedFile}
import io.pmeparquet.material.MaterialFile
import io.pmeparquet.parquet.bytes.SmallText

/**
 * New files take the place of several old ones in a table. No storage does that in one step, so meanwhile readers must
 * fail: each directory that changes first gets a file that is no Parquet file, as an unfinished copy has one
 * ([[UnfinishedCopy]]).
 *
 * The names of files show how far a run came, and there is no list that could say something else:
 *
 *   - `.pme-compacting-<id>` in the table's directory is the run's own, with the file `running`, from a seal on with the
 *     file `sealing`, and from the decision on with the file `decided`;
 *   - `0-unfinished-compaction-<id>.parquet` is the file on which readers fail;
 *   - `compacted-<id>-<number>.parquet` is a new file;
 *   - `.pme-compacted-<id>-<name>.old` is an old file. It is there until the decision, so all can be undone until then.
 *
 * Of a run that was killed, the next one undoes everything if it was not decided, and otherwise completes it.
 * ''Driver only'', except for [[attempt]].
 */
final class TableSwap private (table: Path, run: RunDirectory) extends Serializable {
  import TableSwap._

  private val id = idOf(run.path)

  /** What [[swap]] has put in place, and the lengths of the new files. */
  @transient private var swapped: Seq[Replacing] = Nil
  @transient private var lengths: Map[String, Long] = Map.empty

  /** The mark that other operations see. */
  def mark: Path = run.path

  /** The name of a new file. */
  def nameOf(number: Int): String = f"$NewPrefix$id-$number%05d.parquet"

  /** Runs an attempt of a task in a directory of its own. ''Executor only.'' */
  def attempt[A](conf: Configuration)(write: Path => A): (String, A) = run.attempt(conf, stays = true)(write)

  /**
   * Puts the new files in the place of the old ones. Readers fail until [[complete]] or [[undo]].
   *
   * @throws io.pmeparquet.PmeException if an old file is not as it was listed
   */
  def swap(all: Seq[Replacing], conf: Configuration): Unit = {
    run.requireRunning(conf)
    val staged = all.map(one => one.name -> statusOf(stagedOf(one), conf).getLen).toMap
    val directories = all.map(_.directory).distinct
    UnfinishedCopy.inParallel(directories)(directory => OwnFiles.write(noticeIn(directory, id), Notice, conf))
    UnfinishedCopy.inParallel(all)(moveIn(_, conf))
    UnfinishedCopy.inParallel(all.flatMap(_.old))(moveOut(_, conf))
    swapped = all
    lengths = staged
    requireSwapped(conf)
  }

  private def moveIn(one: Replacing, conf: Configuration): Unit = {
    val (staged, to) = (stagedOf(one), new Path(one.directory, one.name))
    val like = statusOf(new Path(one.old.head.path), conf)
    def move(from: Path, to: Path): Unit = {
      val place = FileReplacement.of(to, conf)
      requireFree(to, conf)
      // A store copies it itself; elsewhere it is synced, and gets the permissions of the old files.
      if (place.inStore) UnfinishedCopy.rename(to.getFileSystem(conf), from, to)
      else place.take(from, like, () => requireFree(to, conf))
    }
    val keys = MaterialFiles.pathFor(staged)
    if (OwnFiles.find(keys, conf) != Found.Nothing) move(keys, MaterialFiles.pathFor(to))
    move(staged, to)
  }

  private def stagedOf(one: Replacing) = new Path(run.in(one.attempt), one.name)

  private def hiddenOf(path: Path) = new Path(path.getParent, s"$OldPrefix$id-${path.getName}$OldSuffix")

  private def requireFree(path: Path, conf: Configuration): Unit =
    if (OwnFiles.find(path, conf) != Found.Nothing) throw PmeErrors.placeTaken(path.toString)

  private def moveOut(file: ListedFile, conf: Configuration): Unit = {
    val path = new Path(file.path)
    // Refuses links.
    FileReplacement.of(path, conf)
    val before = statusOf(path, conf)
    if (before.getLen != file.length || before.getModificationTime != file.modified)
      throw PmeErrors.changedMeanwhile(file.path)
    val hidden = hiddenOf(path)
    requireFree(hidden, conf)
    UnfinishedCopy.rename(path.getFileSystem(conf), path, hidden)
    if (statusOf(hidden, conf).getLen != file.length) throw PmeErrors.changedMeanwhile(file.path)
  }

  private def statusOf(path: Path, conf: Configuration): FileStatus =
    try path.getFileSystem(conf).getFileStatus(path)
    catch { case _: FileNotFoundException => throw PmeErrors.changedMeanwhile(path.toString) }

  /**
   * Called before a version of the table lists the new files: from here on, that version decides.
   *
   * @param snapshots the directory of the versions
   */
  def sealing(snapshots: Path, conf: Configuration): Unit = {
    requireSwapped(conf)
    OwnFiles.write(run.in(Sealing), snapshots.toString.getBytes(UTF_8), conf)
  }

  /** From here on a run that is killed is completed, and not undone. */
  def decide(conf: Configuration): Unit = {
    requireSwapped(conf)
    OwnFiles.write(run.in(Decided), Array.emptyByteArray, conf)
  }

  /**
   * Another run undoes this one if its user takes it for dead. Then only the old files have the rows.
   *
   * @throws io.pmeparquet.PmeException if a new file or an old one is not where this run has put it
   */
  private def requireSwapped(conf: Configuration): Unit = {
    run.requireRunning(conf)
    UnfinishedCopy.inParallel(swapped.groupBy(_.directory).toSeq) { case (directory, all) =>
      val listed = directory.getFileSystem(conf).listStatus(directory)
      val there = listed.map(file => file.getPath.getName -> file.getLen).toMap
      def requireThere(name: String, length: Long, named: String): Unit =
        if (!there.get(name).contains(length)) throw PmeErrors.changedMeanwhile(named)
      all.foreach { one =>
        requireThere(one.name, lengths(one.name), new Path(directory, one.name).toString)
        one.old.foreach { file =>
          requireThere(hiddenOf(new Path(file.path)).getName, file.length, file.path)
        }
      }
    }
  }

  /** Lets readers read again, and removes the old files. Call [[decide]] before. */
  def complete(conf: Configuration): Unit = {
    requireSwapped(conf)
    TableSwap.complete(table, id, conf)
    // The mark of the decision goes last: without it, a run that is not over would be undone.
    OwnFiles.clear(run.path, Set(Decided), conf)
    run.end(conf)
  }

  /** Puts everything back. */
  def undo(conf: Configuration): Unit = {
    TableSwap.undo(table, id, conf)
    run.end(conf)
  }

  /** Leaves everything as it is: the next run finds a run that was killed. */
  def abandon(): Unit = run.abandon()

  /** Ends a run that has swapped nothing. */
  def end(conf: Configuration): Unit = run.end(conf)
}

/**
 * A new file, and the old ones that it replaces.
 *
 * @param attempt the attempt of a task that has written it
 */
final case class Replacing(directory: Path, name: String, attempt: String, old: Seq[ListedFile])

object TableSwap {
  private val MarkPrefix = ".pme-compacting-"
  private val OldPrefix = ".pme-compacted-"

  /** Some programs read hidden files, if their names end as those of data do. */
  private val OldSuffix = ".old"
  private val NewPrefix = "compacted-"
  private val Uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
  private val Running = "running"
  private val Sealing = "sealing"
  private val Decided = "decided"

  private val Notice =
    ("Files of this directory are being merged, and some may be there twice or be missing, so readers must fail on this " +
      "file. If no compaction runs any more, run it again, which puts everything right. Delete nothing by hand.\n")
      .getBytes("UTF-8")

  def isMark(path: Path): Boolean = path.getName.startsWith(MarkPrefix)

  /** Whether a file is one that the run of a mark has put in place. */
  def isNew(mark: Path, name: String): Boolean = name.startsWith(s"$NewPrefix${idOf(mark)}-")

  private def idOf(mark: Path) = mark.getName.stripPrefix(MarkPrefix)
  private def noticeIn(directory: Path, id: String) = new Path(directory, UnfinishedFile.ofCompaction(id))

  /** Begins a run. Other operations see its mark from then on, and the caller then looks for theirs. */
  def begin(table: Path, conf: Configuration): TableSwap = {
    val run = RunDirectory.beside(new Path(table, "any"), MarkPrefix)
    run.begin(conf)
    new TableSwap(table, run)
  }

  /**
   * Puts a table right that a run has left which was killed.
   *
   * @param isKilled whether the caller knows that none runs any more; needed where the file system has no locks
   * @param isDecided whether a run is decided, if it has not noted it itself: by its mark, and where it was about to
   *   publish the version that decides, if it was
   * @return whether there was one
   * @throws io.pmeparquet.PmeException if a run may still be at work
   */
  def putRight(table: Path, isKilled: Boolean, conf: Configuration)(
      isDecided: (Path, Option[String]) => Boolean
  ): Boolean = {
    val marks = RunDirectory.list(table, MarkPrefix, Uuid, conf)
    marks.foreach { mark =>
      def has(name: String) = OwnFiles.find(new Path(mark, name), conf) != Found.Nothing
      // One that has begun to end itself, and has nothing left to put right, has no file `running`.
      if (has(Running) && !RunDirectory.isLeft(mark, conf) && !isKilled)
        throw PmeErrors.compactionUnderWay(table.toString, mark.toString)
      if (has(Decided) || (has(Running) && isDecided(mark, sealingOf(mark, conf)))) {
        if (!has(Decided)) OwnFiles.write(new Path(mark, Decided), Array.emptyByteArray, conf)
        complete(table, idOf(mark), conf)
        OwnFiles.clear(mark, Set(Decided), conf)
      } else if (has(Running)) undo(table, idOf(mark), conf)
      OwnFiles.delete(mark, conf)
    }
    marks.nonEmpty
  }

  private def sealingOf(mark: Path, conf: Configuration): Option[String] = {
    val file = new Path(mark, Sealing)
    if (OwnFiles.find(file, conf) == Found.Nothing) None
    else Some(SmallText.read(file, conf, _ => PmeErrors.changedMeanwhile(file.toString)))
  }

  private def filesOf(table: Path, id: String, conf: Configuration): Seq[Path] = {
    val mark = s"/$MarkPrefix$id/"
    val own = OwnFiles
      .filesBelow(table, conf)
      .filter(file => file.getName.contains(id) && !file.toUri.getPath.contains(mark))
      .toList
    // A link could lead to another table.
    LinkedDirectories.first(table, own, conf).foreach { link =>
      throw PmeErrors.linkedDirectory(table.toString, link.toString)
    }
    own
  }

  private def complete(table: Path, id: String, conf: Configuration): Unit = {
    val found = filesOf(table, id, conf)
    found.filter(_.getName == UnfinishedFile.ofCompaction(id)).foreach(OwnFiles.delete(_, conf))
    val old = s"$OldPrefix$id-"
    found.filter(_.getName.startsWith(old)).foreach { hidden =>
      val name = nameBefore(hidden, old)
      // Nothing of an existing file is deleted: anybody may have made the names that say so.
      if (OwnFiles.find(new Path(hidden.getParent, name), conf) == Found.Nothing)
        OwnFiles.delete(new Path(hidden.getParent, MaterialFile.nameFor(name)), conf)
      delete(hidden, conf)
    }
  }

  private def undo(table: Path, id: String, conf: Configuration): Unit = {
    val found = filesOf(table, id, conf)
    val old = s"$OldPrefix$id-"
    found.filter(_.getName.startsWith(old)).foreach { hidden =>
      val path = new Path(hidden.getParent, nameBefore(hidden, old))
      val fs = path.getFileSystem(conf)
      if (OwnFiles.find(path, conf) == Found.Nothing) UnfinishedCopy.rename(fs, hidden, path)
      // A store copies an object, and then deletes the first one: both are there if it was stopped in between.
      else if (
        FileReplacement.of(path, conf).inStore &&
        fs.getFileStatus(path).getLen == fs.getFileStatus(hidden).getLen
      ) delete(hidden, conf)
      else throw PmeErrors.placeTaken(path.toString)
    }
    val fresh = s"$NewPrefix$id-"
    found.filter(_.getName.startsWith(fresh)).foreach(delete(_, conf))
    // Their keys, which were there before them.
    found.filter(_.getName.startsWith(MaterialFile.Prefix + fresh)).foreach(OwnFiles.delete(_, conf))
    found.filter(_.getName == UnfinishedFile.ofCompaction(id)).foreach(OwnFiles.delete(_, conf))
  }

  private def nameBefore(hidden: Path, prefix: String) =
    hidden.getName.stripPrefix(prefix).stripSuffix(OldSuffix)

  /** With its checksums, if the file system has such a file. */
  private def delete(path: Path, conf: Configuration): Unit = {
    val checksums = new Path(path.getParent, s".${path.getName}.crc")
    OwnFiles.delete(path, conf)
    if (OwnFiles.hasLinks(path, conf)) OwnFiles.delete(checksums, conf)
  }
}
