package io.pmeparquet.spark.rules

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.{
  FieldName,
  NoSuchTableException,
  ResolvedIdentifier,
  Star,
  UnresolvedAttribute
}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal, PlanExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.{Identifier, Table, TableCatalog}
import org.apache.spark.sql.execution.datasources.{InsertIntoDataSourceCommand, SaveIntoDataSourceCommand}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.session.{FormatName, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses what would make protected columns of a Delta table readable, before anything runs: a condition with values, which
 * Delta writes into its log; a write that would leave files in plaintext; properties of the table that choose where keys
 * go; and a change of the properties that encrypt. ''Driver only.''
 */
private[spark] object DeltaRules {
  private val Factory = "parquet.crypto.factory.class"
  private val Setting = FormatName.SessionPrefix + PmeOptions.DeltaPredicates.name

  // As analysis leaves them, and as they are before Delta has replaced them.
  private val Conditional = Set(
    "DeleteCommand",
    "UpdateCommand",
    "MergeIntoCommand",
    "DeltaDelete",
    "DeltaUpdateTable",
    "DeltaMergeInto",
    "DeleteFromTable",
    "UpdateTable",
    "MergeIntoTable"
  )
  private val Rewriting = Set("OptimizeTableCommand", "DeltaReorgTableCommand", "DeltaReorgTable")
  private val Constraints = Set("AlterTableAddConstraint", "AddConstraint")
  private val Altering = Set("AlterColumn", "AlterColumns")
  private val Defaults = Seq("setDefaultExpression", "newDefaultExpression")
  private val Targets = Seq("target", "targetTable", "child", "table")

  def check(session: SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val rules = new DeltaRules(session)
    (plan +: plan.subqueriesAll).foreach(_.foreach(rules.judge))
  }
}

private final class DeltaRules(session: SparkSession) {
  import DeltaRules._

  private lazy val factory = SparkAccess.valueOf(session, Map.empty, Factory).filter(_.nonEmpty)
  private lazy val encrypts = factory.contains(FormatName.CryptoFactoryClass)

  /** The keys of every table of the session. */
  private lazy val keysOfSession: Map[String, String] =
    if (!encrypts) Map.empty
    else {
      val conf = SparkAccess.hadoopConf(session, Map.empty)
      val names = Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
      names.flatMap { option =>
        val java = PmeOptions.ParquetPrefix + option.parquetName.get
        Option(conf.get(PmeOptions.FactoryPrefix + option.name)).orElse(Option(conf.get(java))).map(java -> _)
      }.toMap
    }

  private lazy val allowsText: Boolean = {
    // Names of settings differ in case, and the strictest value counts.
    val values = SparkAccess
      .sqlConf(session)
      .getAllConfs
      .collect {
        case (name, value) if name.equalsIgnoreCase(Setting) => value
      }
      .toSeq
    val valid = PmeOptions.DeltaPredicates.values
    values.find(!valid.contains(_)).foreach { value =>
      throw PmeErrors.badOption(Setting, value, valid.mkString("one of: ", ", ", ""))
    }
    values.nonEmpty && values.forall(_ == "allow")
  }

  def judge(node: LogicalPlan): Unit = node match {
    case append: AppendData => DeltaTable.of(append.table).foreach(requireWritable)
    case dynamic: OverwritePartitionsDynamic => DeltaTable.of(dynamic.table).foreach(requireWritable)
    case overwrite: OverwriteByExpression =>
      DeltaTable.of(overwrite.table).foreach { table =>
        requireWritable(table)
        requireSilent("an overwrite", Seq(overwrite.table), Seq(overwrite.deleteExpr))
        requireSilentText(table, overwrite.writeOptions)
      }
    case into: InsertIntoDataSourceCommand => DeltaTable.of(into.logicalRelation).foreach(requireWritable)
    case save: SaveIntoDataSourceCommand if DeltaTable.isDeltas(save.dataSource) =>
      valueOf(save.options, "path").map(DeltaTable.at(session, _)).foreach { table =>
        requireWritable(table)
        requireSilentText(table, save.options)
      }
    case stream: WriteToStream if DeltaTable.isDeltas(stream.sink) =>
      requireWritable(DeltaTable.at(session, DeltaTable.ask(stream.sink, "path").toString))
    case replace: ReplaceTable => requireKeysOfNew(replace.name, replace.tableSpec.properties)
    case replace: ReplaceTableAsSelect =>
      requireKeysOfNew(replace.name, replace.tableSpec.properties)
      requireFactoryOfNew(replace.tableSpec)
      deltaOf(replace.name).foreach(requireSilentText(_, replace.writeOptions))
    case create: CreateTableAsSelect => requireFactoryOfNew(create.tableSpec)
    case set: SetTableProperties =>
      DeltaTable.of(set.table).foreach { table =>
        val changed = set.properties.filterNot { case (name, value) =>
          table.properties.get(name).contains(value)
        }
        requireKept(table, changed.keys.toSeq, "ALTER TABLE SET TBLPROPERTIES")
      }
    case unset: UnsetTableProperties =>
      DeltaTable.of(unset.table).foreach { table =>
        // What was planted may go.
        val removed = unset.propertyKeys.filterNot(table.planted.contains)
        requireKept(table, removed, "ALTER TABLE UNSET TBLPROPERTIES")
      }
    case _ => judgeByName(node)
  }

  private def judgeByName(node: LogicalPlan): Unit = {
    val name = node.getClass.getSimpleName
    if (Conditional.contains(name)) judgeConditions(node, name)
    else if (Rewriting.contains(name)) tablesOf(node).foreach(requireWritable)
    else if (Constraints.contains(name)) tablesOf(node).foreach { table =>
      val text = node.productIterator.collect { case expression: String => expression }.toSeq.lastOption
      requireSilentText(table, "a CHECK constraint", text.getOrElse(""))
    }
    else if (Altering.contains(name)) tablesOf(node).foreach(requireSilentDefaults(_, node))
    else if (name == "RestoreTableCommand" && DeltaTable.isDeltas(node)) judgeRestore(node)
  }

  private def judgeConditions(node: LogicalPlan, name: String): Unit = {
    val tables = tablesOf(node)
    if (tables.isEmpty && DeltaTable.isDeltas(node) && encrypts)
      throw PmeErrors.deltaUnprotected("Delta table", s"$name of a table that cannot be found")
    tables.foreach(requireWritable)
    if (tables.nonEmpty) {
      val plans = node.productIterator.collect { case plan: LogicalPlan => plan }.toSeq
      requireSilent(name, plans, conditionsOf(node))
    }
  }

  private def conditionsOf(node: LogicalPlan): Seq[Expression] = {
    val clauses = node.productIterator.collect { case several: Seq[_] => several }.flatten.collect {
      case clause: Expression if DeltaTable.first(clause, Seq("condition")).isDefined => clause
    }
    (node +: clauses.toSeq)
      .flatMap(one => DeltaTable.first(one, Seq("condition", "mergeCondition")))
      .flatMap {
        case condition: Expression => Seq(condition)
        case Some(condition: Expression) => Seq(condition)
        case _ => Nil
      }
  }

  private def tablesOf(node: LogicalPlan): Seq[DeltaTable] =
    DeltaTable.first(node, Targets).toSeq.flatMap {
      case plan: LogicalPlan =>
        plan.collect { case one if DeltaTable.of(one).isDefined => DeltaTable.of(one).get }
      case _ => Nil
    }

  private def judgeRestore(node: LogicalPlan): Unit = {
    val old = DeltaTable.ask(node, "sourceTable")
    val now = DeltaTable.at(session, DeltaTable.ask(old, "path").toString)
    if (guarded(now) != guarded(DeltaTable.ofTable(old)) && now.keys.nonEmpty)
      throw PmeErrors.deltaUnprotected(now.name, "RESTORE to a version with other properties")
  }

  private def guarded(table: DeltaTable) =
    table.properties.filter { case (name, _) => DeltaTable.isGuarded(name) }

  private def requireWritable(table: DeltaTable): Unit = {
    val planted = table.planted
    if (planted.nonEmpty && (encrypts || planted.exists(_.equalsIgnoreCase(Factory))))
      throw PmeErrors.deltaProperties(table.name, planted)
    if (table.keys.nonEmpty && factory.isEmpty) throw PmeErrors.deltaWithoutFactory(table.name)
  }

  private def requireKept(table: DeltaTable, names: Seq[String], what: String): Unit =
    if (table.keys.nonEmpty && names.exists(DeltaTable.isGuarded))
      throw PmeErrors.deltaUnprotected(table.name, what)

  private def requireKeysOfNew(name: LogicalPlan, properties: Map[String, String]): Unit =
    deltaOf(name).foreach { old =>
      val kept = guarded(old).forall { case (property, value) => properties.get(property).contains(value) }
      if (old.keys.nonEmpty && !kept) throw PmeErrors.deltaUnprotected(old.name, "its replacement")
    }

  private def requireFactoryOfNew(spec: TableSpecBase): Unit =
    if (
      spec.provider.exists(_.equalsIgnoreCase("delta")) && DeltaTable.keysIn(spec.properties).nonEmpty &&
      factory.isEmpty
    ) throw PmeErrors.deltaWithoutFactory("new table")

  private def deltaOf(name: LogicalPlan): Option[DeltaTable] =
    existing(name).filter(DeltaTable.isDeltas(_)).map(DeltaTable.ofTable)

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

  /** A footer key alone protects all columns, unless the table or the session names columns beside it. */
  private def protectedOf(table: DeltaTable): Set[String] = {
    val both = Seq(table.keys, keysOfSession)
    val named = both.filter(DeltaTable.namesColumns)
    (if (named.isEmpty) both else named).flatMap(table.protectedBy).toSet
  }

  private def requireSilent(command: String, plans: Seq[LogicalPlan], conditions: Seq[Expression]): Unit =
    if (!allowsText) {
      val tables = plans.flatMap(_.collectWithSubqueries { case one => one }).flatMap(DeltaTable.of(_))
      val found = new DeltaConditions(
        plans,
        node => DeltaTable.of(node).fold(Set.empty[String])(protectedOf)
      ).shown(conditions.filterNot(_.isInstanceOf[Literal]))
      if (tables.exists(protectedOf(_).nonEmpty) && found.nonEmpty)
        throw PmeErrors.deltaPredicate(tables.head.name, command, found)
    }

  private def requireSilentText(table: DeltaTable, options: Map[String, String]): Unit =
    valueOf(options, "replaceWhere").foreach(requireSilentText(table, "replaceWhere", _))

  private def requireSilentText(table: DeltaTable, what: String, text: String): Unit = {
    val hidden = protectedOf(table)
    if (hidden.nonEmpty && !allowsText) {
      val named = namesIn(text).fold(hidden)(hidden.intersect)
      if (named.nonEmpty) throw PmeErrors.deltaText(table.name, what, named.toSeq.sorted)
    }
  }

  /** Spark 3.5 has one column in the statement, and newer ones a sequence. */
  private def requireSilentDefaults(table: DeltaTable, node: LogicalPlan): Unit = if (!allowsText) {
    val several = DeltaTable.first(node, Seq("specs")).toSeq.flatMap {
      case specs: Seq[_] => specs.collect { case spec: AnyRef => spec }
      case _ => Nil
    }
    val hidden = protectedOf(table)
    for (one <- node +: several; default <- DeltaTable.first(one, Defaults))
      default match {
        case Some(text) if text.toString.nonEmpty =>
          val named = DeltaTable.first(one, Seq("column")) match {
            case Some(column: FieldName) => hidden.intersect(Set(DeltaTable.lower(column.name.head)))
            case _ => hidden
          }
          if (named.nonEmpty) throw PmeErrors.deltaText(table.name, "a default", named.toSeq.sorted)
        case _ => ()
      }
  }

  /** Every name in an expression, in lower case; none if it may name others, or cannot be parsed. */
  private def namesIn(text: String): Option[Set[String]] =
    try {
      val parsed = session.sessionState.sqlParser.parseExpression(text)
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

  private def valueOf(options: Map[String, String], wanted: String) =
    options.collectFirst { case (name, value) if name.equalsIgnoreCase(wanted) => value }
}
