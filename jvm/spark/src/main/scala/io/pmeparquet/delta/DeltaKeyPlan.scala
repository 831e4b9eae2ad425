package io.pmeparquet.delta

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.types._
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, LeafColumn}
import io.pmeparquet.spark.admin.{PlannedColumn, WritePlan}
import io.pmeparquet.spark.admin.job.FileFailure
import io.pmeparquet.PmeErrors

/**
 * Which key each column of a Delta table is to have, and what of it stays readable. ''Driver only.''
 *
 * @param columns the master key of each leaf column, in the table's order; none if it stays readable
 * @param stored the same by the names that files have, in lower case
 * @param properties the table properties that name the keys, by the names that files have
 * @param statistics the columns whose minimum and maximum may be in the log
 * @param named the columns that nothing in the log may show
 * @param order the name of a column that rows can be ordered by, readable if there is such a one
 */
private[delta] final case class DeltaKeyPlan(
    columns: Seq[(String, Option[String])],
    stored: Map[String, Option[String]],
    properties: Map[String, String],
    statistics: Seq[String],
    named: Seq[String],
    order: Option[String]
) {
  val footerKey: String = properties(DeltaTable.FooterKeyName)

  /** The key of each column that files of the table may have, by its name there in lower case. */
  def keysOf(table: DeltaTable): Map[String, Option[String]] = {
    // A partition column in a file, and those of row tracking, are columns that no pattern names.
    val unlisted =
      if (properties.contains(DeltaTable.ColumnKeysName) && !isComplete) None else Some(footerKey)
    val others = table.partitionColumns.map(DeltaKeyPlan.inFiles(table.schema, _)) ++
      DeltaKeyPlan.RowTracking.flatMap(table.properties.get)
    others.map(name => DeltaTable.lower(name) -> unlisted).toMap ++ stored
  }

  /** Whether columns without a key of their own are under the footer key. */
  def isComplete: Boolean = properties.contains(DeltaTable.CompleteName)

  /** The top-level columns without a key on any part, by the names that the log has in lower case. */
  def readable: Set[String] = {
    val (hidden, open) = stored.toSeq.partition(_._2.isDefined)
    def tops(found: Seq[(String, Option[String])]) =
      found.map { case (name, _) => DeltaKeyPlan.topOf(name) }.toSet
    tops(open) -- tops(hidden)
  }
}

