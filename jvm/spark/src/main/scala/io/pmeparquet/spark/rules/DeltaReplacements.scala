package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, ResolvedIdentifier}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, TableSpecBase}
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.PmeErrors

/** Delta tables that statements replace by new ones. ''Driver only.'' */
private[rules] final class DeltaReplacements(session: SparkSession) {

  /**
   * The table that a statement replaces: under the name, or else at the location, of which Delta replaces the metadata as
   * well.
   *
   * @throws io.pmeparquet.PmeException if it has keys that the new one would not have
   */
  def of(name: LogicalPlan, spec: TableSpecBase): Option[DeltaTable] = {
    val found = named(name).orElse(spec.location.map(DeltaTable.at(session, _))).filter(_.schema.nonEmpty)
    found.foreach { old =>
      if (old.keys.nonEmpty && !old.isKeptBy(spec.properties))
        throw PmeErrors.deltaUnprotected(old.name, "its replacement")
    }
    found
  }

  private def named(name: LogicalPlan): Option[DeltaTable] =
    existing(name).filter(DeltaTable.isTable).map(DeltaTable.ofTable)

  private def existing(name: LogicalPlan): Option[Table] = name match {
    case found: ResolvedIdentifier =>
      found.catalog match {
        case catalog: TableCatalog => load(catalog, found.identifier)
        case _ => None
      }
    case _ => None
  }

  private def load(catalog: TableCatalog, name: Identifier) =
    try Some(catalog.loadTable(name))
    catch { case _: NoSuchTableException => None }
}
