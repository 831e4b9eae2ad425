package io.pmeparquet.delta

import scala.collection.JavaConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.catalyst.analysis.{Star, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions.PlanExpression
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._

import io.pmeparquet.PmeErrors

/**
 * What a session must have to write to a Delta table, and what the table's definition must not show of protected columns.
 * [[DeltaRules]] asks before a statement runs, and [[CommitGuard]] when it commits. ''Driver only.''
 */
private[delta] final class DeltaProtection(settings: DeltaSettings) {
  import DeltaProtection._

  /** Refuses a session whose files, or checkpoints, of the table would be plaintext. */
  def requireFactory(table: DeltaTable): Unit = {
    if (table.keys.nonEmpty && settings.factory.isEmpty) throw PmeErrors.deltaWithoutFactory(table.name)
    // Another factory than ours gets the keys of a table for its data only, and nothing here knows its protected columns.
    settings.factory.foreach { other =>
      if (!settings.encrypts && (table.keys.nonEmpty || settings.namesKeysOfOthers))
        throw PmeErrors.deltaOtherFactory(table.name, other)
    }
  }

  /** Delta only logs a warning if a checkpoint fails, so a table would be without one, and nobody would know. */
  def requireLogKey(table: String): Unit =
    if (settings.encrypts && !settings.encryptsLogs) throw PmeErrors.deltaWithoutLogKey(table)

  /** Refuses properties that choose where keys go, but for those that the table had before. */
  def requireOwnProperties(table: DeltaTable, before: Seq[String] = Nil): Unit =
    if (settings.encrypts) {
      val planted = table.planted.filterNot(name => settings.allowsProperty(name) || before.contains(name))
      if (planted.nonEmpty) throw PmeErrors.deltaProperties(table.name, planted)
    }

  /** Refuses partitions by protected columns. */
  def requireSilentPartitions(table: DeltaTable): Unit = if (settings.namesKeys(table)) {
    val hidden = settings.protectedOf(table)
    val shown = table.partitionColumns.map(DeltaTable.lower).filter(hidden.contains)
    if (shown.nonEmpty) throw PmeErrors.deltaPartition(table.name, shown.distinct.sorted)
  }

  /**
   * Refuses texts of the definition that name protected columns: constraints, defaults, expressions, bounds.
   *
   * @param always whether also in a session that allows such texts
   */
  def requireSilentTexts(table: DeltaTable, always: Boolean = false): Unit = if (
    settings.namesKeys(table) && (always || !settings.allowsText)
  ) {
    val hidden = table.stored(settings.protectedOf(table))
    table.properties.foreach { case (name, text) =>
      if (DeltaTable.lower(name).startsWith(Constraints) && text != null)
        requireSilent(table, "a CHECK constraint", text, hidden)
    }
    for (field <- table.schema.fields; (name, metadata) <- nestedIn(field, Nil))
      requireSilentField(table, field, name, metadata, hidden)
  }

  private def requireSilentField(
      table: DeltaTable,
      top: StructField,
      name: String,
      metadata: Metadata,
      hidden: Set[String]
  ): Unit = {
    val isHidden = hidden.contains(DeltaTable.lower(top.name))
    namesIn(metadata).foreach {
      case text @ (Generated | GeneratedInPlans | Invariants) =>
        requireSilent(table, "the expression of a generated column", metadata.getString(text), hidden)
      case Default | ExistsDefault =>
        if (isHidden) throw PmeErrors.deltaText(table.name, "a default", Seq(name))
      case known if Harmless.exists(known.startsWith) => ()
      case other =>
        // A user may give columns metadata of his own. Delta's may name other columns.
        if (isHidden || (other.startsWith("delta.") && !other.startsWith(Identity)))
          throw PmeErrors.deltaText(table.name, s"the column's metadata '$other'", Seq(name))
    }
  }

  private def requireSilent(table: DeltaTable, what: String, text: String, hidden: Set[String]): Unit = {
    val found = columnsIn(text).fold(hidden)(hidden.intersect)
    if (found.nonEmpty) throw PmeErrors.deltaText(table.name, what, found.toSeq.sorted)
  }
}

private object DeltaProtection {
  private val Generated = "delta.generationExpression"
  // As Spark's plans have it.
  private val GeneratedInPlans = "GENERATION_EXPRESSION"
  private val Invariants = "delta.invariants"
  private val Default = "CURRENT_DEFAULT"
  private val ExistsDefault = "EXISTS_DEFAULT"
  private val Constraints = "delta.constraints."
  // Bounds of the values of the column that has them.
  private val Identity = "delta.identity."

  /** What names, numbers and types are in (Delta's protocol, "Schema Serialization Format"), and no value. */
  private val Harmless = Seq(
    "delta.columnMapping.",
    "delta.typeChanges",
    "__CHAR_VARCHAR_TYPE_STRING",
    "parquet.field.",
    "comment"
  )

  private val json = new ObjectMapper

  private def namesIn(metadata: Metadata): Seq[String] =
    json.readTree(metadata.json).fieldNames.asScala.toList

  /** A field and those inside it, with their names. */
  private def nestedIn(field: StructField, above: Seq[String]): Seq[(String, Metadata)] = {
    val path = above :+ field.name
    (path.mkString(".") -> field.metadata) +: inside(field.dataType, path)
  }

  private def inside(kind: DataType, path: Seq[String]): Seq[(String, Metadata)] = kind match {
    case struct: StructType => struct.fields.toSeq.flatMap(nestedIn(_, path))
    case ArrayType(element, _) => inside(element, path)
    case MapType(key, value, _) => inside(key, path) ++ inside(value, path)
    case _ => Nil
  }

  /** Every name in an expression, in lower case; none if it may name others, or cannot be parsed. */
  private def columnsIn(text: String): Option[Set[String]] =
    try {
      val parsed = CatalystSqlParser.parseExpression(text)
      val others = parsed.collect {
        case star: Star => star
        case subquery: PlanExpression[_] => subquery
      }
      if (others.nonEmpty) None
      else
        Some(
          parsed
            .collect { case name: UnresolvedAttribute => name.nameParts.map(DeltaTable.lower) }
            .flatten
            .toSet
        )
    } catch { case NonFatal(_) => None }
}
