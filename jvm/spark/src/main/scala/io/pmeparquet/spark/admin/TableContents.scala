package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{TableFiles, TableLog}
import io.pmeparquet.PmeErrors

/**
 * The files at or below a path, for who looks at all of them: those of Delta tables, whose log says which are live, and all
 * others. ''Driver only.''
 *
 * @param bare files of tables without a log: all of them are part of the table
 */
private[admin] final case class TableContents(bare: Seq[ListedFile], tables: Seq[DeltaContents]) {

  /** What a reader of the tables reads. */
  def live: Seq[ListedFile] = bare ++ tables.flatMap(_.live)

  /** What else may have rows. */
  def others: Seq[ListedFile] = tables.flatMap(table => table.notLive ++ table.changes)
}

/**
 * The files of a Delta table, or of the part of it that is looked at.
 *
 * @param log which files are live, and by whom this is known
 * @param live the live files that exist
 * @param missing the live files that do not exist
 * @param notLive files that the table's newest version does not have
 * @param changes files of the change data feed
 * @param checkpoints Parquet files of the log; none if only a partition is looked at
 * @param vectors the number of files of deletion vectors, which have no encryption
 */
private[admin] final case class DeltaContents(
    log: LiveFiles,
    live: Seq[ListedFile],
    missing: Seq[Path],
    notLive: Seq[ListedFile],
    changes: Seq[ListedFile],
    checkpoints: Seq[ListedFile],
    vectors: Int
) {
  def elsewhere: Int = live.count(file => !DeltaContents.isBelow(log.table, new Path(file.path)))

  /** The live files whose length is not the one in the log. */
  def otherLengths: Seq[(ListedFile, Long)] =
    live.map(file => file -> log.lengths(new Path(file.path))).filter { case (file, logged) =>
      file.length != logged
    }
}

private[admin] object TableContents {

  /**
   * @param live what Python knows of the table that the path is or is a part of; otherwise the session's Delta is asked
   * @throws io.pmeparquet.PmeException for a part of an Iceberg or Hudi table, and for a Delta table if
   *   nothing shows which files are live
   */
  def of(
      session: SparkSession,
      path: Path,
      conf: Configuration,
      options: Map[String, String],
      live: Option[LiveFiles]
  ): TableContents = {
    val named = TableFiles.qualified(path.toString, conf)
    val found = TableFiles.list(named, conf)
    if (TableFiles.statusOf(named, conf).isFile) TableContents(found.files, Nil)
    else {
      val every = TableFiles.logs(named, found, conf).distinct
      requireOneLog(named, every)
      val logs = every.filterNot(_.isOfSpark)
      val deltas = logs.filter(_.isOfDelta)
      // A Delta table may have metadata for readers of Iceberg, too.
      logs.filterNot(log => deltas.exists(_.table == log.table)).filterNot(_.isOfDelta).foreach { log =>
        throw if (log.isOfHudi) PmeErrors.hudiTable(named.toString)
        else PmeErrors.icebergTable(named.toString)
      }
      val owned = found.files.groupBy(file => deltas.filter(_.keeps(file)).sortBy(_.table.depth).lastOption)
      TableContents(
        owned.getOrElse(None, Nil),
        deltas.map { log =>
          val own = live.filter(_.table == log.table).getOrElse(LiveFiles.ask(session, log.table, options))
          DeltaContents.of(named, own, owned.getOrElse(Some(log), Nil), conf)
        }
      )
    }
  }

  /** Which log counts would be chance, and with it which files are live. */
  private def requireOneLog(path: Path, logs: Seq[TableLog]): Unit =
    logs.filterNot(_.isOfIceberg).groupBy(_.table).find(_._2.size > 1).foreach { case (table, several) =>
      val inTable = if (table == path) "it" else table.toString
      throw PmeErrors.severalLogs(path.toString, inTable, several.map(_.path.getName).sorted)
    }
}

private[admin] object DeltaContents {
  private val Log = "_delta_log"
  private val Changes = "_change_data"
  private val Sidecars = "_sidecars"

  /**
   * @param path the table, a partition of it, or a directory with tables
   * @param listed the files of the table below the path
   */
  def of(path: Path, log: LiveFiles, listed: Seq[ListedFile], conf: Configuration): DeltaContents = {
    val wanted =
      if (isBelow(log.table, path)) log.lengths.keySet.filter(isBelow(path, _)) else log.lengths.keySet
    val (live, others) = listed.partition(file => wanted(new Path(file.path)))
    // A clone has files of another table.
    val unlisted = wanted -- live.map(file => new Path(file.path))
    val further = TableFiles.at(unlisted, conf)
    val (vectors, notLive) = others.partition(isVector)
    val isWhole = !isBelow(log.table, path)
    DeltaContents(
      log,
      live ++ further,
      (unlisted -- further.map(file => new Path(file.path))).toSeq.sortBy(_.toString),
      notLive.filterNot(file => isOfIceberg(log.table, new Path(file.path))),
      if (isWhole) below(new Path(log.table, Changes), conf) else Nil,
      if (isWhole) checkpoints(new Path(log.table, Log), conf) else Nil,
      vectors.size
    )
  }

  /** Whether a path is below a directory, and not the directory itself. */
  def isBelow(directory: Path, path: Path): Boolean =
    path.toString.startsWith(s"${directory.toString.stripSuffix("/")}/")

  private def isVector(file: ListedFile) = {
    val name = new Path(file.path).getName
    name.startsWith("deletion_vector_") && name.endsWith(".bin")
  }

  /** Metadata that Delta writes for readers of Iceberg. */
  private def isOfIceberg(table: Path, file: Path) =
    isBelow(new Path(table, "metadata"), file) && !file.getName.endsWith(".parquet")

  private def below(directory: Path, conf: Configuration) =
    if (directory.getFileSystem(conf).exists(directory)) TableFiles.list(directory, conf).files else Nil

  /** Files that are not Parquet have no encryption, and `pme.delta.check` says what they show. */
  private def checkpoints(log: Path, conf: Configuration) =
    (TableFiles.list(log, conf).files ++ below(new Path(log, Sidecars), conf))
      .filter(_.path.endsWith(".parquet"))
}

/** What was found of a Delta table, for Python. */
final class DeltaSeen private[admin] (contents: DeltaContents) {
  def table: String = contents.log.table.toString
  def version: Long = contents.log.version
  def by: String = contents.log.by
  def live: Int = contents.live.size + contents.missing.size
  def missing: Int = contents.missing.size
  def elsewhere: Int = contents.elsewhere
  def notLive: Int = contents.notLive.size
  def changes: Int = contents.changes.size
  def checkpoints: Int = contents.checkpoints.size
  def vectors: Int = contents.vectors
}
