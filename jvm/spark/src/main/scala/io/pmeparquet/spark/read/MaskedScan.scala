package io.pmeparquet.spark.read

import scala.collection.concurrent.TrieMap
import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.util.{AccumulatorV2, CollectionAccumulator}
import org.apache.spark.TaskContext
import org.slf4j.LoggerFactory

import io.pmeparquet.{PmeErrors, PmeException, RecentValues}
import io.pmeparquet.options.Masking
import io.pmeparquet.parquet.file.RefusedColumn

/**
 * What one scan does with columns whose keys this reader does not get (`deniedColumns=null|drop`, `missingKeys=null|drop`).
 * ''Crosses the wire.''
 *
 * @param conditions the scan's columns that conditions look at
 * @param report collects for the driver what tasks have masked
 */
private[spark] final class MaskedScan private (
    masking: Masking,
    conditions: Set[String],
    report: CollectionAccumulator[MaskedReport.Entry],
    @transient private val masked: MaskedColumns
) extends Serializable {

  // Spark serializes a scan for each stage. If that reads lost blocks of cached data again, conditions of later queries
  // look at the scan's columns.
  private def writeReplace(): AnyRef =
    if (masked == null || masked.lookedAt.forall(conditions.contains)) this
    else new MaskedScan(masking, conditions ++ masked.lookedAt, report, null)

  /**
   * Notes a file's columns that the scan reads as NULL. ''Executor only.''
   *
   * @param refused the columns, each with the name of the scan's column that it is, or is a part of
   * @throws io.pmeparquet.PmeException if the read does not go on without one of them, or a condition looks at one, and
   *   may not
   */
  def admit(refused: Seq[(String, RefusedColumn)], file: String): Unit = {
    refused.foreach { case (_, column) => if (!masking.covers(column.denied.condition)) throw column.denied }
    // This ignores case: it may refuse one column too many, but never lets a condition see a masked one.
    def isLookedAt(name: String) = conditions.exists(_.equalsIgnoreCase(name))
    refused.find { case (name, _) => !masking.inConditions && isLookedAt(name) }.foreach { case (_, column) =>
      val where = s"$file, column '${column.display}'"
      throw PmeErrors.deniedInCondition(where, column.masterKeyId, column.denied)
    }
    refused.foreach { case (name, column) =>
      report.add((MaskedScan.query.orNull, name, column.display, column.masterKeyId, file))
    }
  }
}

private[spark] object MaskedScan {

  /**
   * None if the read fails on a refused key. ''Driver only.''
   *
   * @param conditions the columns that [[ConditionColumns]] found
   * @param masked keeps what the scan has masked
   * @param installRules adds [[ConditionColumns]] to a session without it, for the session's next query
   * @throws io.pmeparquet.PmeException if that rule has not run, and conditions on masked columns must fail
   */
  def of(
      session: SparkSession,
      masking: Option[Masking],
      conditions: Option[Set[String]],
      masked: MaskedColumns
  )(installRules: => Unit): Option[MaskedScan] =
    masking.map { masking =>
      if (conditions.isEmpty && !masking.inConditions) {
        installRules
        throw unprepared
      }
      val report = new MaskedReport(masking.option, masked)
      session.sparkContext.register(report)
      new MaskedScan(masking, conditions.getOrElse(Set.empty), report, masked)
    }

  /** A view of another session can bring a scan of ours into a session that has not used the format. */
  private def unprepared: PmeException = PmeErrors.unsupported(
    "deniedColumns",
    "the first query of a session over another session's view",
    "its conditions were not checked",
    "Run the query again."
  )

  /** The query that the task belongs to: a stream, which has many executions, or one execution. */
  def query: Option[String] =
    Option(TaskContext.get()).flatMap(task =>
      Queries.flatMap(name => Option(task.getLocalProperty(name))).headOption
    )

  private val Queries = Seq("sql.streaming.queryId", "spark.sql.execution.id")
}

/** The columns that a scan has masked so far, as finished tasks reported. ''Driver only.'' */
private[spark] final class MaskedColumns {
  private val masterKeys = TrieMap.empty[String, String]
  private val looked = TrieMap.empty[String, Unit]

  /** The columns that conditions of later queries look at, where Spark caches what the scan returns. */
  def lookedAt: Set[String] = looked.keySet.toSet

  /** Notes that a condition of a query over cached data looks at a column. From now on the scan masks it no more. */
  def noteCondition(column: String): Unit = looked.update(column, ())

  /** @param column as the scan names it */
  def note(column: String, masterKeyId: String): Unit = masterKeys.update(column, masterKeyId)

  /** The master key that the KMS refused; none if the column is not masked. */
  def masterKeyOf(column: String): Option[String] =
    masterKeys.collectFirst { case (name, masterKeyId) if name.equalsIgnoreCase(column) => masterKeyId }
}

/**
 * Logs on the driver what a scan has masked, once per query, when the first task that met it finishes. ''Driver only'':
 * tasks get an accumulator of Spark's own class, because Spark deserializes what they return without a job's jars.
 */
private[spark] final class MaskedReport(option: String, masked: MaskedColumns)
    extends CollectionAccumulator[MaskedReport.Entry] {
  import MaskedReport._

  override def copyAndReset(): CollectionAccumulator[Entry] = new CollectionAccumulator[Entry]

  override def merge(other: AccumulatorV2[Entry, java.util.List[Entry]]): Unit = {
    val entries = other.value.asScala.toList
    entries.foreach { case (_, name, _, masterKeyId, _) => masked.note(name, masterKeyId) }
    val fresh = entries.filter { case (query, _, column, masterKeyId, _) =>
      isNew((Option(query).getOrElse(s"scan $id"), column, masterKeyId))
    }
    if (fresh.nonEmpty) warn(option, "read as NULL", fresh)
  }
}

private[spark] object MaskedReport {

  /**
   * The query, if there is one; the scan's column; the leaf of it, as messages name it; master key; file. A tuple of
   * strings, because every JVM of Spark has these classes.
   */
  type Entry = (String, String, String, String, String)

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  private val MaxKept = 10000
  private val KeptMillis = 24L * 3600 * 1000
  private val logged = new RecentValues[(String, String, String), Unit](MaxKept, KeptMillis)

  private def isNew(entry: (String, String, String)): Boolean = logged.synchronized {
    val known = logged.find(entry).isDefined
    if (!known) logged.put(entry, (), KeptMillis)
    !known
  }

  def warn(option: String, what: String, entries: Seq[Entry]): Unit = {
    val columns = entries.map { case (_, _, column, masterKeyId, _) =>
      s"$column (master key '$masterKeyId')"
    }
    log.warn(
      s"$option: ${columns.distinct.sorted.mkString(", ")}: $what, because the KMS does not have these keys, or does not let this user use " +
        s"them. First file: ${entries.head._5}."
    )
  }
}
