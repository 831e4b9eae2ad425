package io.pmeparquet.spark.rules

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.catalog.CatalogTableType
import org.apache.spark.sql.catalyst.plans.logical.{InsertIntoStatement, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{OrcNames, SettingNames, TellingOptions}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Refuses options that ask for encryption where Spark drops them when it resolves a name: those of a table of Hive, or of a
 * view (`spark.read.options(…).table(name)`, `INSERT INTO name WITH (…)`). The rule runs before names are resolved, and
 * sees Spark's hints only by chance. ''Driver only.''
 */
private[spark] final class OptionsOfNames(session: SparkSession) extends Rule[LogicalPlan] {
  import OptionsOfNames._

  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    PlanFields.nodes(plan).foreach {
      case relation: UnresolvedRelation => check(relation, "read")
      case insert: InsertIntoStatement =>
        insert.table match {
          case relation: UnresolvedRelation => check(relation, "write")
          case _ => ()
        }
      case _ => ()
    }
    plan
  }

  private def check(relation: UnresolvedRelation, verb: String): Unit = if (!relation.options.isEmpty) {
    val names = relation.options.asCaseSensitiveMap().keySet.asScala.toSeq
    val asking = names.filter { name =>
      SettingNames.concerns(name) || OrcNames.concerns(name) ||
      TellingOptions.among(Seq(name), parquetEncrypts = false).nonEmpty
    }
    if (asking.nonEmpty && isDropping(relation.multipartIdentifier))
      throw PmeErrors.settingsNotHeard(
        s"$verb of '${relation.multipartIdentifier.mkString(".")}'",
        asking.sorted,
        Reason,
        Remedy
      )
  }

  private def isDropping(name: Seq[String]): Boolean = {
    val catalog = session.sessionState.catalog
    catalog.isTempView(name) || identifier(name).exists { table =>
      catalog.tableExists(table) && {
        val found = catalog.getTableMetadata(table)
        found.tableType == CatalogTableType.VIEW || found.provider.forall(_.equalsIgnoreCase("hive"))
      }
    }
  }

  /** The name in the catalog of the session, if it is one. */
  private def identifier(name: Seq[String]): Option[TableIdentifier] = {
    def isCurrent = session.catalog.currentCatalog() == SessionCatalog
    name match {
      case Seq(table) if isCurrent => Some(TableIdentifier(table))
      case Seq(database, table) if isCurrent => Some(TableIdentifier(table, Some(database)))
      case Seq(SessionCatalog, database, table) => Some(TableIdentifier(table, Some(database)))
      case _ => None
    }
  }
}

private object OptionsOfNames {
  private val SessionCatalog = "spark_catalog"
  private val Reason = "Spark drops the options of a table of Hive, and of a view"
  private val Remedy = "Set them in the session, read or write by path, or remove them."
}
