package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ShowCreateTable}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.admin.sql.{PlanFunctions, TableFunctions}
import io.pmeparquet.spark.read.SessionRules
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * Adds to a session what the format needs, at the session's first use of the format, so that a user need not configure
 * an extension. It adds our optimizer rules, planning strategies and table functions, and our name to Spark's list of
 * sources that accept filters on nested fields.
 */
private[spark] object SessionSetup extends SessionRules {
  private val rules = Seq(
    HiveTables,
    UseOrcKeys,
    TellOrigins,
    UseSnapshots,
    OtherFormats,
    PreWriteCheck,
    SealWrites,
    AggregatePushDown,
    ConditionColumns,
    NullChecks
  )
  private val strategies = Seq(PlanOurs, PlanFunctions)

  override def install(): Unit =
    SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).foreach(install)

  def install(session: SparkSession): Unit = {
    val methods = session.sessionState.experimentalMethods
    methods.synchronized {
      val missing = rules.filterNot(methods.extraOptimizations.contains)
      if (missing.nonEmpty) {
        methods.extraOptimizations = methods.extraOptimizations ++ missing
        TableFunctions.install(session)
      }
      // The first strategy that plans a node wins.
      val ordered = strategies ++ methods.extraStrategies.filterNot(strategies.contains)
      if (methods.extraStrategies != ordered) methods.extraStrategies = ordered
      takeNestedFilters(SparkAccess.sqlConf(session))
      leaveOut(SparkAccess.sqlConf(session), MetadataOnly)
    }
  }

  /**
   * With `spark.sql.optimizer.metadataOnly`, this rule of Spark's answers a query from the names of directories, before our
   * rules run and any file is opened: whoever can make a directory could add a row.
   */
  private val MetadataOnly = "org.apache.spark.sql.execution.OptimizeMetadataOnlyQuery"

  private def leaveOut(conf: SQLConf, rule: String): Unit = {
    val excluded = conf.getConf(SQLConf.OPTIMIZER_EXCLUDED_RULES).toSeq.flatMap(_.split(",")).map(_.trim)
    if (!excluded.contains(rule))
      conf.setConfString(
        SQLConf.OPTIMIZER_EXCLUDED_RULES.key,
        (excluded.filter(_.nonEmpty) :+ rule).mkString(",")
      )
  }

  // Only if "parquet" is in the list: a user who removed it wants no such filters.
  private def takeNestedFilters(conf: SQLConf): Unit = {
    val sources = conf.getConf(SQLConf.NESTED_PREDICATE_PUSHDOWN_FILE_SOURCE_LIST)
    val names = sources.split(",").map(_.trim).toSeq
    if (names.contains("parquet") && !names.contains(FormatName.Format))
      conf.setConf(SQLConf.NESTED_PREDICATE_PUSHDOWN_FILE_SOURCE_LIST, s"$sources,${FormatName.Format}")
  }
}

/** Puts a format's name that has a hyphen in backquotes, which `SHOW CREATE TABLE` of Spark does not. ''Driver only.'' */
private[spark] object QuotedFormats extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case show: ShowCreateTable =>
      show.child match {
        case resolved: ResolvedTable =>
          quoted(resolved.table).fold(plan) { table =>
            val changed = PlanFields.replaced(resolved) {
              case field: AnyRef if field eq resolved.table => table
            }
            show.withNewChildren(Seq(changed))
          }
        case _ => plan
      }
    case _ => plan
  }

  // Spark's table of its own catalog is not public, and has one field.
  private def quoted(table: AnyRef): Option[AnyRef] = table match {
    case only: Product =>
      only.productIterator.toSeq match {
        case Seq(kept: CatalogTable) =>
          kept.provider
            .filter(name => name.contains('-') && FormatName.inSql(name).isDefined)
            .map(name => PlanFields.copied(kept, "provider", Some(s"`$name`")))
            .map(table.getClass.getConstructor(classOf[CatalogTable]).newInstance(_))
        case _ => None
      }
    case _ => None
  }
}
