package io.pmeparquet.delta

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.connector.catalog.TableChange
import org.apache.spark.sql.types.DataType

import io.pmeparquet.options.DeltaNames
import io.pmeparquet.spark.session.{DeltaClasses, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * A Delta table as the session's own Delta sees it. Nothing here reads the log: Delta's classes do, and Delta's commands write
 * it. They run in a session of their own, which shares nothing with the user's but the Spark context, so the user's settings
 * stay. ''Driver only.''
 *
 * @param table a name, a directory, or Delta's form of one
 */
private[delta] final class SessionTable(users: SparkSession, table: String) extends RewritableTable {
  import SessionTable._

  try DeltaClasses.named("DeltaLog")
  catch { case failed: ClassNotFoundException => throw PmeErrors.deltaNotThere(table, failed) }

  val session: SparkSession = DeltaClasses.ask(users, "cloneSession").asInstanceOf[SparkSession]

  // Delta reads the log in 50 tasks, in each of some ten steps: on few cores, these took half of the time.
  if (session.conf.getOption(Partitions).isEmpty)
    session.conf.set(Partitions, session.sparkContext.defaultParallelism.min(DeltasPartitions).toString)

  override val path: String = found

  if (newest < 0) throw PmeErrors.noDeltaTable(path, "it has no _delta_log")

  /** Runs a step with this session as the thread's, whose settings Delta reads. */
  def active[A](step: => A): A = {
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try step
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }

  private def found: String = table match {
    case DeltasPath(directory) => qualified(directory.replace("``", "`"))
    case directory if directory.contains("/") => qualified(directory)
    case name => locationOf(name)
  }

  private def qualified(directory: String) = {
    val path = new Path(directory)
    path.getFileSystem(configuration).makeQualified(path).toString
  }

  private def locationOf(name: String) = {
    val row =
      try {
        val parts = session.sessionState.sqlParser.parseMultipartIdentifier(name)
        session.sql(s"DESCRIBE DETAIL ${parts.map(quoted).mkString(".")}").select("format", "location").head()
      } catch {
        case NonFatal(failed) => throw PmeErrors.noDeltaTable(name, "there is no such table", failed)
      }
    if (row.getString(0) != "delta") throw PmeErrors.noDeltaTable(name, s"its format is ${row.getString(0)}")
    row.getString(1)
  }

  def configuration: Configuration = SparkAccess.hadoopConf(session, Map.empty)

  private def log = DeltaClasses.logAt(session, new Path(path), Map.empty)

  def version: Version = {
    val snapshot = DeltaClasses.askWithDefaults(log, "update")
    new Version(
      DeltaClasses.ask(snapshot, "version").asInstanceOf[Long],
      DeltaTable.ofSnapshot(path, snapshot),
      snapshot
    )
  }

  override def newest: Long = version.number

  /** The columns of liquid clustering. */
  def clustering: Seq[String] = {
    val detail = session.sql(s"DESCRIBE DETAIL $name")
    if (!detail.columns.contains("clusteringColumns")) Nil
    else Option(detail.select("clusteringColumns").head().getSeq[String](0)).toSeq.flatten
  }

  /** Sets properties, and removes others in a second commit. */
  def alter(changed: Map[String, String], removed: Seq[String]): Unit = {
    // Delta does not know the names of its draft yet. The table has them.
    if (changed.keys.exists(DeltaNames.concerns)) session.conf.set(Arbitrary, "true")
    val set = changed.toSeq.map { case (name, value) => TableChange.setProperty(name, value) }
    Seq(set, removed.map(TableChange.removeProperty)).foreach(DeltaKeys.change(session, path, _))
  }

  override def rewrite(order: Option[String], text: String): (Long, Long) = {
    // Delta refuses to order by a column without statistics, and an encrypted one has none.
    session.conf.set(OfStatistics, "false")
    session.conf.set(PlaintextFiles, "allow")
    val own = session.conf.getOption(UserMetadata)
    session.conf.set(UserMetadata, own.fold(text)(before => s"$before $text"))
    val row =
      try
        session
          .sql(s"OPTIMIZE $name ${order.fold("FULL")(by => s"ZORDER BY (${quoted(by)})")}")
          .select("metrics.*")
          .head()
      finally own.fold(session.conf.unset(UserMetadata))(session.conf.set(UserMetadata, _))
    (row.getAs[Long]("numFilesRemoved"), row.getAs[Long]("numFilesAdded"))
  }

  override def commits(text: String, after: Long): Seq[Long] = {
    val count = newest - after
    if (count <= 0) Nil
    else {
      val history = session
        .sql(s"DESCRIBE HISTORY $name LIMIT $count")
        .where(s"version > $after")
        .select("version", "userMetadata")
        .collect()
      if (history.length < count) throw new NoSuchElementException(s"commits after version $after")
      history
        .collect {
          case row if Option(row.getString(1)).exists(_.endsWith(text)) => row.getLong(0)
        }
        .sorted
        .toSeq
    }
  }

  override def content(version: Long): (Long, String) = {
    session.conf.set(PlaintextFiles, "allow")
    val rows = session.sql(s"SELECT * FROM $name VERSION AS OF $version")
    val parts = rows.schema.fields.map { field =>
      if (hasMap(field.dataType)) s"to_json(struct(${quoted(field.name)}))" else quoted(field.name)
    }
    val hash = s"CAST(sum(CAST(xxhash64(${parts.mkString(", ")}) AS DECIMAL(20, 0))) AS STRING)"
    val row = rows.selectExpr("count(*)", hash).head()
    row.getLong(0) -> row.getString(1)
  }

  // Spark hashes no maps.
  private def hasMap(kind: DataType) = kind.catalogString.contains("map<")

  override def placeOf(mark: String): String = s"$path/$Marks/$mark"

  override def marks: Seq[String] = {
    val place = new Path(path, Marks)
    val files = place.getFileSystem(configuration)
    if (files.exists(place)) files.listStatus(place).toSeq.map(_.getPath.getName) else Nil
  }

  override def mark(name: String): Unit = {
    val place = new Path(placeOf(name))
    place.getFileSystem(configuration).create(place, false).close()
  }

  override def unmark(name: String): Unit = {
    val place = new Path(placeOf(name))
    val files = place.getFileSystem(configuration)
    files.delete(place, false)
    if (marks.isEmpty) files.delete(place.getParent, false)
  }

  /**
   * Writes a checkpoint of the newest version.
   *
   * @throws io.pmeparquet.PmeException if there is none afterwards: Delta only logs a warning
   */
  def checkpoint(): Unit = {
    val wanted = newest
    val of = log
    DeltaClasses.ask(of, "checkpoint")
    val last = DeltaClasses.ask(of, "readLastCheckpointFile").asInstanceOf[Option[AnyRef]]
    if (!last.exists(DeltaClasses.ask(_, "version").asInstanceOf[Long] >= wanted))
      throw PmeErrors.deltaNoCheckpoint(path)
  }
}

private[delta] object SessionTable {
  private val OfStatistics = "spark.databricks.delta.optimize.zorder.checkStatsCollection.enabled"
  private val UserMetadata = "spark.databricks.delta.commitInfo.userMetadata"
  private val Partitions = "spark.databricks.delta.snapshotPartitions"
  private val DeltasPartitions = 50
  private val PlaintextFiles = "pme-parquet.plaintextFiles"
  private val Arbitrary = "spark.databricks.delta.allowArbitraryProperties.enabled"
  private val Marks = "_pme_encrypting"
  private val DeltasPath = "delta\\.`(.*)`".r

  private def quoted(name: String) = "`" + name.replace("`", "``") + "`"

  /**
   * A version of a table.
   *
   * @param snapshot Delta's own
   */
  final class Version(val number: Long, val table: DeltaTable, snapshot: AnyRef) {

    /** Its live files, with the columns of the action `add`. */
    def files: DataFrame = DeltaClasses.ask(snapshot, "allFiles").asInstanceOf[Dataset[_]].toDF()

    def paths: Set[String] = files.select("path").toLocalIterator().asScala.map(_.getString(0)).toSet

    /** The number of files that were removed, and that VACUUM has not deleted yet as far as the log says. */
    def removed: Long = DeltaClasses.ask(snapshot, "tombstones").asInstanceOf[Dataset[_]].count()

    /** The properties that say how its files are encrypted. */
    def keys: Map[String, String] = table.properties.filter { case (name, _) => DeltaTable.isOwn(name) }
  }
}
