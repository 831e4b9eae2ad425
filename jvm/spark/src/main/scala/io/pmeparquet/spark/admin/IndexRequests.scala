package io.pmeparquet.spark.admin

import java.io.IOException

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.parquet.summary.{SummaryKind, WantedSummary}
import io.pmeparquet.snapshot.manifest.StrictJson
import io.pmeparquet.PmeErrors

/** The indexes that somebody asks for. ''Driver only.'' */
object IndexRequests {

  /**
   * @param column a name as in `columnKeys`: `` address.`odd.name` ``
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the column is not a name
   */
  def of(column: String, kind: SummaryKind): WantedSummary =
    WantedSummary(ColumnKeys.parsePattern(column, "index").names.map(_.text).toList, kind)

  /**
   * @param text JSON: `{"kind": "bloom", "column": "id", "parameters": {"fpp": "0.01"}}`
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def parse(text: String): WantedSummary = {
    val node =
      try StrictJson.mapper.readTree(text)
      catch { case _: IOException => throw PmeErrors.badIndex(text, "it is not JSON") }
    def field(name: String) = Option(node.get(name))
      .filter(_.isTextual)
      .map(_.asText)
      .getOrElse(throw PmeErrors.badIndex(text, s"it has no text '$name'"))
    val parameters = Option(node.get("parameters")).fold(Seq.empty[(String, String)])(texts(text, _))
    of(field("column"), SummaryKind.parse(field("kind"), parameters))
  }

  private def texts(text: String, node: JsonNode) = {
    val fields = node.fields.asScala.toVector
    if (!node.isObject || !fields.forall(_.getValue.isTextual))
      throw PmeErrors.badIndex(text, "its parameters are not texts")
    fields.map(field => field.getKey -> field.getValue.asText)
  }

  /** Each request once. @throws io.pmeparquet.PmeException if a column has two indexes of one kind */
  private[admin] def distinct(wanted: Seq[WantedSummary]): Seq[WantedSummary] = {
    val once = wanted.distinct
    once.groupBy(one => (one.column, one.kind.name)).collectFirst {
      case ((column, kind), several) if several.size > 1 && kind != SummaryKind.OfClass.Name =>
        throw PmeErrors.badIndex(
          s"$kind(${column.mkString(".")})",
          "it is asked for twice, with different settings"
        )
    }
    once
  }
}
