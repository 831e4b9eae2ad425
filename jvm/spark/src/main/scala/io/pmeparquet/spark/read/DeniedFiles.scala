package io.pmeparquet.spark.read

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.util.{AccumulatorV2, CollectionAccumulator}
import org.slf4j.LoggerFactory

import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.file.FooterKeyRefused
import io.pmeparquet.spark.session.PmeMetrics

/**
 * The files that one scan leaves out, because this reader does not get the keys of their footers (`deniedFiles=skip`).
 * ''Crosses the wire.''
 *
 * @param report collects for the driver what tasks have left out
 */
private[spark] final class DeniedFiles private (report: CollectionAccumulator[DeniedFiles.Entry])
    extends Serializable {

  /** The result of opening a file; none if the scan leaves it out. ''Executor only.'' */
  def unlessDenied[A](file: String)(open: => A): Option[A] =
    try Some(open)
    catch {
      case refused: FooterKeyRefused =>
        report.add((MaskedScan.query.orNull, refused.masterKeyId.orNull, file))
        None
    }
}

private[spark] object DeniedFiles {

  /** The query, if there is one; the master key, if the file names one; the file. Every JVM of Spark has these classes. */
  type Entry = (String, String, String)

  /**
   * None if the read fails on a refused key. ''Driver only.''
   *
   * @param found keeps what the scan has left out
   */
  def of(session: SparkSession, settings: ReadSettings, found: LeftOutFiles): Option[DeniedFiles] =
    if (settings.deniedFiles.isEmpty) None
    else {
      val report = new DeniedReport(found)
      session.sparkContext.register(report)
      Some(new DeniedFiles(report))
    }

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  def warn(masterKeys: Seq[String], files: Int, first: String): Unit = {
    val keys = if (masterKeys.isEmpty) "" else masterKeys.map(key => s"'$key'").mkString(" (", ", ", ")")
    log.warn(
      s"deniedFiles=skip: $files files are left out so far, because the KMS does not have the keys of their footers$keys, or " +
        s"does not let this user use them. First file: $first. query_stats has the number when the query has ended."
    )
  }
}

/** The files that a scan has left out so far, as finished tasks reported. ''Driver only.'' */
private[spark] final class LeftOutFiles {
  private val files = mutable.HashSet.empty[String]

  /** How many they are. */
  def count: Long = synchronized(files.size.toLong)

  /** @return those that are new */
  def add(found: Seq[String]): Seq[String] = synchronized {
    val more = found.distinct.filter(files.add)
    PmeMetrics.FILES_LEFT_OUT.add(more.size.toLong)
    more
  }
}

/**
 * Logs on the driver what a scan leaves out, whenever their number has grown tenfold. ''Driver only'': tasks get an
 * accumulator of Spark's own class, because Spark deserializes what they return without a job's jars.
 */
private final class DeniedReport(found: LeftOutFiles) extends CollectionAccumulator[DeniedFiles.Entry] {
  private var next = 1L

  override def copyAndReset(): CollectionAccumulator[DeniedFiles.Entry] =
    new CollectionAccumulator[DeniedFiles.Entry]

  override def merge(other: AccumulatorV2[DeniedFiles.Entry, java.util.List[DeniedFiles.Entry]]): Unit = {
    val entries = other.value.asScala.toList
    if (found.add(entries.map(_._3)).nonEmpty && found.count >= next) {
      next = found.count * 10
      val keys = entries.flatMap { case (_, masterKeyId, _) => Option(masterKeyId) }.distinct.sorted
      DeniedFiles.warn(keys.take(DeniedReport.MostKeys), found.count.toInt, entries.head._3)
    }
  }
}

private object DeniedReport {
  val MostKeys = 10
}
