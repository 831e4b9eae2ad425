package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.Path
import org.apache.parquet.hadoop.ParquetFileWriter
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.rekey.{Copied, Encrypted, FileInPlace, InPlaceManifest, InPlaceRun}
import io.pmeparquet.parquet.rotation.{ListedFile, RotationMark}
import io.pmeparquet.spark.{ConfResolver, SparkAccess}
import io.pmeparquet.PmeErrors

/** A file that keeps its plaintext, and why: a condition of ours, or the name of what was thrown. */
final case class FailedFile(file: String, condition: String, message: String)

/**
 * What a run in place did.
 *
 * @param already how many files an earlier run had encrypted; all modules of these were opened, too
 */
final class EncryptedInPlace(
    val made: Copied,
    val already: Long,
    val failed: java.util.List[FailedFile]
)

/** The encryption of a table's files in their places. ''Driver only'': of it, [[FileInPlace]] goes to executors. */
private[admin] final class TableInPlace(session: SparkSession, path: String, options: Map[String, String]) {
  import TableInPlace._

  private val resolver = new ConfResolver(session)
  private val conf = SparkAccess.hadoopConf(session, options)
  private val from = TableFiles.qualified(path, conf)

  def run(): EncryptedInPlace = {
    val settings = resolver.writeSettings(options, conf).files
    val table = TableFiles.tableOf(from, conf)
    val found = TableFiles.list(from, conf)
    refuseOthers(table, found.logs ++ TableFiles.logsAbove(from, conf))
    refuseSummaries(table)
    val files = found.files.sortBy(_.path)
    if (files.isEmpty)
      throw PmeErrors.badSource(from.toString, "it has no files", "Name the directory of a table, or a file.")
    val read = resolver.read(TableCopies.allowingPlaintext(options))
    TableColumns.check(session, files.map(within(table, _)), table, read, shared, settings)
    val write = resolver.write(options, conf, table)
    val check = resolver.read(options)
    val like = from.getFileSystem(conf).getFileStatus(new Path(files.head.path))
    val run = InPlaceRun.begin(table, InPlaceManifest.of(write), like, conf)
    val step = Progress.step(session, "encrypting", files.size, files.map(_.length).sum)
    step.begin()
    var complete = false
    try {
      val encryption = new FileInPlace(read, write, check, run)
      val done = FileJob.each(session, conf, files, FileJob.MaxTasks) { (file, conf) =>
        step.counting(file.length)(encryption.encrypt(file, conf, () => FileJob.goOn("the encryption")))
      }
      complete = done.forall(_._2.isRight) || !run.goesOn && !done.exists(_._2.exists(_.made.files > 0))
      result(done)
    } finally run.end(complete, conf)
  }

  private def refuseOthers(table: Path, logs: Seq[TableLog]): Unit = {
    logs.headOption.foreach { log =>
      throw PmeErrors.unsupported(
        from.toString,
        "encrypting this table in place",
        s"${log.path} keeps the lengths of its files",
        "Encrypt to a copy, or write the table anew with the tool that it belongs to."
      )
    }
    RotationMark.of(table, conf).foreach { mark =>
      throw PmeErrors.rotationBefore(table.toString, mark.toString)
    }
  }

  /** They have statistics of all files, and hidden names. */
  private def refuseSummaries(table: Path): Unit =
    Summaries.map(new Path(table, _)).find(path => path.getFileSystem(conf).exists(path)).foreach { summary =>
      throw PmeErrors.unsupported(
        from.toString,
        "encrypting this table in place",
        s"$summary has statistics of its files in plaintext",
        "Delete it, and run this again."
      )
    }

  private def within(table: Path, file: ListedFile) =
    new Path(file.path).toUri.getPath.stripPrefix(table.toUri.getPath.stripSuffix("/") + "/")

  private def shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))

  private def result(done: Seq[(ListedFile, Either[FileFailure, Encrypted])]) = {
    val some = done.collect { case (_, Right(one)) => one }
    val failed = new java.util.ArrayList[FailedFile]
    done.foreach {
      case (file, Left(failure)) => failed.add(FailedFile(file.path, failure.condition, failure.message))
      case _ => ()
    }
    new EncryptedInPlace(some.map(_.made).fold(Copied(0, 0, 0, 0))(_ + _), some.map(_.already).sum, failed)
  }
}

private object TableInPlace {
  val Summaries: Seq[String] =
    Seq(ParquetFileWriter.PARQUET_METADATA_FILE, ParquetFileWriter.PARQUET_COMMON_METADATA_FILE)
}
