package io.pmeparquet.spark

import org.apache.spark.sql.SparkSessionExtensions

import io.pmeparquet.spark.admin.{PlanFunctions, TableFunctions}

/**
 * For sessions that look after tables in SQL before they use the format, which would add our functions by itself:
 * {{{
 * spark.sql.extensions=io.pmeparquet.spark.PmeExtensions
 * }}}
 * ''Driver only.''
 */
final class PmeExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    TableFunctions.all.foreach(extensions.injectTableFunction)
    extensions.injectPlannerStrategy(_ => PlanFunctions)
  }
}
