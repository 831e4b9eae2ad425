package io.pmeparquet.delta

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode, TextNode}
import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.StrictJson

/**
 * The origin of a commit (Delta's protocol, "Commit Provenance Information"): the action `commitInfo`. No reader needs
 * it, so texts that may have values of columns give way to [[Redacted]]. Names, numbers and what the table's definition says
 * anyway stay. ''Driver only.''
 */
private[delta] object CommitInfo {
  val Redacted = "redacted_by_pme_parquet()"

  /** The fields that a commit may have. */
  val Fields: Set[String] = Set(
    "version",
    "inCommitTimestamp",
    "timestamp",
    "userId",
    "userName",
    "operation",
    "operationParameters",
    "job",
    "notebook",
    "clusterId",
    "readVersion",
    "isolationLevel",
    "isBlindAppend",
    "operationMetrics",
    "userMetadata",
    "tags",
    "engineInfo",
    "txnId"
  )

  /** Parameters of operations that have no condition: settings, names, versions, and what the metadata has as well. */
  private val Parameters = Set(
    "applyPurge",
    "auto",
    "batchId",
    "canMergeSchema",
    "canOverwriteSchema",
    "catalogTable",
    "clusterBy",
    "collectStats",
    "column",
    "columns",
    "defaultRetentionMillis",
    "description",
    "domainMetadataRemovedCount",
    "epochId",
    "existed",
    "featureName",
    "ifExists",
    "incremental",
    "isDynamicPartitionOverwrite",
    "isManaged",
    "isShallow",
    "mode",
    "name",
    "newClusteringColumns",
    "newColumnPath",
    "newProtocol",
    "newSchema",
    "numFiles",
    "oldClusteringColumns",
    "oldColumnPath",
    "oldSchema",
    "outputMode",
    "partitionBy",
    "partitionedBy",
    "position",
    "properties",
    "queryId",
    "replaceUsingCols",
    "retentionCheckEnabled",
    "source",
    "sourceFormat",
    "sourceVersion",
    "specifiedRetentionMillis",
    "statsOnLoad",
    "status",
    "timestamp",
    "triggerName",
    "truncateHistory",
    "version",
    "zOrderBy"
  )

  // By which `encrypt_table` finds its own commit.
  private val OwnMark = "pme_[0-9a-f]{32}"
  private val Actions = Set("update", "delete", "insert")
  private val json = StrictJson.mapper

  def redacted(info: ObjectNode): ObjectNode = {
    val made = info.deepCopy
    each(made.path("operationParameters")) { (name, value) =>
      if (Parameters.contains(name)) value else withoutTexts(value)
    }
    Seq("operationMetrics", "tags").foreach { map =>
      each(made.path(map))((_, value) => if (isSmall(value)) value else TextNode.valueOf(Redacted))
    }
    if (made.hasNonNull("userMetadata")) made.put("userMetadata", markIn(made.path("userMetadata").asText))
    made
  }

  private def each(node: JsonNode)(change: (String, JsonNode) => JsonNode): Unit = node match {
    case fields: ObjectNode =>
      fields.fieldNames.asScala.toList.foreach(name =>
        fields.set[JsonNode](name, change(name, fields.get(name)))
      )
    case _ => ()
  }

  private def isSmall(value: JsonNode) =
    !value.isContainerNode && value.asText.matches("-?\\d{1,19}|true|false|")

  /** Delta has JSON in some of the texts: an array of conditions, or of clauses of MERGE. */
  private def withoutTexts(value: JsonNode): JsonNode = {
    val text = if (value.isTextual) value.asText else value.toString
    val kept =
      try
        json.readTree(text) match {
          case list: ArrayNode => json.writeValueAsString(withoutTextsIn(list))
          case _ => Redacted
        }
      catch { case NonFatal(_) => if (text.isEmpty) text else Redacted }
    TextNode.valueOf(kept)
  }

  private def withoutTextsIn(list: ArrayNode): ArrayNode = {
    val made = json.createArrayNode
    list.elements.asScala.foreach {
      case clause: ObjectNode =>
        val kept = made.addObject
        val action = clause.path("actionType").asText
        if (clause.hasNonNull("predicate")) kept.put("predicate", Redacted)
        if (Actions.contains(action)) kept.put("actionType", action)
      case _ => made.add(Redacted)
    }
    made
  }

  private def markIn(text: String): String = {
    val last = text.split(' ').last
    if (!last.matches(OwnMark)) Redacted else if (text == last) text else s"$Redacted $last"
  }
}
