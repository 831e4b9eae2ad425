package io.pmeparquet.spark

import org.apache.spark.sql.{SaveMode, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.CreateTable
import org.apache.spark.SparkEnv

import io.pmeparquet.delta.DeltaEncryption
import io.pmeparquet.delta.DeltaRules
import io.pmeparquet.spark.admin.sql.TableFunctions
import io.pmeparquet.spark.keys.SessionKeys
import io.pmeparquet.spark.rules.{
  HiveTables,
  HudiRules,
  KnowReaders,
  NoteStatements,
  OptionsOfNames,
  OrcOfFrames,
  OtherFormats,
  PlanFields,
  QuotedFormats,
  RowsAtRisk,
  SealedStreams,
  SessionSetup
}
import io.pmeparquet.spark.session.{FormatName, GuardSetting}

/**
 * For applications with several sessions, and for sessions that call our SQL functions before they use the format:
 * {{{
 * spark.sql.extensions=io.pmeparquet.spark.PmeExtensions
 * }}}
 * Without it, the format adds its rules to the session that is active at its first use, and a DataFrame may belong to
 * another session. With it, every session has the rules before it runs its first statement, and refuses to give options
 * of ours to another format ([[OtherFormats]]), to take settings of the crypto factory from a table of Hive
 * ([[HiveTables]]), or to make protected columns of a Hudi table readable ([[HudiRules]]). Delta commits through
 * [[io.pmeparquet.delta.PmeLogStore]] then, and [[DeltaRules]] refuses what that would see too late.
 *
 * ''Driver only.''
 */
final class PmeExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    Option(SparkEnv.get).foreach(env => GuardSetting.install(env.conf))
    TableFunctions.ofExtension(DeltaEncryption.functions).foreach(extensions.injectTableFunction)
    injectBeforeResolution(extensions, new OptionsOfNames(_))
    extensions.injectResolutionRule(new CheckBeforeAppend(_))
    extensions.injectResolutionRule(_ => OrcOfFrames)
    extensions.injectPostHocResolutionRule(new NoteStatements(_))
    extensions.injectPostHocResolutionRule(new KnowReaders(_))
    extensions.injectPostHocResolutionRule(_ => QuotedFormats)
    extensions.injectCheckRule { session => plan =>
      SessionSetup.install(session)
      SessionKeys.remember(session)
      HiveTables.check(session, plan)
      OtherFormats.check(session, plan)
      RowsAtRisk.checkStream(session, plan)
      SealedStreams.check(session, plan)
      DeltaRules.check(session, plan)
      HudiRules.check(session, plan)
    }
  }

  /** Among the rules for hints, which run before names are resolved. Spark 3.5 lets nobody add one. */
  private def injectBeforeResolution(
      extensions: SparkSessionExtensions,
      rule: SparkSession => Rule[LogicalPlan]
  ): Unit =
    extensions.getClass.getMethods
      .find(_.getName == "injectHintResolutionRule")
      .foreach(_.invoke(extensions, rule))
}

/**
 * Checks the options of `saveAsTable` while Spark still has them. If the table exists, Spark takes the table's options
 * instead, before it runs any check rule. Spark compares the names of formats as text, so an equal name becomes the table's.
 */
private[spark] final class CheckBeforeAppend(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create @ CreateTable(table, mode, Some(_)) =>
      val appended = if (mode == SaveMode.Append) existing(table) else None
      OtherFormats.checkTable(session, table, appended)
      appended
        .flatMap(_.provider)
        .filter(isEqual(_, table))
        .fold(create)(name => create.copy(tableDesc = PlanFields.copied(table, "provider", Some(name))))
    case other => other
  }

  private def isEqual(provider: String, table: CatalogTable) = {
    val name = FormatName.inSql(provider)
    name.isDefined && !table.provider.contains(provider) && table.provider.flatMap(FormatName.inSql) == name
  }

  private def existing(table: CatalogTable) = {
    val catalog = session.sessionState.catalog
    if (catalog.tableExists(table.identifier)) Some(catalog.getTableMetadata(table.identifier)) else None
  }
}
