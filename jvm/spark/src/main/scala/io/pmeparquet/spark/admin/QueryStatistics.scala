package io.pmeparquet.spark.admin

import scala.collection.mutable

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{CommandResultExec, FileSourceScanExec, ReusedSubqueryExec, SparkPlan}
import org.apache.spark.sql.execution.adaptive.{AdaptiveSparkPlanExec, QueryStageExec}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.exchange.ReusedExchangeExec
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.Dataset

import io.pmeparquet.spark.session.{FormatName, PmeSparkException}
import io.pmeparquet.spark.snapshot.{
  ChosenFiles,
  CountsFiles,
  LeavesFilesOut,
  PartitionsRead,
  ScannedFiles,
  SealedIndex
}

/**
 * How many files the scans of a query read, and which indexes spared it the others: `pme.query_stats`. ''Driver only.''
 *
 * @param scans an entry for each scan of this format, and for each of its tables if it reads several
 * @param notes what the entries leave out, in sentences
 */
private[spark] final case class QueryStatistics(scans: Seq[ScannedFiles], notes: Seq[String])

object QueryStatistics {

  /**
   * The statistics as JSON: `{"scans": [{"path", "version", "files", "filesRead", "bytes", "bytesRead", "skippedBy":
   * [{"kind", "column": [], "files"}]}], "notes": []}`. `files` are those that are left after partitions were pruned;
   * `version` is null if the table is not sealed. Before the query has run, pruning at run time is not known yet. It
   * runs no query, but lists files that the query has not listed yet.
   */
  def json(dataset: Dataset[_]): String = PmeSparkException.translated {
    mapper.writeValueAsString(of(dataset.queryExecution.executedPlan))
  }

  private def of(plan: SparkPlan): QueryStatistics = {
    val nodes = new PlanNodes(plan)
    val scans = nodes.all.flatMap {
      case scan: FileSourceScanExec if isOurs(scan) => filesOf(scan)
      case scan: BatchScanExec =>
        scan.scan match {
          case ours: CountsFiles => ours.scannedFiles
          case _ => Nil
        }
      case _ => Nil
    }
    val leftOut = nodes.all.map(leftOutBy).sum
    QueryStatistics(
      scans,
      (if (nodes.readsCache) Seq(Cached) else Nil) ++ (if (leftOut > 0) Seq(denied(leftOut)) else Nil)
    )
  }

  /** How many files a node has left out because of their keys (`deniedFiles=skip`). */
  private def leftOutBy(node: SparkPlan): Long = node match {
    case scan: FileSourceScanExec => leftOutBy(scan.relation.fileFormat)
    case scan: BatchScanExec => leftOutBy(scan.scan)
    case _ => 0
  }

  private def leftOutBy(reader: AnyRef): Long = reader match {
    case ours: LeavesFilesOut => ours.filesLeftOut
    case _ => 0
  }

  private def denied(files: Long) =
    s"$files of the files that are counted as read were left out: this reader does not get the keys of their footers " +
      "(deniedFiles=skip)."

  private def isOurs(scan: FileSourceScanExec) = scan.relation.fileFormat match {
    case format: DataSourceRegister => format.shortName() == FormatName.Format
    case _ => false
  }

  private def filesOf(scan: FileSourceScanExec): Seq[ScannedFiles] = {
    val partitions = new PartitionsRead(scan.relation.partitionSchema, scan.partitionFilters)
    val files = scan.relation.location match {
      case index: SealedIndex => index.chosen(partitions.static, scan.dataFilters)
      case other => ChosenFiles.all(other.listFiles(partitions.static, scan.dataFilters), other.rootPaths)
    }
    files.counted(partitions.isRead.getOrElse((_: InternalRow) => true))
  }

  // The query that filled the cache has read the files, and this one may have been another.
  private val Cached = "Scans of cached data are not counted: the query reads the cache, and no files."

  private val mapper = new ObjectMapper().registerModule(DefaultScalaModule)
}

/** The nodes of a physical plan that run, each once: those of the final plan, if Spark has changed it. */
private final class PlanNodes(plan: SparkPlan) {
  private val found = new java.util.IdentityHashMap[SparkPlan, Unit]
  private val nodes = mutable.ArrayBuffer.empty[SparkPlan]
  private var hasCache = false

  private def add(node: SparkPlan): Unit = if (!found.containsKey(node)) {
    found.put(node, ())
    node match {
      case adaptive: AdaptiveSparkPlanExec => add(adaptive.executedPlan)
      case stage: QueryStageExec => add(stage.plan)
      case command: CommandResultExec => add(command.commandPhysicalPlan)
      // What they reuse runs elsewhere in the plan.
      case _: ReusedExchangeExec | _: ReusedSubqueryExec => ()
      case _: InMemoryTableScanExec => hasCache = true
      case other =>
        nodes += other
        (other.children ++ other.subqueries).foreach(add)
    }
  }

  add(plan)

  def all: Seq[SparkPlan] = nodes.toList
  def readsCache: Boolean = hasCache
}
