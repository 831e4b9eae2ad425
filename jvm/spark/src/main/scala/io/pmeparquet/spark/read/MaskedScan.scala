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
import io.pmeparquet.parquet.scope.ReadScope

/**
 * What one scan does with columns whose keys the KMS refuses (`deniedColumns=null|drop`). ''Crosses the wire.''
 *
 * @param conditions the scan's columns that conditions look at
 * @param report where the driver is told
 */
private[spark] final class MaskedScan private (
    masking: Masking,
    conditions: Set[String],
    report: CollectionAccumulator[MaskedReport.Entry]
) extends Serializable {

  /**
   * Takes note of a file's columns that are read as NULL. ''Executor only.''
   *
   * @param refused by the name of the scan's column that they are, or are a part of
   * @throws io.pmeparquet.PmeException where a condition looks at one of them, and may not
   */
  def admit(refused: Seq[(String, RefusedColumn)], file: String): Unit = {
    // Without regard to case: one column too many is refused, where one too few would be compared.
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
   * None where a read fails on a refused key. ''Driver only.''
   *
   * @param conditions what [[ConditionColumns]] has told
   * @param masked what the scan has masked is noted there
   * @param rules what adds the rule that tells conditions, for the next query of a session without it
   * @throws io.pmeparquet.PmeException where it has not, and conditions are to be refused
   */
  def of(
      session: SparkSession,
      scope: ReadScope,
      conditions: Option[Set[String]],
      masked: MaskedColumns,
      rules: SessionRules
  ): Option[MaskedScan] =
    scope.settings.masking.map { masking =>
      if (conditions.isEmpty && !masking.inConditions) throw unprepared(rules)
      val report = new MaskedReport(masking.option, masked)
      session.sparkContext.register(report)
      new MaskedScan(masking, conditions.getOrElse(Set.empty), report)
    }

  /** A view of another session brings a scan of ours into one that has not made use of the format by itself. */
  private def unprepared(rules: SessionRules): PmeException = {
    rules.install()
    PmeErrors.unsupported(
      "deniedColumns",
      "the first query of a session over another session's view",
      "its conditions were not checked",
      "Run the query again."
    )
  }

  /** The query that a task is of: a stream, which is many executions, or one execution. */
  private def query: Option[String] =
    Option(TaskContext.get()).flatMap(task =>
      Queries.flatMap(name => Option(task.getLocalProperty(name))).headOption
    )

  private val Queries = Seq("sql.streaming.queryId", "spark.sql.execution.id")
}

/** The columns that a scan has masked so far, as tasks told that are done. ''Driver only.'' */
private[spark] final class MaskedColumns {
  private val masterKeys = TrieMap.empty[String, String]

  /** @param column as the scan names it */
  def note(column: String, masterKeyId: String): Unit = masterKeys.update(column, masterKeyId)

  /** The master key that was refused; none where the column is not masked. */
  def masterKeyOf(column: String): Option[String] =
    masterKeys.collectFirst { case (name, masterKeyId) if name.equalsIgnoreCase(column) => masterKeyId }
}

/**
 * Says in the driver's log what was masked, once per query, when the first task that met it is done. ''Driver only'': to
 * tasks goes an accumulator of Spark's own class, since what comes back from them is read where a job's jars are not seen.
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
   * The query, if there is one; the scan's column, and the leaf of it, as messages name it; master key and file. Of
   * classes that are wherever Spark is.
   */
  type Entry = (String, String, String, String, String)

  private val log = LoggerFactory.getLogger("io.pmeparquet")

  private val MaxKept = 10000
  private val KeptMillis = 24L * 3600 * 1000
  private val told = new RecentValues[(String, String, String), Unit](MaxKept, KeptMillis)

  private def isNew(entry: (String, String, String)): Boolean = told.synchronized {
    val known = told.find(entry).isDefined
    if (!known) told.put(entry, (), KeptMillis)
    !known
  }

  def warn(option: String, what: String, entries: Seq[Entry]): Unit = {
    val columns = entries.map { case (_, _, column, masterKeyId, _) =>
      s"$column (master key '$masterKeyId')"
    }
    log.warn(
      s"$option: ${columns.distinct.sorted.mkString(", ")}: $what, because the KMS does not let this user use these keys. " +
        s"First file: ${entries.head._5}."
    )
  }
}
