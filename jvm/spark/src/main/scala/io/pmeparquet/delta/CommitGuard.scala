package io.pmeparquet.delta

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.JsonNode

import io.pmeparquet.{PmeErrors, StrictJson}

/**
 * The actions of one commit to a Delta table (Delta's protocol, "Actions"). If keys protect columns of the table, it knows
 * every action, every field of it and every table feature that may be there, and refuses all others. Values of protected
 * columns in the table's state are refused: statistics, partitions, texts of the definition. Delta also writes the state
 * elsewhere, from memory. What is only history loses its texts: see [[CommitInfo]]. ''Driver only.''
 *
 * @param before the table before the commit
 * @param mayChangeKeys whether this commit may change the table's keys: that of a rotation
 * @param firstReadable finds a file that is not encrypted, among paths as the log has them, with lengths
 * @param sources finds the other tables to which files of such paths belong: those of a clone
 */
private[delta] final class CommitGuard(
    settings: DeltaSettings,
    before: DeltaTable,
    mayChangeKeys: Boolean,
    firstReadable: Seq[(String, Long)] => Option[String],
    sources: Seq[String] => Seq[DeltaTable]
) {
  import CommitGuard._

  private val protection = new DeltaProtection(settings)

  /**
   * @param version that the commit makes; none for a checkpoint
   * @return the lines to write
   * @throws io.pmeparquet.PmeException if the commit would make protected columns readable, or may do so
   */
  def checked(lines: Seq[String], version: Option[Long]): Seq[String] =
    if (!settings.encrypts && before.keys.isEmpty && !lines.exists(_.contains("\"metaData\""))) lines
    else evaluated(lines, version)

  private def evaluated(lines: Seq[String], version: Option[Long]): Seq[String] = {
    val actions = lines.filter(_.nonEmpty).map(parsed)
    val after = actions
      .collectFirst { case ("metaData", fields) =>
        DeltaTable.ofJson(before.name, fields)
      }
      .getOrElse(before)
    Seq(before, after).foreach(protection.requireFactory)
    // A table that is created without files has no checkpoint. That of a clone has one at once.
    if (!version.contains(0L) || !isOf(actions, "CREATE TABLE") || actions.exists(_._1 == "add"))
      protection.requireLogKey(before.name)
    protection.requireOwnProperties(after, before.planted)
    requireKeysOfSources(after, actions)
    if (!Seq(before, after).exists(settings.namesKeys)) {
      requireNoConversion(actions)
      lines
    } else new Evaluation(after, actions).lines
  }

  /** The next files of a clone would have no keys, also if it is one of a version from before its source had them. */
  private def requireKeysOfSources(after: DeltaTable, actions: Seq[(String, ObjectNode)]): Unit =
    sources(newFiles(actions).map(_._1)).foreach { source =>
      val hidden = source.stored(source.protectedBy(source.keys)).intersect(after.stored(after.columns))
      val hasOwnKeys = Seq(source, after).map(_.keys.contains(DeltaTable.ColumnKeysName))
      if (!hidden.subsetOf(after.stored(after.protectedBy(after.keys))) || hasOwnKeys == Seq(true, false))
        throw PmeErrors.deltaUnprotected(source.name)
    }

  private def parsed(line: String): (String, ObjectNode) = {
    val fields =
      try Option(json.readTree(line)).toSeq.flatMap(_.fields.asScala.toList)
      catch { case NonFatal(_) => Nil }
    fields match {
      case Seq(one) if one.getValue.isObject => one.getKey -> one.getValue.asInstanceOf[ObjectNode]
      case _ => throw PmeErrors.deltaUnknown(before.name, "a line of the commit that is not one action")
    }
  }

  private def isOf(actions: Seq[(String, ObjectNode)], operation: String) = actions.exists {
    case (name, fields) => name == "commitInfo" && fields.path("operation").asText == operation
  }

  /** Files of such a table may be encrypted, and Delta has read minimum and maximum from them. */
  private def requireNoConversion(actions: Seq[(String, ObjectNode)]): Unit =
    if (settings.encrypts) {
      if (
        isOf(actions, "CONVERT") && actions.exists { case (name, fields) =>
          name == "add" && hasText(fields, "stats")
        }
      )
        throw PmeErrors.deltaConversion
    }

  private final class Evaluation(after: DeltaTable, actions: Seq[(String, ObjectNode)]) {
    private val hidden = after.stored(settings.protectedOf(after))
    private val readable = after.stored(after.columns) -- hidden

    def lines: Seq[String] = {
      val made = actions.map { case (name, fields) =>
        json.writeValueAsString(json.createObjectNode.set[ObjectNode](name, evaluated(name, fields)))
      }
      requireEncryptedFiles()
      made
    }

    private def evaluated(name: String, fields: ObjectNode): ObjectNode = {
      val known = Fields.getOrElse(name, throw unknown(s"the action '$name'"))
      fields.fieldNames.asScala.find(!known.contains(_)).foreach { field =>
        throw unknown(s"the field '$field' of the action '$name'")
      }
      name match {
        case "commitInfo" if !settings.allowsText => CommitInfo.redacted(fields)
        case "metaData" => requireSilentDefinition(); fields
        case "protocol" => requireFeatures(fields); fields
        case "domainMetadata" =>
          val domain = fields.path("domain").asText
          if (!Domains.contains(domain)) throw unknown(s"the metadata domain '$domain'")
          fields
        case "add" => requireSilentFile(name, fields); requireSilentStatistics(fields); fields
        case "cdc" => requireSilentFile(name, fields); fields
        case "remove" =>
          requireSilentFile(name, fields)
          // Those of a file from before the table had keys are in the log already.
          if (shownIn(fields).nonEmpty) fields.remove("stats")
          fields
        case _ => fields
      }
    }

    private def unknown(what: String) = PmeErrors.deltaUnknown(after.name, what)

    private def requireSilentDefinition(): Unit = {
      if (before.keys.nonEmpty && !mayChangeKeys && before.guarded != after.guarded)
        throw PmeErrors.deltaUnprotected(after.name)
      protection.requireSilentPartitions(after)
      protection.requireSilentTexts(after)
    }

    private def requireFeatures(protocol: ObjectNode): Unit =
      for {
        list <- Seq("readerFeatures", "writerFeatures")
        feature <- protocol.path(list).elements.asScala.map(_.asText) if !Features.contains(feature)
      } throw unknown(s"the table feature '$feature'")

    private def requireSilentFile(action: String, fields: ObjectNode): Unit = {
      val partitions = namesIn(fields.path("partitionValues")).filterNot(readable.contains)
      if (partitions.nonEmpty) throw PmeErrors.deltaPartition(after.name, partitions.sorted)
      fields.path("tags").fieldNames.asScala.find(!Tags.contains(_)).foreach { tag =>
        throw unknown(s"the tag '$tag' of the action '$action'")
      }
    }

    private def requireSilentStatistics(add: ObjectNode): Unit = {
      val shown = shownIn(add)
      if (shown.nonEmpty) throw PmeErrors.deltaStatistics(after.name, shown.sorted)
    }

    /** The columns with statistics that are protected, or that the table does not have. */
    private def shownIn(file: ObjectNode): Seq[String] =
      if (hasText(file, "stats")) CommitGuard.shownIn(after.name, file.path("stats").asText, readable)
      else Nil

    private def requireEncryptedFiles(): Unit =
      firstReadable(newFiles(actions)).foreach(file => throw PmeErrors.deltaOldFiles(after.name, file))
  }
}

