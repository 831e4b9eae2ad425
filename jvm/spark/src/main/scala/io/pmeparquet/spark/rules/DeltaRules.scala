package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.{InsertIntoDataSourceCommand, SaveIntoDataSourceCommand}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.session.{FormatName, PmeSparkException}
import io.pmeparquet.PmeErrors

/**
 * Refuses what would make protected columns of a Delta table readable, before anything runs: a condition with values, which
 * Delta writes into its log; statistics, values of partitions and texts there; a write that would leave files in plaintext;
 * properties of the table that choose where keys go; and a change of the properties that encrypt. ''Driver only.''
 */
private[spark] object DeltaRules {
  private val Rewriting = Set("OptimizeTableCommand", "DeltaReorgTableCommand", "DeltaReorgTable")
  private val Constraints = Set("AlterTableAddConstraint", "AddConstraint")
  private val Altering = Set("AlterColumn", "AlterColumns")
  // They commit, and are no Spark's ALTER. Delta 4 has a TRUNCATE of its own.
  private val Committing = Set("VacuumTableCommand", "TruncateDeltaTableCommand", "TruncateTable")

  def check(session: SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val rules = new DeltaRules(session)
    (plan +: plan.subqueriesAll).foreach(_.foreach(rules.judge))
  }
}

private final class DeltaRules(session: SparkSession) {
  import DeltaRules._

  private val settings = new DeltaSettings(session)
  private val resolved = new ResolvedFactory(session)
  private val texts = new DeltaTexts(session, settings)
  private val creations = new DeltaCreations(session, settings, texts)
  private val replacements = new DeltaReplacements(session)
  private val files = new DeltaFiles(session, settings)

  def judge(node: LogicalPlan): Unit = {
    requireEncryptedCommits(node)
    judgeStatement(node)
  }

  /** Statements of which all commits, or some, write no rows. */
  private def requireEncryptedCommits(node: LogicalPlan): Unit = node match {
    case alter: AlterTableCommand => DeltaTable.of(alter.table).foreach(requireEncryptedLog)
    case _ if Committing.contains(node.getClass.getSimpleName) && !isTrial(node) =>
      DeltaChanges.tablesOf(node).foreach(requireEncryptedLog)
    case _ => ()
  }

  private def isTrial(node: LogicalPlan) =
    DeltaTable.first(node, Seq("dryRun")).contains(java.lang.Boolean.TRUE)

  private def judgeStatement(node: LogicalPlan): Unit = node match {
    case overwrite: OverwriteByExpression =>
      DeltaTable.of(overwrite.table).foreach { table =>
        requireNoKeys(overwrite)
        requireWritable(table)
        val read = Seq(overwrite.table)
        requireSilent(
          "an overwrite",
          read,
          DeltaConditions.of(read, Nil, settings),
          Seq(overwrite.deleteExpr)
        )
        texts.requireSilentOptions(table, overwrite.writeOptions)
      }
    case write: V2WriteCommand =>
      DeltaTable.of(write.table).foreach { table =>
        requireNoKeys(write)
        requireWritable(table)
      }
    case into: InsertIntoDataSourceCommand => DeltaTable.of(into.logicalRelation).foreach(requireWritable)
    case save: SaveIntoDataSourceCommand if DeltaTable.isDeltas(save.dataSource) =>
      requireNoKeys(save)
      DeltaTexts.valueOf(save.options, "path").map(DeltaTable.at(session, _)).foreach { table =>
        val saved = creations.saved(table, save)
        requireWritable(saved)
        texts.requireSilentOptions(saved, save.options)
      }
    case stream: WriteToStream if DeltaTable.isDeltas(stream.sink) =>
      requireNoKeys(stream)
      requireWritable(creations.streamed(stream))
    case stream: WriteToStream =>
      stream.sink match {
        case table: Table if DeltaTable.isKernels(table) => requireWritable(DeltaTable.ofTable(table))
        case _ => ()
      }
    case create: LogicalPlan with V2CreateTablePlan => judgeNew(create)
    case set: SetTableProperties =>
      DeltaTable.of(set.table).foreach { table =>
        val changed = set.properties.filterNot { case (name, value) =>
          table.properties.get(name).contains(value)
        }
        val after = table.withProperties(table.properties ++ set.properties)
        requireKept(table, after, changed.keys.toSeq, "ALTER TABLE SET TBLPROPERTIES")
        requireFactory(after)
        if (changed.keys.exists(DeltaTable.isGuarded)) creations.requireSilentDefinition(after)
        texts.requireSilentConstraints(after, changed)
      }
    case unset: UnsetTableProperties =>
      DeltaTable.of(unset.table).foreach { table =>
        // What was planted may go.
        val removed = unset.propertyKeys.filterNot(table.planted.contains)
        val after = table.withProperties(table.properties -- unset.propertyKeys)
        requireKept(table, after, removed, "ALTER TABLE UNSET TBLPROPERTIES")
      }
    case add: AddColumns => DeltaTable.of(add.table).foreach(texts.requireSilentColumns(_, add.columnsToAdd))
    case replace: ReplaceColumns =>
      DeltaTable.of(replace.table).foreach(texts.requireSilentColumns(_, replace.columnsToAdd))
    case _ => judgeByName(node)
  }

