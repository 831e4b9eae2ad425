package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.Kms
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.verify.Finding
import io.pmeparquet.snapshot.{SealedFiles, SnapshotDirectory}
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
  private val resolver = new ConfResolver(session)

  /**
   * What differs, and which files of the snapshot itself are not as its manifest states: reads go on without an index.
   *
   * @param path the table, a partition or a file
   * @param all the files below the path
   * @param chosen those whose bytes to compare
   */
  def of(path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]): Seq[Finding] = {
    val named = TableFiles.qualified(path.toString, conf)
    tables(named) match {
      case Left(failed) => Seq(finding(named.toString, failed))
      case Right(tables) =>
        val differing = tables.flatMap(different(_, named, all, chosen))
        differing.map { case (file, failed) => finding(file, failed) } ++ tables.flatMap(ownFiles)
    }
  }

  private def finding(file: String, failed: PmeException) =
    Finding(file, condition = failed.condition.name, message = failed.problem)

  /** What differs, with the file that each failure is about; none if there is no snapshot to compare with. */
  def differences(
      path: Path,
      all: Seq[ListedFile],
      chosen: Seq[ListedFile]
  ): Option[Seq[(String, PmeException)]] = {
    val named = TableFiles.qualified(path.toString, conf)
    tables(named) match {
      case Left(failed) => Some(Seq(named.toString -> failed))
      case Right(Seq()) => None
      case Right(tables) => Some(tables.flatMap(different(_, named, all, chosen)))
    }
  }

  private def tables(path: Path) = {
    val isFile = TableFiles.statusOf(path, conf).isFile
    Kms.answer(new SnapshotReads(session, resolver, options).tables(Seq(path), _ => isFile))
  }

  private def different(table: SealedTable, path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]) =
    listing(table, path, all) ++ bytes(table, chosen)

  /** The lists and indexes of the snapshot, by their digests: this needs none of their keys. */
  private def ownFiles(table: SealedTable): Seq[Finding] = {
    val directory = resolver.snapshots(options).directory(table.directory)
    val (named, location) = (table.directory.toString, directory.path.toString)
    val parts = table.snapshot.version.manifest.parts
    FileJob
      .eachWhole(session, conf, parts.toVector.flatMap(_.entries))(_.length) { (file, conf) =>
        Kms.answer(new SnapshotDirectory(new Path(named), Some(location), conf).part(file)).left.toOption
      }
      .flatMap { case (file, answer) =>
        val path = directory.partPath(file.name).toString
        answer match {
          case Right(differing) => differing.map(finding(path, _))
          case Left(failed) =>
            Some(Finding(path, condition = failed.condition, message = failed.message))
        }
      }
  }

  private def listing(table: SealedTable, path: Path, all: Seq[ListedFile]): Seq[(String, PmeException)] = {
    val there = all.flatMap(file => table.relative(new Path(file.path)).map(_ -> file)).toMap
    val listed = table.snapshot.byPath
    val version = table.snapshot.version.number
    val extra =
      there.toSeq.sortBy(_._1).filterNot { case (name, _) => listed.contains(name) }.map { case (_, file) =>
        file.path -> PmeErrors.snapshotMismatch(file.path, s"the file is not in the list of version $version")
      }
    val missing = table.snapshot.files
      .filterNot(file => there.contains(file.path))
      .map(file => new Path(table.directory, file.path))
    extra ++ missing.filter(SealedFiles.isAtOrBelow(path, _)).map { file =>
      file.toString ->
        PmeErrors.snapshotMismatch(file.toString, s"version $version lists the file, and it is missing")
    }
  }

  private def bytes(table: SealedTable, chosen: Seq[ListedFile]): Seq[(String, PmeException)] = {
    val listed =
      chosen.filter(file => table.relative(new Path(file.path)).exists(table.snapshot.byPath.contains))
    FileJob
      .eachWhole(session, conf, listed)(_.length)((file, conf) => FileFacts.wholeFile(file, conf))
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
}
