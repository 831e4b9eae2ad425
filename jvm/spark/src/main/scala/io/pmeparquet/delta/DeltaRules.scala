package io.pmeparquet.delta

import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedTable}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.{Table, TableCatalog}
import org.apache.spark.sql.execution.datasources.{
  DataSourceUtils,
  InsertIntoDataSourceCommand,
  SaveIntoDataSourceCommand
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.options.{DeltaNames, PmeOptions}
import io.pmeparquet.spark.rules.{FormatOptions, PlanFields, ResolvedFactory}
import io.pmeparquet.spark.session.{DeltaClasses, FormatName, GuardSetting, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * What the guard of Delta's commits cannot see, or sees too late: files are written before the commit. So each command on a
 * Delta table is refused before it runs if the session would write its files, or names of directories, in plaintext, if
 * the table's properties choose where keys go, or if the guard is not there ([[CommitGuard]] does the rest). Every command
 * counts, also one that nobody knows, except those that change nothing. ''Driver only.''
 */
private[pmeparquet] object DeltaRules {
  // Spark's and Delta's commands that write nothing to a table, or remove what must not be there.
  private val Harmless = Seq(
    "Cache",
    "Describe",
    "Drop",
    "Explain",
    "Refresh",
    "Show",
    "Uncache",
    "UnsetTableProperties"
  )

  def check(session: SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val rules = new DeltaRules(session)
    PlanFields.nodes(plan).foreach(rules.check)
  }

  /** Refuses a session that would write the table's files in plaintext, or commit without the guard. */
  def requireSession(session: SparkSession, table: DeltaTable): Unit =
    new DeltaRules(session).requireSession(table)

  /** Refuses a table whose definition shows something of protected columns. */
  def requireSilent(session: SparkSession, table: DeltaTable): Unit = {
    val protection = new DeltaRules(session).protection
    protection.requireSilentPartitions(table)
    protection.requireSilentTexts(table, always = true)
  }
}

private final class DeltaRules(session: SparkSession) {
  import DeltaRules._

  private lazy val settings = new DeltaSettings(SparkAccess.hadoopConf(session, Map.empty))
  private lazy val protection = new DeltaProtection(settings)

  def check(node: LogicalPlan): Unit = node match {
    case write: V2WriteCommand => DeltaTable.of(write.table).foreach(requireWrite(_, write))
    case into: InsertIntoDataSourceCommand =>
      DeltaTable.of(into.logicalRelation).foreach(requireWrite(_, into))
    case save: SaveIntoDataSourceCommand if DeltaTable.isTable(save.dataSource) =>
      valueOf(save.options, "path").foreach(path => requireWrite(saved(path, save), save))
    case stream: WriteToStream => streamed(stream).foreach(requireWrite(_, stream))
    case create: V2CreateTablePlan => planned(create).foreach(requireCreation(_, create))
    case other if isCommand(other) =>
      val targets = targetsOf(other)
      // It may make a table, as CONVERT TO DELTA does, and Delta reads files before the commit.
      if (targets.isEmpty && DeltaTable.isTable(other))
        protection.requireFactory(new DeltaTable(other.nodeName, Map.empty, new StructType, Nil))
      targets.foreach(requireSession)
    case _ => ()
  }

  private def requireWrite(table: DeltaTable, node: LogicalPlan): Unit = {
    requireNoKeys(node)
    requireSession(table)
    protection.requireSilentPartitions(table)
  }

  private def requireCreation(made: DeltaTable, create: V2CreateTablePlan): Unit = {
    requireNoKeys(create)
    val before = replaced(create)
    before.foreach(requireSession)
    // The files are written before the commit that would lose the keys is refused.
    val table = before.filter(_.keys.nonEmpty).fold(made)(made.under)
    protection.requireOwnProperties(table)
    protection.requireSilentPartitions(table)
    if (create.isInstanceOf[V2CreateTableAsSelectPlan]) requireSession(table)
    else requireGuarded(table)
  }

  private def requireSession(table: DeltaTable): Unit = {
    if (
      table.planted.exists(name =>
        name.equalsIgnoreCase(FormatName.CryptoFactorySetting) && !settings.allowsProperty(name)
      )
    )
      throw PmeErrors.deltaProperties(table.name, table.planted)
    protection.requireOwnProperties(table)
    requireGuarded(table)
    protection.requireLogKey(table.name)
  }

  private def requireGuarded(table: DeltaTable): Unit = {
    protection.requireFactory(table)
    new ResolvedFactory(session).requireSession(table.name)
    if (settings.namesKeys(table)) {
      new ResolvedFactory(session).requireNoPolicy(table.name)
      settings.requireValid()
      if (table.isKernels) throw PmeErrors.deltaConnector(table.name)
      if (!isGuarded(table)) throw PmeErrors.deltaWithoutGuard(table.name, FormatName.LogStoreClass)
    }
  }

  /** Whether Delta commits to the table through the guard: by the store that it has, and not by settings. */
  private def isGuarded(table: DeltaTable) = table.log match {
    case None => GuardSetting.isSet(session.sparkContext.getConf)
    case Some(log) =>
      val store = DeltaClasses.ask(log, "store")
      val path = DeltaClasses.ask(log, "logPath")
      val ofScheme =
        store.getClass.getMethods.find(_.getName == "getDelegate").fold(store)(_.invoke(store, path))
      val behind = DeltaClasses.first(ofScheme, Seq("logStoreImpl")).getOrElse(ofScheme)
      behind.getClass.getName == FormatName.LogStoreClass
  }

  /** Delta gives properties to its files' writers, and no options. */
  private def requireNoKeys(node: LogicalPlan): Unit = {
    val names = FormatOptions.writes(node).flatMap(_.options.keys)
    val keys = names.filter { name =>
      DeltaTable.lower(name).startsWith(PmeOptions.ParquetPrefix) || DeltaNames.concerns(name)
    }
    if (keys.nonEmpty) throw PmeErrors.deltaOptions(keys.distinct.sorted)
  }

  private def isCommand(node: LogicalPlan) =
    (node.isInstanceOf[Command] || DeltaTable.isTable(node)) &&
      !Harmless.exists(node.getClass.getSimpleName.startsWith) &&
      // VACUUM … DRY RUN only counts.
      !DeltaClasses.first(node, Seq("dryRun")).contains(java.lang.Boolean.TRUE)

  /**
   * The tables that a command changes. A command of Spark's has such a table resolved by its name; all other tables are what
   * it reads. One of Delta's may change all tables that it names, except in what a MERGE or a creation reads.
   */
  private def targetsOf(command: LogicalPlan): Seq[DeltaTable] =
    if (!DeltaTable.isTable(command))
      command.children.collect { case table: ResolvedTable => table }.flatMap(DeltaTable.of(_))
    else {
      val read = Seq("source", "query").flatMap(name => DeltaClasses.first(command, Seq(name)))
      clonedBy(command) ++ (command.productIterator.toSeq ++ command.children)
        .collect { case one: AnyRef if !read.exists(_ eq one) => one }
        .flatMap {
          case Some(one: AnyRef) => Seq(one)
          case one => Seq(one)
        }
        .flatMap {
          case plan: LogicalPlan => plan.collect { case one => DeltaTable.of(one) }.flatten
          case table: Table if DeltaTable.isTable(table) => Seq(DeltaTable.ofTable(table))
          case _ => Nil
        }
    }

  /** CLONE has the properties of its source, and makes directories before it opens the source's log. */
  private def clonedBy(command: LogicalPlan): Seq[DeltaTable] =
    DeltaClasses.first(command, Seq("query")) match {
      case Some(Some(query: AnyRef)) if DeltaTable.isTable(query) =>
        command.productIterator.toSeq.collect { case made: CatalogTable =>
          new DeltaTable("new table", made.properties, made.schema, made.partitionColumnNames)
        }
      case _ => Nil
    }

  /** The table under the name, or else the one at the location: Delta replaces its metadata as well. */
  private def replaced(create: V2CreateTablePlan): Option[DeltaTable] = {
    val name = create match {
      case one: ReplaceTable => Some(one.name)
      case one: ReplaceTableAsSelect => Some(one.name)
      case _ => None
    }
    name
      .collect { case found: ResolvedIdentifier => found }
      .flatMap { found =>
        found.catalog match {
          case catalog: TableCatalog if catalog.tableExists(found.identifier) =>
            Some(catalog.loadTable(found.identifier)).filter(DeltaTable.isTable).map(DeltaTable.ofTable)
          case _ => None
        }
      }
      .orElse(specOf(create).flatMap(_.location).map(DeltaTable.at(session, _)))
  }

  private def specOf(create: V2CreateTablePlan): Option[TableSpecBase] = create match {
    case one: CreateTable => Some(one.tableSpec)
    case one: ReplaceTable => Some(one.tableSpec)
    case one: CreateTableAsSelect => Some(one.tableSpec)
    case one: ReplaceTableAsSelect => Some(one.tableSpec)
    case _ => None
  }

  /** The table that a statement creates or replaces, if it is Delta's. */
  private def planned(create: V2CreateTablePlan): Option[DeltaTable] =
    specOf(create)
      .filter(
        _.provider.getOrElse(SparkAccess.sqlConf(session).defaultDataSourceName).equalsIgnoreCase("delta")
      )
      .map { spec =>
        val columns = create.partitioning.flatMap(_.references).map(_.fieldNames.head)
        new DeltaTable("new table", spec.properties, create.tableSchema, columns)
      }

  /** The table that a DataFrame is saved to, as it is or as it will be created. */
  private def saved(path: String, save: SaveIntoDataSourceCommand): DeltaTable = {
    val columns = valueOf(save.options, DataSourceUtils.PARTITIONING_COLUMNS_KEY).toSeq
      .flatMap(DataSourceUtils.decodePartitioningColumns)
    written(DeltaTable.at(session, path), save.query, columns)
  }

  private def streamed(stream: WriteToStream): Option[DeltaTable] = stream.sink match {
    case table: Table if DeltaClasses.isKernels(table) => Some(DeltaTable.ofTable(table))
    case sink if DeltaClasses.isDeltas(sink) =>
      val columns = DeltaClasses.ask(sink, "partitionColumns").asInstanceOf[scala.collection.Seq[String]]
      val path = DeltaClasses.ask(sink, "path").toString
      Some(written(DeltaTable.at(session, path), stream.inputQuery, columns.toSeq))
    case _ => None
  }

  private def written(table: DeltaTable, query: LogicalPlan, columns: Seq[String]) =
    if (table.schema.nonEmpty && columns.isEmpty) table
    else
      new DeltaTable(
        table.name,
        table.properties,
        if (table.schema.nonEmpty) table.schema else query.schema,
        columns,
        table.log
      )

  private def valueOf(options: Map[String, String], wanted: String) =
    options.collectFirst { case (name, value) if name.equalsIgnoreCase(wanted) => value }
}
