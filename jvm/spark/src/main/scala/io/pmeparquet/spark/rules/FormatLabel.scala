package io.pmeparquet.spark.rules

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.sources.DataSourceRegister

/** What messages call a format. ''Driver only.'' */
private[rules] object FormatLabel {

  /** Its short name, the provider of a table, or the name of its class. */
  def of(format: AnyRef): String = format match {
    case registered: DataSourceRegister => registered.shortName()
    case table: Table => Option(table.properties.get("provider")).getOrElse(table.name)
    case other => ofClass(other)
  }

  def ofClass(format: AnyRef): String = format.getClass.getSimpleName.stripSuffix("$")
}
