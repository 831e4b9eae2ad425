package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.{KeyNames, LeafColumn}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.options.{ParquetNames, PmeOptions}
import io.pmeparquet.parquet.inspect.FileUsage
import io.pmeparquet.snapshot.manifest.TablePolicy
import io.pmeparquet.spark.admin.job.TableFiles
import io.pmeparquet.spark.keys.SessionKeys
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshot.SnapshotReads

/** The keys of a table that rows are written to. ''Driver only.'' */
object TableKeys {
  private val log = LoggerFactory.getLogger("io.pmeparquet")

  /**
   * For Python. The keys that the newest snapshot of a table states, for a write that names none. The seal is checked as
   * in a read: whoever could forge a snapshot could choose the keys.
   *
   * @param options of the write
   * @return options as JSON; empty if keys are named, or the table has no snapshot
   */
  def ofSnapshot(session: SparkSession, path: String, options: java.util.Map[String, String]): String =
    PmeSparkException.translated {
      val asked = options.asScala.toMap
      if (ResolvedOptions.ofFrame(session, asked).namesKeys) ""
      else {
        // What the write does to the snapshot afterwards is nothing that a read knows.
        val ofRead = asked.filterNot { case (name, value) =>
          name.equalsIgnoreCase("snapshot") && value.equalsIgnoreCase("update")
        }
        val reading = ResolvedOptions.ofOperation(session, ofRead, KeyPurpose.Inspect)
        val table = TableFiles.qualified(path, reading.conf)
        val found = new SnapshotReads(reading).tables(Seq(table), _ => false)
        found.find(_.directory == table).fold("") { one =>
          val manifest = one.snapshot.version.manifest
          val keys = keysOf(path, manifest.policy)
          val json = new ObjectMapper().writeValueAsString(keys.asJava)
          log.warn(
            s"$path: the write names no keys, so it uses those of snapshot ${one.snapshot.version.number}: $json"
          )
          json
        }
      }
    }

  /**
   * For Python: makes the KMS wrap again for writes by our crypto factory. Statements of this application that begin
   * from now on use no key-encryption key from before, whatever their session.
   *
   * @param session may not have a generation of its own, which would count more
   */
  def beginAnew(session: SparkSession): Unit = SessionKeys.begin(session)

  private def keysOf(path: String, policy: TablePolicy): Map[String, AnyRef] = {
    val footer = policy.footerKey.getOrElse(throw PmeErrors.noKey)
    val readable = policy.columns.collect { case (column, None) => column.mkString(".") }
    // An option can name the columns of a key, and none can name these.
    if (readable.nonEmpty) throw PmeErrors.keysOfSnapshot(path, readable)
    val own = policy.columns.collect { case (column, Some(key)) if key != footer => key -> column }
    val columns = own.groupBy(_._1).map { case (key, found) =>
      key -> found.map(_._2.map(LeafColumn.quoted).mkString(".")).asJava
    }
    Map("footerKey" -> footer) ++ (if (columns.isEmpty) Map.empty else Map("columnKeys" -> columns.asJava))
  }

  /**
   * For Python. Warns if a write to an existing table names other keys than a file of it has, as after a rotation
   * that the writer does not know. Ignores a file that does not open: this is advice, and refuses nothing.
   *
   * @param options of the write
   */
  def warnOfOthers(session: SparkSession, path: String, options: java.util.Map[String, String]): Unit =
    try {
      val asked = options.asScala.toMap
      val conf = SparkAccess.hadoopConf(session, asked)
      val table = TableFiles.qualified(path, conf)
      val fs = table.getFileSystem(conf)
      if (fs.exists(table)) oneFile(table, fs).foreach { file =>
        val named = ResolvedOptions.ofFrame(session, asked).writeSettings.files.masterKeys
        // On a read, the names of keys would refuse what has others.
        val reading = asked.filterNot { case (name, _) => OfWrites.exists(_.equalsIgnoreCase(name)) }
        val usage = new FileUsage(new FooterReading(session, reading).scope)
        val used = TableFiles.at(Seq(file), conf).flatMap(usage.of(_, conf).uses.flatMap(_.masterKeyId))
        val (others, ofTable) = (named.diff(used), used.distinct.filterNot(KeyNames(named.toSet).contains))
        if (others.nonEmpty && ofTable.nonEmpty)
          log.warn(PmeErrors.otherKeysThanTable(path, others, ofTable))
      }
    } catch { case _: PmeException => () }

  private val OfWrites = Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
    .flatMap(option => option.name +: ParquetNames.of(option).toSeq)

  /** One data file, found without listing the whole table: the longest of a directory, as one without rows has no columns. */
  private def oneFile(directory: Path, fs: FileSystem): Option[Path] = {
    val shown = fs.listStatus(directory).sortBy(_.getPath.getName).filterNot { status =>
      status.getPath.getName.startsWith("_") || status.getPath.getName.startsWith(".")
    }
    val (directories, files) = shown.toSeq.partition(_.isDirectory)
    if (files.nonEmpty) Some(files.maxBy(_.getLen).getPath)
    else directories.iterator.flatMap(one => oneFile(one.getPath, fs)).take(1).toSeq.headOption
  }
}
