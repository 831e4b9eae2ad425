package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.verify.Finding
import io.pmeparquet.spark.admin.job.FileJob
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.spark.snapshots.{SealedTable, SnapshotReads}

/**
 * Compares a table with its snapshot: missing files, files that the snapshot does not list, and the bytes of each file,
 * which bind pages to their writer where a reader's keys do not. ''Driver only.''
 */
private[admin] final class SnapshotFindings(session: SparkSession, options: Map[String, String]) {
  private val conf = SparkAccess.hadoopConf(session, options)

  /**
   * @param path the table, a partition or a file
   * @param all the files below the path
   * @param chosen those whose bytes to compare
   */
  def of(path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]): Seq[Finding] =
    failures(path, all, chosen).map { case (file, failed) =>
      Finding(file, condition = failed.condition.name, message = failed.problem)
    }

  /** @throws io.pmeparquet.PmeException if the snapshot is not acceptable */
  def isSealed(path: Path): Boolean = {
    val named = TableFiles.qualified(path.toString, conf)
    tablesOf(named).nonEmpty
  }

  private def tablesOf(named: Path) = {
    val isFile = TableFiles.statusOf(named, conf).isFile
    new SnapshotReads(session, new ConfResolver(session), options).tables(Seq(named), _ => isFile)
  }

  def failuresOf(path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]): Seq[PmeException] =
    failures(path, all, chosen).map(_._2)

  private def failures(
      path: Path,
      all: Seq[ListedFile],
      chosen: Seq[ListedFile]
  ): Seq[(String, PmeException)] = {
    val named = TableFiles.qualified(path.toString, conf)
    val found = Kept(named.toString)(tablesOf(named))
    found match {
      case Left(failed) => Seq(failed)
      case Right(tables) => tables.flatMap(table => listing(table, named, all) ++ bytes(table, chosen))
    }
  }

  private def listing(table: SealedTable, path: Path, all: Seq[ListedFile]): Seq[(String, PmeException)] = {
    val there = all.flatMap(file => table.relative(new Path(file.path)).map(_ -> file)).toMap
    val listed = table.snapshot.byPath
    val version = table.snapshot.version.number
    val below = path.toUri.getPath
    def isBelow(file: Path) = {
      val full = file.toUri.getPath
      full == below || full.startsWith(below.stripSuffix("/") + "/")
    }
    val extra =
      there.toSeq.sortBy(_._1).filterNot { case (name, _) => listed.contains(name) }.map { case (_, file) =>
        file.path -> PmeErrors.snapshotMismatch(file.path, s"the file is not in the list of version $version")
      }
    val missing = table.snapshot.files
      .filterNot(file => there.contains(file.path))
      .map(file => new Path(table.directory, file.path))
    extra ++ missing.filter(isBelow).map { file =>
      file.toString ->
        PmeErrors.snapshotMismatch(file.toString, s"version $version lists the file, and it is missing")
    }
  }

  private def bytes(table: SealedTable, chosen: Seq[ListedFile]): Seq[(String, PmeException)] = {
    val listed =
      chosen.filter(file => table.relative(new Path(file.path)).exists(table.snapshot.byPath.contains))
    FileJob
      .each(session, conf, listed, FileJob.MaxTasks)((file, conf) => FileFacts.wholeFile(file, conf))
      .flatMap { case (file, answer) =>
        val sealedFile = table.snapshot.byPath(table.relative(new Path(file.path)).get)
        answer match {
          case Right(sha256) if java.util.Arrays.equals(sha256, sealedFile.sha256) => None
          case Right(_) =>
            Some(
              file.path -> PmeErrors.snapshotMismatch(file.path, "its bytes are not those that were sealed")
            )
          case Left(failed) =>
            Some(file.path -> PmeErrors.snapshotMismatch(file.path, s"it cannot be read: ${failed.message}"))
        }
      }
  }

  private object Kept {

    /** A failure of ours as a value. */
    def apply[A](where: String)(step: => A): Either[(String, PmeException), A] =
      try Right(step)
      catch { case failed: PmeException => Left(where -> failed) }
  }
}
