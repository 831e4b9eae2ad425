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
          quoted(resolved.table).fold(plan)(table =>
            show.withNewChildren(Seq(resolved.makeCopy(replaced(resolved, resolved.table, table).toArray)))
          )
        case _ => plan
      }
    case _ => plan
  }

  /** `table.copy(provider = …)`, which has other parameters in other versions of Spark. */
  def withProvider(table: CatalogTable, name: String): CatalogTable =
    rebuilt(table, replaced(table, table.provider, Some(name)))

  // Spark's table of its own catalog is not public, and has one field.
  private def quoted(table: AnyRef): Option[AnyRef] = table match {
    case only: Product =>
      only.productIterator.toSeq match {
        case Seq(kept: CatalogTable) =>
          kept.provider
            .filter(name => name.contains('-') && FormatName.inSql(name).isDefined)
            .map(name => rebuilt(table, Seq(withProvider(kept, s"`$name`"))))
        case _ => None
      }
    case _ => None
  }

  private def replaced(of: Product, old: AnyRef, value: AnyRef): Seq[AnyRef] =
    of.productIterator.map(_.asInstanceOf[AnyRef]).map(field => if (field eq old) value else field).toSeq

  private def rebuilt[T <: AnyRef](like: T, fields: Seq[AnyRef]): T =
    like.getClass.getConstructors.head.newInstance(fields: _*).asInstanceOf[T]
}
