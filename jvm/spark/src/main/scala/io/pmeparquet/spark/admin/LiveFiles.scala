package io.pmeparquet.spark.admin

import java.lang.reflect.InvocationTargetException
import java.net.{URI, URISyntaxException}

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{Dataset, SparkSession}
import org.apache.spark.sql.connector.catalog.TableProvider
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.types.StructType

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

/**
 * The files that are part of a version of a Delta table. Delta's own protocol decides: the Delta of the session, if it has
 * one; otherwise Python asks the package `deltalake`. Without either, this is an error: the directory also has files that
 * are no longer live. ''Driver only.''
 *
 * @param by who says which files are live
 * @param lengths the length of each live file, as the log has it
 * @param metadata the table's `metaData` action in JSON, if Delta has read it
 */
private[admin] final case class LiveFiles(
    table: Path,
    version: Long,
    by: String,
    lengths: Map[Path, Long],
    metadata: Option[String] = None
)

/** For Python, which passes what `deltalake` says. */
object LiveFiles {
  private val Deltas = "org.apache.spark.sql.delta."
  private val BySession = "the session's Delta"

  /**
   * The Delta table that a path is, or is a part of, if this session has no Delta to say which files are live; null
   * otherwise.
   */
  def undecided(session: SparkSession, path: String, options: java.util.Map[String, String]): String =
    PmeSparkException.translated {
      if (source(session).isDefined) null
      else {
        val conf = SparkAccess.hadoopConf(session, options.asScala.toMap)
        val named = TableFiles.qualified(path, conf)
        // The operation itself says that nothing is there, after it has checked its other arguments.
        if (!named.getFileSystem(conf).exists(named)) null
        else TableFiles.logsAbove(named, conf).find(_.isOfDelta).map(_.table.toString).orNull
      }
    }

  /**
   * @param paths of the live files, as the log has them: URLs, absolute or relative to the table
   * @param by who says so
   */
  def reported(
      session: SparkSession,
      table: String,
      version: Long,
      by: String,
      paths: java.util.List[String],
      lengths: java.util.List[_ <: Number]
  ): AnyRef = PmeSparkException.translated {
    val root = TableFiles.qualified(table, SparkAccess.hadoopConf(session, Map.empty))
    of(root, version, by, paths.asScala.toSeq.zip(lengths.asScala.map(_.longValue)))
  }

  /**
   * What the session's Delta says of a table; null if the session has none.
   *
   * @throws io.pmeparquet.PmeException if it cannot read the table
   */
  def read(session: SparkSession, table: String, options: java.util.Map[String, String]): LiveNames =
    PmeSparkException.translated {
      val wanted = options.asScala.toMap
      val place = TableFiles.qualified(table, SparkAccess.hadoopConf(session, wanted))
      if (source(session).isEmpty) null else new LiveNames(ask(session, place, wanted))
    }

  /** @param live from [[reported]], or null */
  private[admin] def ofPython(live: AnyRef): Option[LiveFiles] = Option(live).map(_.asInstanceOf[LiveFiles])

  /** @throws io.pmeparquet.PmeException if the session has no Delta, or its Delta cannot read the table */
  private[admin] def ask(session: SparkSession, table: Path, options: Map[String, String]): LiveFiles =
    source(session) match {
      case None => throw PmeErrors.noDelta(table.toString)
      case Some(delta) =>
        try asActive(session)(bySession(delta, table, options))
        catch {
          case ours: PmeException => throw ours
          case failed @ (NonFatal(_) | _: LinkageError) =>
            // A message of Delta may repeat parts of the log.
            val why =
              PmeException.find(failed).fold(s"the session's Delta failed with ${failed.getClass.getName}") {
                ours => s"the session's Delta cannot read the log: ${PmeException.firstLine(ours)}"
              }
            throw PmeErrors.unreadableLog(table.toString, why, failed)
        }
    }

  private def bySession(delta: Class[_], table: Path, options: Map[String, String]) = {
    val provider = delta.getDeclaredConstructor().newInstance().asInstanceOf[TableProvider]
    val storage = options.filter { case (name, _) => name.startsWith("fs.") || name.startsWith("dfs.") }
    val asked = (storage + ("path" -> table.toString)).asJava
    val snapshot =
      ask(provider.getTable(new StructType, Array.empty[Transform], asked), "initialSnapshot")
    val log = ask(snapshot, "path").asInstanceOf[Path]
    val version = ask(snapshot, "version").asInstanceOf[Long]
    // Delta takes some names of directories for other versions, or for partitions of a table above.
    if (log.getParent != table || version < 0)
      throw PmeErrors.unreadableLog(
        table.toString,
        "its log has no version that the session's Delta finds"
      )
    val files = ask(snapshot, "allFiles").asInstanceOf[Dataset[_]].toDF().select("path", "size").collect()
    of(table, version, BySession, files.toSeq.map(file => file.getString(0) -> file.getLong(1)))
      .copy(metadata = Some(ask(ask(snapshot, "metadata"), "json").asInstanceOf[String]))
  }

  private def of(table: Path, version: Long, by: String, files: Seq[(String, Long)]) =
    LiveFiles(table, version, by, files.map { case (path, length) => resolved(table, path) -> length }.toMap)

  private def resolved(table: Path, path: String) = {
    val named =
      try new Path(new URI(path))
      catch {
        case _: URISyntaxException =>
          throw PmeErrors.unreadableLog(table.toString, "its log has a path that is no URL")
      }
    // A clone may have files of another file system.
    val scheme = named.toUri.getScheme
    if (!named.isAbsolute) new Path(table, named)
    else if (scheme == null || scheme == table.toUri.getScheme) named.makeQualified(table.toUri, table)
    else named
  }

  /** Delta's source, if the session has Delta. */
  private def source(session: SparkSession): Option[Class[_]] =
    try
      Some(DataSource.lookupDataSource("delta", SparkAccess.sqlConf(session))).filter { found =>
        found.getName.startsWith(Deltas) && classOf[TableProvider].isAssignableFrom(found)
      }
    catch { case NonFatal(_) | _: LinkageError => None }

  private def ask(of: AnyRef, name: String): AnyRef =
    try of.getClass.getMethod(name).invoke(of)
    catch { case failed: InvocationTargetException => throw failed.getCause }

  /** Delta asks for the active session, which may be another one in this thread. */
  private def asActive[A](session: SparkSession)(work: => A): A = {
    val before = SparkSession.getActiveSession
    SparkSession.setActiveSession(session)
    try work
    finally before.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
  }
}

/** What Delta says of a table, for Python. */
final class LiveNames private[admin] (files: LiveFiles) {
  def version: Long = files.version
  def by: String = files.by

  /** The table's `metaData` action, as in a line of a commit. */
  def metadata: String = files.metadata.orNull

  /** The paths of the live files: below the table if they are there, otherwise absolute. */
  def names: Array[String] = {
    val directory = files.table.toString.stripSuffix("/") + "/"
    files.lengths.keys.map(_.toString.stripPrefix(directory)).toArray
  }
}