private object CommitGuard {
  private val json = StrictJson.mapper

  /** The fields of each action that a commit or a checkpoint may have (Delta's protocol, "Actions"). */
  private val Fields: Map[String, Set[String]] = {
    val ofFiles = Set("path", "partitionValues", "size", "dataChange", "tags")
    val ofData = ofFiles ++ Set("deletionVector", "baseRowId", "defaultRowCommitVersion", "stats")
    Map(
      "add" -> (ofData ++ Set("modificationTime", "clusteringProvider")),
      "remove" -> (ofData ++ Set("deletionTimestamp", "extendedFileMetadata")),
      "cdc" -> ofFiles,
      "metaData" -> Set(
        "id",
        "name",
        "description",
        "format",
        "schemaString",
        "partitionColumns",
        "configuration",
        "createdTime"
      ),
      "protocol" -> Set("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"),
      "txn" -> Set("appId", "version", "lastUpdated"),
      "domainMetadata" -> Set("domain", "configuration", "removed"),
      "checkpointMetadata" -> Set("version", "tags"),
      "sidecar" -> Set("path", "sizeInBytes", "modificationTime", "tags"),
      "commitInfo" -> CommitInfo.Fields
    )
  }

  /** Features of tables that write nothing of values but what is looked at here. */
  private val Features = Set(
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "rowTracking",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantType",
    "variantType-preview"
  )

  // They have names of columns, and a number of rows.
  private val Domains = Set("delta.clustering", "delta.rowTracking")

  private val Tags = Set(
    "ICEBERG_COMPAT_VERSION",
    "INSERTION_TIME",
    "MAX_INSERTION_TIME",
    "MIN_INSERTION_TIME",
    "OPTIMIZE_TARGET_SIZE",
    "PARTITION_ID",
    "ZCUBE_ID",
    "ZCUBE_ZORDER_BY",
    "ZCUBE_ZORDER_CURVE"
  )

  // Of statistics (Delta's protocol, "Per-file Statistics"): by column, and of the file.
  private val Bounds = Set("minValues", "maxValues", "nullCount")
  private val Counts = Set("numRecords", "tightBounds")

  /** Paths and lengths. A file that the commit also removes was the table's before: it gets a deletion vector. */
  private def newFiles(actions: Seq[(String, ObjectNode)]): Seq[(String, Long)] = {
    val removed = actions.collect { case ("remove", fields) => fields.path("path").asText }.toSet
    actions.collect {
      case ("add" | "cdc", fields) if !removed.contains(fields.path("path").asText) =>
        fields.path("path").asText -> fields.path("size").asLong
    }
  }

  /**
   * The columns with statistics, in lower case, that are none of these.
   *
   * @param stats of a file (Delta's protocol, "Per-file Statistics")
   */
  def shownIn(table: String, stats: String, readable: Set[String]): Seq[String] = {
    val parsed =
      try json.readTree(stats)
      catch { case NonFatal(_) => throw PmeErrors.deltaUnknown(table, "statistics that are not JSON") }
    parsed.fields.asScala.toList.flatMap { one =>
      if (Bounds.contains(one.getKey)) namesIn(one.getValue).filterNot(readable.contains)
      else if (Counts.contains(one.getKey) && !one.getValue.isContainerNode && !one.getValue.isTextual) Nil
      else Seq(one.getKey)
    }.distinct
  }

  private def hasText(node: JsonNode, name: String) =
    node.path(name).isValueNode && node.path(name).asText.nonEmpty && !node.path(name).isNull

  private def namesIn(node: JsonNode): Seq[String] = node.fieldNames.asScala.map(DeltaTable.lower).toList
}
