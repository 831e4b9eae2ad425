package io.pmeparquet.spark.admin.seal

import java.io.IOException

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{Condition, PmeErrors, PmeException, Sha256}
import io.pmeparquet.keys.Kms
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.storage.{ErasureNotes, ListedFile}
import io.pmeparquet.parquet.verify.Finding
import io.pmeparquet.snapshot.{SealedFiles, SnapshotDirectory, TableSnapshots, Version}
import io.pmeparquet.spark.admin.job.{FileJob, TableFiles}
import io.pmeparquet.spark.options.{ResolvedOptions, SnapshotResolver}
import io.pmeparquet.spark.snapshot.{SealedTable, SessionSnapshots, SnapshotReads}

/**
 * Compares a table with its snapshot: missing files, files that the snapshot does not list, and the bytes of each file,
 * which bind pages to their writer where a reader's keys do not. ''Driver only.''
 */
private[admin] final class SealedGuard(options: ResolvedOptions) {
  import SealedGuard.Gone

  private val session = options.session
  private val conf = options.newHadoopConf()

  /**
   * What differs, and which files of the snapshot itself are not as its manifest states: reads go on without an index.
   *
   * @param path the table, a partition or a file
   * @param all the files below the path
   * @param chosen those whose bytes to compare
   * @param opened findings for these files, each of them opened
   * @return with `opened`, as snapshots explain it
   */
  def findings(
      path: Path,
      all: Seq[ListedFile],
      chosen: Seq[ListedFile],
      opened: Seq[Finding]
  ): (Seq[Finding], Seq[Finding]) = {
    val named = TableFiles.qualified(path.toString, conf)
    tables(named) match {
      case Left(failed) => Seq(finding(named.toString, failed)) -> opened
      case Right(tables) =>
        val differing = tables.flatMap(different(_, named, all, chosen))
        val ofSnapshots = differing.map { case (file, failed) => finding(file, failed) } ++
          tables.flatMap(ownFiles) ++ tables.flatMap(certificates)
        ofSnapshots -> explained(tables, chosen, opened)
    }
  }

  /**
   * Findings, which say of files under destroyed keys that a snapshot states this: only a seal can excuse what nobody can
   * open. And findings for files that open in spite of what it states.
   */
  private def explained(
      tables: Seq[SealedTable],
      chosen: Seq[ListedFile],
      found: Seq[Finding]
  ): Seq[Finding] = {
    val sealedTables = tables.filter(_.snapshot.version.manifest.erasures.nonEmpty)
    if (sealedTables.isEmpty) found
    else {
      found.map { one =>
        val erased = for {
          table <- sealedTables.iterator if isOfGone(one)
          name <- table.relative(new Path(one.file)) if table.snapshot.byPath.contains(name)
          (key, erased) <- table.snapshot.erasure(name, one.column)
        } yield {
          val version = table.snapshot.version.number
          PmeErrors.fileErased(one.file, version.toString, key, erased.erased, erased.certificate)
        }
        erased.toSeq.headOption.fold(one)(why =>
          one.copy(condition = why.condition.name, message = why.problem)
        )
      } ++ sealedTables.flatMap(reopened(_, chosen, found.map(_.file).toSet))
    }
  }

  /** Files whose key was destroyed, and which open without a finding. */
  private def reopened(table: SealedTable, chosen: Seq[ListedFile], found: Set[String]): Seq[Finding] =
    for {
      file <- chosen if !found(file.path)
      name <- table.relative(new Path(file.path)).toSeq if table.snapshot.byPath.contains(name)
      (key, erased) <- table.snapshot.erasure(name).toSeq
    } yield finding(
      file.path,
      PmeErrors.snapshotMismatch(
        file.path,
        s"version ${table.snapshot.version.number} states that key '$key' was destroyed (${erased.erased}), and the file " +
          "opens: the KMS has the key again, or this process still holds it"
      )
    )

  private def isOfGone(finding: Finding) = Gone(finding.condition)

  /** Certificates of erasures that are not as the newest version states. Those of other tables are not looked for. */
  private def certificates(table: SealedTable): Seq[Finding] = {
    val manifest = table.snapshot.version.manifest
    val place = s"${manifest.location}/${ErasureNotes.Directory}/"
    manifest.erasures
      .filter(one =>
        one.certificate.startsWith(place) && ErasureNotes.isOwn(one.certificate.stripPrefix(place))
      )
      .flatMap { one =>
        val path =
          new Path(new Path(table.directory, ErasureNotes.Directory), one.certificate.stripPrefix(place))
        val differing =
          try {
            val sha256 = Sha256.hex(FileFacts.wholeFile(path, conf))
            if (sha256 == one.sha256) None else Some("this is another one")
          } catch {
            // Hadoop's local files that may not be read are not found, either.
            case failed: IOException =>
              val isThere = Try(path.getFileSystem(conf).exists(path)).getOrElse(true)
              Some(
                if (isThere) s"this cannot be read (${failed.getClass.getSimpleName})" else "this is missing"
              )
          }
        differing.map { why =>
          finding(
            path.toString,
            PmeErrors.snapshotMismatch(
              path.toString,
              s"version ${manifest.version} states a certificate of an erasure, and $why"
            )
          )
        }
      }
  }

  private def finding(file: String, failed: PmeException) =
    Finding(file, condition = failed.condition.name, message = failed.problem)

  /**
   * Requires that a table is as its snapshot lists it.
   *
   * @param all the files below the path
   * @param chosen those whose bytes to compare
   * @return whether it has a snapshot
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_…`
   */
  def requireAsSealed(path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]): Boolean = {
    val named = TableFiles.qualified(path.toString, conf)
    val sealedTables = tables(named).fold(failed => throw failed, identity)
    sealedTables.flatMap(different(_, named, all, chosen)).headOption.foreach { case (_, failed) =>
      throw failed
    }
    sealedTables.nonEmpty
  }

  private def tables(path: Path) = {
    val isFile = TableFiles.statusOf(path, conf).isFile
    Kms.answer(new SnapshotReads(options).tables(Seq(path), _ => isFile))
  }

  private def different(table: SealedTable, path: Path, all: Seq[ListedFile], chosen: Seq[ListedFile]) =
    listing(table, path, all) ++ bytes(table, chosen)

  /** The lists and indexes of the snapshot, by their digests: this needs none of their keys. */
  private def ownFiles(table: SealedTable): Seq[Finding] = {
    val directory = new SnapshotResolver(options).directory(table.directory)
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

private[admin] object SealedGuard {

  /** How a KMS refuses a key that is gone: some forget it. */
  private[seal] val Gone = Set(Condition.KeyDestroyed, Condition.KeyNotFound).map(_.name)

  /** The table of a path, if it is sealed. */
  def sealedTableOf(options: ResolvedOptions, path: Path): Option[Path] = {
    val snapshots = new SnapshotResolver(options)
    Some(TableFiles.tableOf(path, snapshots.conf)).filter(snapshots.directory(_).versions.nonEmpty)
  }

  /** @throws io.pmeparquet.PmeException if the path is not the directory of a whole table, as snapshots are of one */
  def requireTable(table: Path, conf: Configuration): Unit = {
    val owner = TableFiles.tableOf(table, conf)
    if (TableFiles.statusOf(table, conf).isFile || owner != table)
      throw PmeErrors.badSource(
        table.toString,
        s"it is a part of the table at $owner",
        "Give the table's directory."
      )
  }

  /** The newest version of a table that must have one: verified, and not older than what the session has seen. */
  def requireNewest(session: SparkSession, snapshots: TableSnapshots): Version = {
    val seen = SessionSnapshots.of(session).seen
    val table = snapshots.directory.table.toString
    val newest = snapshots.newest().getOrElse {
      seen.requireNone(snapshots.directory)
      throw PmeErrors.badSource(table, "it has no snapshot", "Check the path, and where its snapshots are.")
    }
    seen.note(snapshots.directory, newest, snapshots.requireOwnHistory)(snapshots.continues)
    newest
  }
}
