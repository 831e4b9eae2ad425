package io.pmeparquet.spark

import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.CreateTable

import io.pmeparquet.spark.admin.TableFunctions
import io.pmeparquet.spark.rules.{NoteStatements, OtherFormats, SessionSetup}

/**
 * For applications of several sessions, and for sessions that look after tables in SQL before they use the format:
 * {{{
 * spark.sql.extensions=io.pmeparquet.spark.PmeExtensions
 * }}}
 * By itself the format adds what it needs to the session that is active when it is first used, which need not be the one
 * that a frame is of. With this every session has it before its first statement is run, and refuses to hand options of
 * ours to another format ([[OtherFormats]]).
 *
 * ''Driver only.''
 */
final class PmeExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TableFunctions.ofExtension.foreach(extensions.injectTableFunction)
    extensions.injectResolutionRule(new CheckBeforeAppend(_))
    extensions.injectPostHocResolutionRule(new NoteStatements(_))
    extensions.injectCheckRule { session => plan =>
      SessionSetup.install(session)
      OtherFormats.check(session, plan)
    }
  }
}

/**
 * Looks at the options of `saveAsTable` while Spark still has them: of a table that is there already it takes the table's,
 * before any check of a plan is made.
 */
private[spark] final class CheckBeforeAppend(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case CreateTable(table, _, Some(_)) => OtherFormats.checkTable(session, table)
      case _ => ()
    }
    plan
  }
}
