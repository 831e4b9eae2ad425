package io.pmeparquet.spark.rules

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.admin.{PlanFunctions, TableFunctions}
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
  private val strategies = Seq(KeepFilters, PlanFunctions)

  override def install(): Unit =
    SparkSession.getActiveSession.orElse(SparkSession.getDefaultSession).foreach(install)

  def install(session: SparkSession): Unit = {
    val methods = session.sessionState.experimentalMethods
    methods.synchronized {
      val missing = rules.filterNot(methods.extraOptimizations.contains)
      if (missing.nonEmpty) {
        methods.extraOptimizations = methods.extraOptimizations ++ missing
        methods.extraStrategies =
          methods.extraStrategies ++ strategies.filterNot(methods.extraStrategies.contains)
        TableFunctions.install(session)
      }
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