private[delta] object DeltaKeyPlan {
  val StatisticsColumns = "delta.dataSkippingStatsColumns"
  val IndexedColumns = "delta.dataSkippingNumIndexedCols"
  private val DefaultIndexed = 32

  // Delta writes these columns into files although the schema does not have them.
  private val RowTracking = Seq(
    "delta.rowTracking.materializedRowIdColumnName",
    "delta.rowTracking.materializedRowCommitVersionColumnName"
  )
  private val Simple = """[\w.*@#$-]+"""
  private val json = new ObjectMapper().registerModule(DefaultScalaModule)

  /**
   * @param clustering the columns of liquid clustering
   * @param options of a write, with a footer key
   * @throws io.pmeparquet.PmeException if a write with these options would fail, or Delta would show a protected column
   */
  def of(
      session: SparkSession,
      table: DeltaTable,
      clustering: Seq[String],
      options: Map[String, String]
  ): DeltaKeyPlan = {
    val (physical, partitions) = (inFiles(table.schema), table.partitionColumns.map(inFiles(table.schema, _)))
    def planned(schema: StructType, parts: Seq[String], options: Map[String, String]) =
      plan(session, schema, parts, options)
    val logical = planned(table.schema, table.partitionColumns, options)
    val names = planned(physical, partitions, options - "columnKeys" - "unlistedColumns")
    val patterns = patternsOf(logical.columns, names.columns)
    val wanted =
      if (patterns.isEmpty) options else options + ("columnKeys" -> json.writeValueAsString(patterns.toMap))
    val files = planned(physical, partitions, wanted)
    if (files.columns.map(_.key) != logical.columns.map(_.key)) throw PmeErrors.deltaPhysicalNames(table.name)
    val columns = leaves(logical)
    val keys = columns.map(one => one.name -> one.key)
    val open = keys.collect { case (name, None) => name }.toSet
    clustering.find(!open(_)).foreach(column => throw PmeErrors.deltaClustered(table.name, column))
    val chosen = columns.filter(_.by == PlannedColumn.ColumnKey).map(_.name)
    DeltaKeyPlan(
      keys,
      leaves(files).map(one => DeltaTable.lower(one.name) -> one.key).toMap,
      propertiesOf(options, patterns),
      statisticsOf(table, keys, open, clustering),
      if (chosen.isEmpty) keys.map(_._1) else chosen,
      orderOf(table, open)
    )
  }

  private def leaves(plan: WritePlan) = plan.columns.filter(_.by != PlannedColumn.Partition)

  private def plan(
      session: SparkSession,
      schema: StructType,
      partitions: Seq[String],
      options: Map[String, String]
  ): WritePlan = {
    val made = WritePlan.of(session, schema, partitions, options)
    made.refusals.headOption.foreach(refused => throw FileFailure(refused.condition, refused.message).raised)
    made.unmatched.headOption.foreach { one =>
      throw PmeErrors.unknownColumn(one.pattern, made.columns.map(_.name))
    }
    made
  }

  /** The patterns of each key by the names in files; a pattern of a struct stays one of the struct. */
  private def patternsOf(
      columns: Seq[PlannedColumn],
      files: Seq[PlannedColumn]
  ): Seq[(String, Seq[String])] = {
    val named = for {
      (column, file) <- columns.zip(files) if column.by == PlannedColumn.ColumnKey
      (key, pattern) <- column.key.zip(column.pattern)
    } yield {
      val depth = ColumnKeys.parsePattern(pattern).names.size
      key -> ColumnKeys
        .parsePattern(file.name)
        .names
        .take(depth)
        .map(name => LeafColumn.quoted(name.text))
        .mkString(".")
    }
    named.map(_._1).distinct.map(key => key -> named.collect { case (`key`, name) => name }.distinct)
  }

  private def propertiesOf(options: Map[String, String], patterns: Seq[(String, Seq[String])]) = {
    val isSimple = patterns.forall { case (key, names) => (key +: names).forall(_.matches(Simple)) }
    val text =
      if (isSimple) patterns.map { case (key, names) => s"$key: ${names.mkString(", ")}" }.mkString("; ")
      else json.writeValueAsString(patterns.toMap)
    val named = if (patterns.isEmpty) Map.empty else Map(DeltaTable.ColumnKeysName -> text)
    val complete =
      if (patterns.isEmpty || options.get("unlistedColumns").contains("plaintext")) Map.empty
      else Map(DeltaTable.CompleteName -> "true")
    Map(DeltaTable.FooterKeyName -> options("footerKey")) ++ named ++ complete ++
      options.get("algorithm").map(DeltaTable.AlgorithmName -> _)
  }

  /** A leaf column that is in no list or map. */
  private final case class Leaf(path: Seq[String], kind: DataType) {
    def name: String = path.map(LeafColumn.quoted).mkString(".")

    /** The name as Delta's properties have it, which have other names in backticks. */
    def inProperty: String =
      path
        .map(one => if (one.matches("[A-Za-z0-9_]+")) one else "`" + one.replace("`", "``") + "`")
        .mkString(".")

    /** Whether Delta takes minimum and maximum of it. */
    def hasBounds: Boolean = kind match {
      case _: NumericType | _: StringType | DateType | TimestampType | TimestampNTZType => true
      case _ => false
    }
    def isOrdered: Boolean = hasBounds || kind == BooleanType || kind == BinaryType
  }

  private def leavesOf(table: DeltaTable): Seq[Leaf] = {
    def below(schema: StructType, above: Seq[String]): Seq[Leaf] = schema.fields.toSeq.flatMap { field =>
      field.dataType match {
        case struct: StructType => below(struct, above :+ field.name)
        case kind => Seq(Leaf(above :+ field.name, kind))
      }
    }
    below(table.schema, Nil).filterNot(leaf => table.partitionColumns.contains(leaf.path.head))
  }

  /** The readable columns that have statistics now: the first ones, if no property says which. */
  private def statisticsOf(
      table: DeltaTable,
      keys: Seq[(String, Option[String])],
      open: Set[String],
      clustering: Seq[String]
  ): Seq[String] = {
    val able = leavesOf(table).filter(_.hasBounds)
    val now = table.properties.get(StatisticsColumns) match {
      case Some(listed) =>
        val wanted =
          listed
            .split(",")
            .toSeq
            .map(_.trim)
            .filter(_.nonEmpty)
            .map(ColumnKeys.parsePattern(_).names.map(_.text))
        able.filter { leaf =>
          wanted.exists(path => leaf.path.map(DeltaTable.lower).startsWith(path.map(DeltaTable.lower)))
        }
      case None =>
        val count = table.properties.get(IndexedColumns).fold(DefaultIndexed)(_.toInt)
        val first = if (count < 0) able else able.take(count)
        able.filter(leaf => first.contains(leaf) || clustering.contains(leaf.name))
    }
    // Delta's properties name whole columns, so a struct with a protected field has no statistics.
    val hidden = keys.collect { case (name, Some(_)) => DeltaTable.lower(topOf(name)) }.toSet
    now.filter(leaf => open(leaf.name) && !hidden(DeltaTable.lower(leaf.path.head))).map(_.inProperty)
  }

  private def topOf(name: String) = ColumnKeys.parsePattern(name).names.head.text

  private def orderOf(table: DeltaTable, open: Set[String]): Option[String] = {
    val able = leavesOf(table).filter(leaf => leaf.isOrdered && leaf.path.size == 1)
    able.find(leaf => open(leaf.name)).orElse(able.headOption).map(_.path.head)
  }

  /** A schema with the names that files have. */
  def inFiles(schema: StructType): StructType = StructType(schema.map { field =>
    field.copy(name = DeltaTable.nameInFiles(field), dataType = inFiles(field.dataType))
  })

  private def inFiles(kind: DataType): DataType = kind match {
    case struct: StructType => inFiles(struct)
    case ArrayType(element, hasNulls) => ArrayType(inFiles(element), hasNulls)
    case MapType(key, value, hasNulls) => MapType(inFiles(key), inFiles(value), hasNulls)
    case other => other
  }

  private def inFiles(schema: StructType, column: String): String =
    schema.find(_.name == column).fold(column)(DeltaTable.nameInFiles)
}
