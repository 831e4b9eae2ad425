package io.pmeparquet.delta

import java.io.{FileNotFoundException, IOException}
import java.net.URI
import java.util.concurrent.{Callable, Executors}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.bytes.EncryptedFiles
import io.pmeparquet.spark.admin.LoggedFiles
import io.pmeparquet.spark.rules.ResolvedFactory
import io.pmeparquet.spark.session.{DeltaClasses, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * One file that Delta writes through [[io.pmeparquet.delta.PmeLogStore]]: a commit, a checkpoint in JSON, or a note of
 * Delta's own. ''Driver only.''
 *
 * @param conf the configuration of the session that writes
 */
private[delta] final class CommittedLog(file: Path, conf: Configuration) {
  import CommittedLog._

  /**
   * @return the lines to write
   * @throws io.pmeparquet.PmeException as [[CommitGuard]], and for a file that nobody knows, or a table that cannot be read
   */
  def checked(lines: Seq[String]): Seq[String] = {
    val log = ancestors.find(_.getName == Log)
    (log.map(_.getParent), file.getName) match {
      // Outside the log are only lists of the names of data files (GENERATE symlink_format_manifest).
      case (None, _) if ancestors.exists(_.getName == Manifests) => lines
      // They have numbers, and names of files and columns.
      case (Some(_), "_last_checkpoint" | "_last_vacuum_info") if isIn(log) => lines
      case (Some(table), Commit(version)) if isIn(log) => guarded(table, lines, Some(version.toLong))
      case (Some(table), Checkpoint()) if isIn(log) => guarded(table, lines, None)
      case (table, _) =>
        val settings = new DeltaSettings(conf)
        if (table.fold(settings.encrypts)(at => settings.namesKeys(before(session(at), at, None))))
          throw PmeErrors.deltaUnknown(file.toString, "this file")
        lines
    }
  }

  private def ancestors = above(file.getParent)

  private def above(path: Path) = Iterator.iterate(path)(_.getParent).takeWhile(_ != null)

  private def isIn(log: Option[Path]) = log.contains(file.getParent)

  private def session(table: Path) = SparkSession.getActiveSession
    .orElse(SparkSession.getDefaultSession)
    .getOrElse(throw PmeErrors.deltaUnknown(table.toString, "a writer without a Spark session"))

  private def guarded(table: Path, lines: Seq[String], version: Option[Long]) =
    try {
      new ResolvedFactory(session(table)).requireSession(table.toString)
      val guard = new CommitGuard(
        new DeltaSettings(conf),
        before(session(table), table, version),
        DeltaKeys.isAllowed(table),
        files => firstReadable(table, files),
        paths => sources(table, paths)
      )
      guard.checked(lines, version)
    } catch { case NonFatal(failed) if version.contains(0L) => removeEmptyLog(); throw failed }

  /** Delta has made directories by now, and would take a table without a version for a damaged one. */
  private def removeEmptyLog(): Unit = {
    val system = file.getFileSystem(conf)
    val log = file.getParent
    // No store deletes a directory that has files, so that a commit of another session stays.
    try {
      val inside = system.listStatus(log).toSeq.filter(_.isDirectory).map(_.getPath)
      (inside ++ Seq(log, log.getParent)).foreach(system.delete(_, false))
    } catch { case _: IOException => () }
  }

  /** Delta has the version before in memory, except when other commits came first. */
  private def before(session: SparkSession, table: Path, version: Option[Long]): DeltaTable = {
    val log = DeltaClasses.logAt(session, table, fileSystemOptions(session))
    val known = Option(DeltaClasses.ask(log, "unsafeVolatileSnapshot"))
      .filter(one => version.exists(_ - 1 == DeltaClasses.ask(one, "version").asInstanceOf[Long]))
    DeltaTable.ofSnapshot(table.toString, known.getOrElse(DeltaClasses.askWithDefaults(log, "update")))
  }

  /** The options of a frame for the file system, which the session does not have. */
  private def fileSystemOptions(session: SparkSession): Map[String, String] =
    conf.iterator.asScala
      .map(_.getKey)
      .filter(name => name.startsWith("fs.") || name.startsWith("dfs."))
      .map(name => name -> conf.get(name))
      .filterNot { case (name, value) => SparkAccess.valueOf(session, Map.empty, name).contains(value) }
      .toMap

  /** The tables that have files of such paths below them, and are not this one. */
  private def sources(table: Path, paths: Seq[String]): Seq[DeltaTable] = {
    def qualified(path: Path) = path.getFileSystem(conf).makeQualified(path)
    // Delta has paths of a table's own files as relative ones.
    paths
      .map(path => new Path(new URI(path)))
      .filter(_.isAbsolute)
      .map(_.getParent)
      .distinct
      .flatMap(above(_).find(one => one.getFileSystem(conf).exists(new Path(one, Log))))
      .map(qualified)
      .distinct
      .filter(_ != qualified(table))
      .map(source => before(session(source), source, None))
  }

  /** A file that is gone shows nothing. */
  private def firstReadable(table: Path, files: Seq[(String, Long)]): Option[String] = {
    def isReadable(path: Path, length: Long) =
      try !EncryptedFiles.isEncrypted(conf, path, length)
      catch { case _: FileNotFoundException => false }
    val at = files.map { case (path, length) => new Path(LoggedFiles.at(table.toString, path)) -> length }
    if (at.size < 2) at.collectFirst { case (path, length) if isReadable(path, length) => path.toString }
    else {
      val threads = Executors.newFixedThreadPool(Threads.min(at.size))
      try
        threads
          .invokeAll(at.map { case (path, length) =>
            new Callable[Option[String]] {
              override def call(): Option[String] = Some(path.toString).filter(_ => isReadable(path, length))
            }
          }.asJava)
          .asScala
          .flatMap(_.get)
          .headOption
      finally threads.shutdownNow()
    }
  }
}

private object CommittedLog {
  private val Log = "_delta_log"
  private val Manifests = "_symlink_format_manifest"
  private val Commit = """(\d{20})\.json""".r
  private val Checkpoint = """\d{20}\.checkpoint\.[0-9a-f-]{36}\.json""".r
  private val Threads = 16
}
