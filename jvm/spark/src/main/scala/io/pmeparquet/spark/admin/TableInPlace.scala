package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileWriter
import org.apache.spark.sql.types.LongType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, KeyPlan, LeafColumn}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.{FileSettings, PmeOptions}
import io.pmeparquet.parquet.copy.{
  Copied,
  EncryptedFile,
  FileInPlace,
  FileRewrite,
  InPlaceManifest,
  InPlaceRun
}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.snapshot.SealedFiles
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress, ResultRows, TableFiles}
import io.pmeparquet.spark.admin.seal.{SealedGuard, SealingJob}
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * A file that has not changed, in plaintext or encrypted before.
 *
 * @param condition why: a condition of ours, or the class of the exception
 */
final case class FailedFile(file: String, condition: String, message: String)

/**
 * What a run in place did.
 *
 * @param already how many files an earlier run had encrypted; this run has opened all their modules as well
 */
final class EncryptedInPlace(
    val made: Copied,
    val already: Long,
    val failed: java.util.List[FailedFile]
) {

  /** Fails as the first file that failed, and names the others. */
  private[admin] def requireAll(): Unit = failed.asScala.headOption.foreach { first =>
    val names = failed.asScala.map(_.file)
    val shown = names.take(EncryptedInPlace.MostNamed).mkString(", ")
    val more = if (names.size > EncryptedInPlace.MostNamed) ", …" else ""
    val count = names.size + made.files + already
    val others =
      s"${names.size} of $count files failed and are unchanged: $shown$more. Run this again to continue."
    throw FileFailure(first.condition, s"${first.message} $others").raised
  }
}

private[admin] object EncryptedInPlace {
  private val MostNamed = 20

  val results: ResultRows[EncryptedInPlace] = ResultRows
    .of[EncryptedInPlace]
    .required("files", LongType)(_.made.files)
    .required("rows", LongType)(_.made.rows)
    .required("pages", LongType)(_.made.pages)
    .required("bytes", LongType)(_.made.bytes)
    .required("already", LongType)(_.already)
}

