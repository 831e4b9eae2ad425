package io.pmeparquet.spark.rules

import java.util.concurrent.ConcurrentHashMap
import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSourceV1
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.pmeparquet.options.TellingOptions
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses a write that gives options of ours to another format: the user believes that the data is encrypted, but other
 * formats ignore options that they do not know. For a read it logs a warning. For Parquet and ORC the resolved configuration
 * decides, for reads as well ([[ResolvedFactory]]).
 *
 * As an optimizer rule it sees the writes of a session that has used the format before. [[PmeExtensions]] checks every
 * plan during analysis, so with it this rule sees all writes. ''Driver only.''
 */
private[spark] object OtherFormats extends Rule[LogicalPlan] {
  private val logger = LoggerFactory.getLogger("io.pmeparquet")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    check(SparkSession.active, plan)
    plan
  }

  def check(session: => SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val factory = new ResolvedFactory(session)
    PlanFields.nodes(plan).foreach { node =>
      FormatOptions.writes(node).foreach { found =>
        refuse(session, found)
        factory.requireWrite(found)
      }
      node match {
        case stream: WriteToStream => requireNoOrcKeys(stream.sink)
        case batch: WriteToMicroBatchDataSourceV1 => requireNoOrcKeys(batch.sink)
        case _ => ()
      }
      FormatOptions.reads(node).foreach { found =>
        factory.requireRead(found)
        misplaced(session, found).foreach { case (options, format) =>
          if (isNew(s"$format: $options")) logger.warn(PmeErrors.optionsOfOursOnRead(options, format))
        }
      }
    }
  }

  /**
   * Fails for a sink of Spark's own `orc` that is to encrypt with our keys. Spark gives such a sink's format none of its
   * options, so it would write plaintext.
   */
  private def requireNoOrcKeys(sink: AnyRef): Unit = {
    def encrypts =
      StreamSinks.options(sink).exists(found => UseOrcKeys.asksUs(found) && UseOrcKeys.encrypts(found))
    if (StreamSinks.formats(sink).exists(UseOrcKeys.isSparks) && encrypts) throw PmeErrors.orcProviderAlone
  }

  /**
   * Checks `saveAsTable`. If the table exists, Spark drops these options later, so no other check would see them.
   *
   * @param existing the table that the statement appends to
   */
  def checkTable(session: => SparkSession, table: CatalogTable, existing: => Option[CatalogTable]): Unit =
    PmeSparkException.translated {
      val found = FormatOptions.ofTable(table)
      refuse(session, found)
      existing.foreach(kept => new ResolvedFactory(session).requireKept(found, FormatOptions.ofTable(kept)))
    }

  private def refuse(session: => SparkSession, found: FormatOptions): Unit =
    misplaced(session, found).foreach { case (options, format) =>
      throw (
        if (Deltas.contains(format.toLowerCase(Locale.ROOT))) PmeErrors.deltaIgnores(options)
        else PmeErrors.optionsOfOurs(options, format)
      )
    }

  /** What [[FormatOptions]] calls Delta, and its sink of streams, in lower case. */
  private val Deltas = Set("delta", "deltasink")

  /** The options of ours, and the format that gets them, if that is another format. */
  private def misplaced(session: => SparkSession, found: FormatOptions): Option[(Seq[String], String)] = {
    val names = ResolvedOptions.spelled(found.options).keys
    // Plans are many, and options of ours are rare: only such options need the Hadoop configuration.
    if (TellingOptions.among(names, parquetEncrypts = false).isEmpty || found.ours) None
    else {
      val factory = factoryOf(session, found.options)
      val telling = TellingOptions.among(names, found.isParquet && factory.isDefined)
      // Other formats that write Parquet, such as Delta, need not pass a write's options on.
      val isHeard =
        found.format.equalsIgnoreCase("parquet") && factory.contains(FormatName.CryptoFactoryClass)
      val unheard = if (isHeard) Nil else TellingOptions.ofFactory(names)
      Some((telling ++ unheard).distinct).filter(_.nonEmpty).map(_ -> found.format)
    }
  }

  private def factoryOf(session: SparkSession, options: Map[String, String]): Option[String] =
    CryptoFactory.of(SparkAccess.hadoopConf(session, options))

  private val warned = ConcurrentHashMap.newKeySet[String]()
  private val MaxWarned = 1000

  private def isNew(what: String): Boolean = {
    if (warned.size > MaxWarned) warned.clear()
    warned.add(what)
  }
}