  private def judgeNew(create: LogicalPlan with V2CreateTablePlan): Unit = {
    create match {
      case replace: ReplaceTable =>
        replacements.of(replace.name, replace.tableSpec).foreach(requireEncryptedLog)
      case replace: ReplaceTableAsSelect =>
        replacements
          .of(replace.name, replace.tableSpec)
          .foreach(texts.requireSilentOptions(_, replace.writeOptions))
      case _ => ()
    }
    creations.planned(create).foreach { table =>
      requireNoKeys(create)
      creations.requireSilentDefinition(table)
      requireSilentStatistics(table)
      requireFactory(table)
      if (create.isInstanceOf[V2CreateTableAsSelectPlan]) requireLogKey(table.name)
    }
  }

  private def judgeByName(node: LogicalPlan): Unit = {
    val name = node.getClass.getSimpleName
    if (DeltaChanges.contains(node)) judgeConditions(node, name)
    else if (Rewriting.contains(name)) DeltaChanges.tablesOf(node).foreach(requireWritable)
    else if (Constraints.contains(name)) DeltaChanges.tablesOf(node).foreach { table =>
      val text = node.productIterator.collect { case expression: String => expression }.toSeq.lastOption
      texts.requireSilent(table, "a CHECK constraint", text.getOrElse(""))
    }
    else if (Altering.contains(name)) DeltaChanges.tablesOf(node).foreach(texts.requireSilentChanges(_, node))
    else if (DeltaTable.isDeltas(node)) judgeDeltas(node, name)
  }

  private def judgeDeltas(node: LogicalPlan, name: String): Unit = name match {
    // The API has no statement of Spark's before these.
    case alter if alter.startsWith("AlterTable") && alter.endsWith("DeltaCommand") =>
      requireEncryptedLog(DeltaTable.ofTable(DeltaTable.ask(node, "table").asInstanceOf[Table]))
    case "RestoreTableCommand" => judgeRestore(node)
    case "CreateDeltaTableCommand" =>
      DeltaTable.ask(node, "query") match {
        case Some(clone: LogicalPlan) if clone.getClass.getSimpleName == "CloneTableCommand" =>
          judgeClone(clone)
        case _ => ()
      }
    case "ConvertToDeltaCommand" =>
      requireOurFactory("CONVERT TO DELTA", hasKeys = false)
      if (settings.encrypts && DeltaTable.ask(node, "collectStats") == true) throw PmeErrors.deltaConversion()
      requireLogKey("CONVERT TO DELTA")
    case "DeltaInsertReplaceOnOrUsingCommand" => judgeReplacement(node)
    case _ => ()
  }

  /** INSERT with `replaceOn`, which Delta 4 has. */
  private def judgeReplacement(node: LogicalPlan): Unit = {
    val table = DeltaTable.ofTable(DeltaTable.ask(node, "deltaTable").asInstanceOf[Table])
    requireWritable(table)
    val options = DeltaTable.ask(DeltaTable.ask(DeltaTable.ask(node, "writeCmd"), "options"), "options")
    texts.requireSilentOptions(table, options.asInstanceOf[Map[String, String]])
  }

  /** A clone has the properties of its source, and those of the statement. */
  private def judgeClone(clone: LogicalPlan): Unit = {
    val source = DeltaTable.ask(clone, "sourceTable")
    val name = DeltaTable.ask(source, "name").toString
    val from = DeltaTable.ofMetadata(name, DeltaTable.ask(source, "metadata"))
    val overrides = DeltaTable.ask(clone, "tablePropertyOverrides").asInstanceOf[Map[String, String]]
    val made = from.withProperties(from.properties ++ overrides)
    val target = DeltaTable.at(session, DeltaTable.ask(clone, "targetPath").toString)
    val newest = DeltaTable.ask(source, "snapshot") match {
      case Some(_) => DeltaTable.at(session, DeltaTable.ask(source, "dataPath").toString)
      case _ => from
    }
    requireFactory(made)
    requireLogKey(target.name)
    if (from.keys != made.keys || (newest.keys.nonEmpty && newest.guarded != made.guarded))
      throw PmeErrors.deltaUnprotected(name, "a CLONE with other properties")
    if (target.keys.nonEmpty && !target.isKeptBy(made.properties))
      throw PmeErrors.deltaUnprotected(target.name, "a CLONE in its place")
    texts.requireSilentConstraints(made, overrides)
    files.requireEncrypted(
      made,
      DeltaTable.ask(source, "allFiles"),
      DeltaTable.ask(source, "dataPath").toString,
      "CLONE"
    )
  }