/** Encrypts a table's files in place. ''Driver only'': only [[FileInPlace]] goes to executors. */
private[admin] final class TableInPlace(session: SparkSession, path: String, options: Map[String, String]) {
  import TableInPlace._

  private val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Copy)
  private val conf = SparkAccess.hadoopConf(session, options)
  private val from = TableFiles.qualified(path, conf)

  def run(): EncryptedInPlace = {
    val settings = resolved.writeSettings.files
    val table = TableFiles.tableOf(from, conf)
    val found = TableFiles.list(from, conf)
    refuseOthers(table, found)
    refuseUnseen(table, found)
    val files = found.files.sortBy(_.path)
    if (files.isEmpty)
      throw PmeErrors.badSource(from.toString, "it has no files", "Name the directory of a table, or a file.")
    FileRewrite.requirePrefixes(settings, files.map(file => new Path(file.path)))
    // The run compares encrypted files with everything that the options ask for, which includes the keys of columns.
    val read = ResolvedOptions
      .ofSource(session, allowingPlaintext(options), KeyPurpose.Copy)
      .readScopeWithoutColumns
    checkPartitions(files.map(within(table, _)), settings)
    val (columns, unreadable) = lookAt(files, read)
    if (columns.isEmpty) result(unreadable)
    else {
      checkLeaves(columns.flatMap(_._2), settings)
      val sealing = sealingOf(found.files)
      val done = encrypt(table, columns, unreadable, read)
      // If some files were not encrypted, readers refuse the table until its owner seals it again.
      if (done.forall(_._2.isRight))
        sealing.foreach(_.sealEncrypted(done.collect { case (file, Right(one)) =>
          within(table, file) -> one.footer
        }.toMap))
      result(done)
    }
  }

  /** What seals the table again, if it is sealed; its files are those that its newest version lists, byte by byte. */
  private def sealingOf(files: Seq[ListedFile]): Option[SealingJob] =
    SealedGuard.sealedTableOf(resolved, from).map { table =>
      if (table != from)
        throw PmeErrors.sealedTable(
          "encrypting a part of it in place",
          table.toString,
          "Encrypt the whole table."
        )
      val job = new SealingJob(resolved, table.toString)
      val prepared = job.prepareInPlace()
      val compared = files.filter { file =>
        SealedFiles.relative(from.toUri.getPath, new Path(file.path)).exists(prepared)
      }
      new SealedGuard(resolved).requireAsSealed(from, files, compared)
      job
    }

  /** The columns of each file, and the files that do not open: those do not change, and do not stop the others. */
  private def lookAt(files: Seq[ListedFile], read: ReadScope) = {
    val looked = FileJob.each(session, conf, files) { (file, conf) =>
      // A list, because this crosses the wire: Scala 2.12 makes a lazy stream for a sequence.
      val path = new Path(file.path)
      ByFormat.onlyParquet(path, conf)(FileRewrite.leaves(read, conf, path).toList)
    }
    val columns = looked.collect { case (file, Right(leaves)) => file -> leaves }
    val unreadable: Seq[Done] = looked.collect { case (file, Left(failure)) => file -> Left(failure) }
    columns -> unreadable
  }

  /** @param unreadable files that this does not encrypt, because they do not open */
  private def encrypt(
      table: Path,
      columns: Seq[(ListedFile, List[LeafColumn])],
      unreadable: Seq[Done],
      read: ReadScope
  ): Seq[Done] = {
    val files = columns.map(_._1)
    val leaves = columns.flatMap(_._2).distinct
    val write = resolved.writeScope(conf, table, files.map(file => new Path(file.path)), leaves)
    val check = resolved.readScopeWithoutColumns
    val like = from.getFileSystem(conf).getFileStatus(new Path(files.head.path))
    val run = InPlaceRun.begin(table, InPlaceManifest.of(write, from), like, conf)
    val step = Progress.step(session, "encrypting", files.size, files.map(_.length).sum)
    var complete = !run.goesOn
    try {
      // This checks again, because only now other operations see the mark of this one.
      TableFiles.requireNoOtherMark(from, TableFiles.list(from, conf).marks, InPlaceRun.mark(table), conf)
      complete = false
      step.begin()
      val encryption = new FileInPlace(read, write, check, run)
      val done = unreadable ++ FileJob.eachWhole(session, conf, files)(_.length) { (file, conf) =>
        step.counting(file.length)(encryption.encrypt(file, conf, () => FileJob.goOn("the encryption")))
      }
      val now = TableFiles.list(from, conf).files
      val all = done ++ added(now, done.map(_._1))
      // If Spark lost the answer of a task, the file shows whether the task replaced it.
      val untouched = now.toSet == done.map(_._1).toSet
      complete = all.forall(_._2.isRight) || !run.goesOn && untouched
      all
    } finally run.end(complete, conf)
  }

  private def added(now: Seq[ListedFile], before: Seq[ListedFile]): Seq[Done] = {
    val known = before.map(_.path).toSet
    now.filterNot(file => known.contains(file.path)).map { file =>
      file -> Left(FileFailure.of(PmeErrors.addedMeanwhile(file.path)))
    }
  }

  private def refuseOthers(table: Path, found: TableFiles): Unit = {
    TableFiles.logs(from, found, conf).headOption.foreach { log =>
      throw refused(s"${log.path} records the lengths of its files", log.remedy("Encrypt to a copy."))
    }
    TableFiles.requireNoOtherMark(from, found.marks, InPlaceRun.mark(table), conf)
    TableFiles.requireNoLinks(from, found, conf)
  }

  /** Fails if there are files that would stay in plaintext because of a hidden name. */
  private def refuseUnseen(table: Path, found: TableFiles): Unit = {
    val (summaries, others) =
      found.passedOver
        .map(_.getPath)
        .flatMap(TableFiles.anyFileOf(_, conf))
        .partition(path => Summaries.contains(path.getName))
    val above = Summaries.map(new Path(table, _)).filter(path => path.getFileSystem(conf).exists(path))
    (summaries ++ above).headOption.foreach { summary =>
      throw refused(s"$summary has statistics of its files in plaintext", "Delete it, and run this again.")
    }
    others.headOption.foreach { file =>
      throw refused(
        s"readers ignore $file because of its name, so it would stay in plaintext",
        "Delete what failed writes left, or move it elsewhere, and run this again."
      )
    }
  }

  private def refused(why: String, remedy: String) =
    PmeErrors.unsupported(from.toString, "encrypting this table in place", why, remedy)

  private def within(table: Path, file: ListedFile) =
    new Path(file.path).toUri.getPath.stripPrefix(table.toUri.getPath.stripSuffix("/") + "/")

  private def result(done: Seq[Done]) = {
    val some = done.collect { case (_, Right(one)) => one }
    val failed = new java.util.ArrayList[FailedFile]
    done.foreach {
      case (file, Left(failure)) => failed.add(FailedFile(file.path, failure.condition, failure.message))
      case _ => ()
    }
    new EncryptedInPlace(some.map(_.made).fold(Copied(0, 0, 0, 0))(_ + _), some.map(_.already).sum, failed)
  }
}

private[admin] object TableInPlace {
  type Done = (ListedFile, Either[FileFailure, EncryptedFile])

  val Summaries: Seq[String] =
    Seq(ParquetFileWriter.PARQUET_METADATA_FILE, ParquetFileWriter.PARQUET_COMMON_METADATA_FILE)

  /** The same options, with `plaintextFiles=allow`: the table may have files that are not encrypted yet. */
  def allowingPlaintext(options: Map[String, String]): Map[String, String] = {
    val name = PmeOptions.PlaintextFiles.name
    options.filterNot(_._1.equalsIgnoreCase(name)) + (name -> "allow")
  }

  /**
   * Fails if a column key names a partition column.
   *
   * @param files paths within the directory
   */
  def checkPartitions(files: Seq[String], settings: FileSettings): Unit =
    checkPartitions(files, settings.columnKeys, settings.caseSensitive)

  def checkPartitions(files: Seq[String], keys: Option[ColumnKeys], caseSensitive: Boolean): Unit = {
    val partitions = files.flatMap(file => WriteRules.partitionColumns(new Path("/t/" + file), "/t")).distinct
    KeyPlan.checkPartitions(partitions, keys, caseSensitive)
  }

  /**
   * Fails if a column key names no column of any file, as a write checks its one schema.
   *
   * @param leaves the leaf columns of all files
   */
  def checkLeaves(leaves: Seq[LeafColumn], settings: FileSettings): Unit = {
    KeyPlan.of(leaves.distinct, settings.columnKeys, settings.unlisted, settings.caseSensitive)
    ()
  }
}
