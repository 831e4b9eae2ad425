package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ShowCreateTable}
import org.apache.spark.sql.catalyst.rules.Rule

import io.pmeparquet.spark.session.FormatName

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