  private def judgeConditions(node: LogicalPlan, name: String): Unit = {
    val tables = DeltaChanges.tablesOf(node)
    if (tables.isEmpty && DeltaTable.isDeltas(node) && settings.encrypts)
      throw PmeErrors.deltaUnprotected("Delta table", s"$name of a table that cannot be found")
    tables.foreach(requireWritable)
    if (tables.nonEmpty) {
      requireSilent(
        name,
        DeltaChanges.plansOf(node),
        DeltaConditions.of(node, settings),
        DeltaChanges.conditionsOf(node)
      )
    }
  }

  private def judgeRestore(node: LogicalPlan): Unit = {
    val old = DeltaTable.ask(node, "sourceTable").asInstanceOf[Table]
    val path = DeltaTable.ask(old, "path").toString
    val (now, was) = (DeltaTable.at(session, path), DeltaTable.ofTable(old))
    requireFactory(now)
    requireFactory(was)
    requireLogKey(now.name)
    if (now.guarded != was.guarded && now.keys.nonEmpty)
      throw PmeErrors.deltaUnprotected(now.name, "RESTORE to a version with other properties")
    creations.requireSilentDefinition(was)
    files.requireEncrypted(was, DeltaTable.ask(DeltaTable.snapshotOf(old), "allFiles"), path, "RESTORE")
  }

  private def requireWritable(table: DeltaTable): Unit = {
    val planted = table.planted.filterNot(settings.allowsProperty)
    if (
      planted.nonEmpty && (settings.encrypts || planted.exists(
        _.equalsIgnoreCase(FormatName.CryptoFactorySetting)
      ))
    )
      throw PmeErrors.deltaProperties(table.name, planted)
    requireEncryptedLog(table)
    if (table.isKernels && settings.namesKeys(table)) throw PmeErrors.deltaConnector(table.name)
    creations.requireSilentValues(table)
    requireSilentStatistics(table)
  }

  /** Delta gives properties to its files' writers, and no options. */
  private def requireNoKeys(node: LogicalPlan): Unit = {
    val names = FormatOptions.writes(node).flatMap(_.options.keys)
    val keys = names.filter(name => DeltaTable.lower(name).startsWith(PmeOptions.ParquetPrefix))
    if (keys.nonEmpty) throw PmeErrors.deltaOptions(keys.distinct.sorted)
  }

  /** Every commit can be the one that gets a checkpoint, also one that writes no rows. */
  private def requireEncryptedLog(table: DeltaTable): Unit = {
    requireFactory(table)
    requireLogKey(table.name)
  }

  private def requireFactory(table: DeltaTable): Unit = {
    if (table.keys.nonEmpty && settings.factory.isEmpty) throw PmeErrors.deltaWithoutFactory(table.name)
    requireOurFactory(table.name, table.keys.nonEmpty)
    resolved.requireSession(table.name)
  }

  /** Another factory than ours gets the keys of a table for its data only, and these rules do not know its protected columns. */
  private def requireOurFactory(table: String, hasKeys: Boolean): Unit =
    settings.factory.foreach { other =>
      if (!settings.encrypts && (hasKeys || settings.namesKeysOfOthers))
        throw PmeErrors.deltaOtherFactory(table, other)
    }

  /** Delta only logs a warning if a checkpoint fails, so a table would be without one, and nobody would know. */
  private def requireLogKey(table: String): Unit =
    if (settings.encrypts && !settings.encryptsLogs) throw PmeErrors.deltaWithoutLogKey(table)

  private def requireSilentStatistics(table: DeltaTable): Unit = if (settings.namesKeys(table)) {
    val shown = table.statistics.intersect(settings.protectedOf(table))
    if (shown.nonEmpty) throw PmeErrors.deltaStatistics(table.name, shown.toSeq.sorted)
  }

  private def requireKept(table: DeltaTable, after: DeltaTable, names: Seq[String], what: String): Unit =
    if (table.keys.nonEmpty) {
      val (statistics, others) = names.filter(DeltaTable.isGuarded).partition(DeltaTable.isStatistics)
      val shown =
        if (statistics.isEmpty) Set.empty[String]
        else after.statistics.intersect(settings.protectedOf(after))
      if (others.nonEmpty || shown.nonEmpty) throw PmeErrors.deltaUnprotected(table.name, what)
    }

  private def requireSilent(
      command: String,
      plans: Seq[LogicalPlan],
      judge: DeltaConditions,
      conditions: Seq[Expression]
  ): Unit =
    if (!settings.allowsText) {
      val found = judge.shown(conditions)
      val tables = DeltaChanges.tablesIn(plans)
      if (tables.exists(settings.protectedOf(_).nonEmpty) && found.nonEmpty)
        throw PmeErrors.deltaPredicate(tables.head.name, command, found)
    }
}
