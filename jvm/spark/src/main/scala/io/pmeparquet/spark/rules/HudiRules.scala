package io.pmeparquet.spark.rules

import java.util.{Locale, Properties}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.datasources.{
  InsertIntoDataSourceCommand,
  LogicalRelation,
  SaveIntoDataSourceCommand
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, UnlistedColumns}
import io.pmeparquet.options.NamedKeys
import io.pmeparquet.parquet.standalone.ConfiguredKeys
import io.pmeparquet.spark.session.{DeltaClasses, PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Refuses writes of Hudi that would leave values in plaintext, before anything runs, if the session has our crypto factory:
 * it encrypts Parquet files only, and Hudi also stores values in log files and in its metadata table. ''Driver only.''
 */
private[spark] object HudiRules {
  private val Metadata = "hoodie.metadata.enable"
  private val ColumnStats = "hoodie.metadata.index.column.stats.enable"
  private val Indexes = "hoodie.metadata."
  private val OfTable = "hoodie.table.metadata.partitions"

  // A write with column statistics switched off removes these from the metadata table.
  private val HarmlessIndexes = Set("files", "column_stats", "partition_stats")
  private val Types = Seq(
    "hoodie.table.type",
    "hoodie.datasource.write.table.type",
    "hoodie.datasource.write.storage.type",
    "type"
  )
  private val CopyOnWrite = Set("cow", "copy_on_write")

  // They write no values, or make a table's files again in the same way.
  private val HarmlessCommands =
    Seq("Show", "CompactionShow", "DropHoodieTable", "DropIndex", "AlterHoodieTableRename")
  private val HarmlessProcedures = Seq(
    "Show",
    "Stats",
    "Help",
    "Validate",
    "DeleteMarker",
    "DeleteMetadataTable",
    "DeleteSavepoint",
    "CreateSavepoint"
  )

  def check(session: SparkSession, plan: LogicalPlan): Unit = PmeSparkException.translated {
    val rules = new HudiRules(session)
    PlanFields.nodes(plan).foreach(rules.check)
  }
}

private final class HudiRules(session: SparkSession) {
  import HudiRules._

  private lazy val ofSession = SparkAccess.hadoopConf(session, Map.empty)

  /** Hudi takes settings of files from here, and not from the session. */
  private def ofApplication = session.sparkContext.hadoopConfiguration

  private lazy val encrypts = Seq(ofSession, ofApplication).exists(CryptoFactory.isOurs)

  def check(node: LogicalPlan): Unit = node match {
    case save: SaveIntoDataSourceCommand if HudiTable.isHudis(save.dataSource) && encrypts =>
      requireNoValues(HudiTable.at(session, save.dataSource, save.options))
    case stream: WriteToStream if HudiTable.isHudis(stream.sink) && encrypts =>
      StreamSinks.options(stream.sink).headOption match {
        case Some(options) => requireNoValues(HudiTable.at(session, stream.sink, options))
        case None => throw PmeErrors.hudiUnknown("a stream")
      }
    case into: InsertIntoDataSourceCommand if HudiTable.isHudis(into.logicalRelation.relation) && encrypts =>
      throw PmeErrors.hudiUnknown("InsertIntoDataSourceCommand")
    case command if HudiTable.isCommand(command) && encrypts => checkCommand(command)
    case _ => ()
  }

  private def checkCommand(command: LogicalPlan): Unit = {
    val name = command.getClass.getSimpleName
    if (name == "CallProcedureHoodieCommand") {
      val procedure = DeltaClasses.ask(command, "procedure").getClass.getSimpleName
      if (!HarmlessProcedures.exists(procedure.startsWith)) throw PmeErrors.hudiUnknown(procedure)
    } else if (name == "CreateIndexCommand")
      throw PmeErrors.hudiReadable(
        "Hudi",
        "values of columns in an index",
        "Make no index of a table with keys."
      )
    else if (!HarmlessCommands.exists(name.startsWith))
      HudiTable.of(session, command) match {
        case Some(table) if name == "CreateHoodieTableCommand" => requireType(table)
        case Some(table) => requireNoValues(table)
        case None => throw PmeErrors.hudiUnknown(name)
      }
  }

  private def requireNoValues(table: HudiTable): Unit = {
    requireType(table)
    requireNoStatistics(table)
    requireNoIndexes(table)
    requireColumns(table)
  }

  /** What a table is, and stays. */
  private def requireType(table: HudiTable): Unit = {
    new ResolvedFactory(session).requireNoPolicy(table.name)
    if (!table.values(Types: _*).forall(CopyOnWrite.contains))
      throw PmeErrors.hudiReadable(
        table.name,
        "rows in log files of a MERGE_ON_READ table",
        "Use COPY_ON_WRITE. A table cannot be changed: copy its rows to a new one."
      )
    if (table.values("hoodie.table.cdc.enabled").exists(_ != "false"))
      throw PmeErrors.hudiReadable(
        table.name,
        "rows in log files of change data (hoodie.table.cdc.enabled)",
        "Leave change data off, and use incremental queries."
      )
    val formats =
      (table.settings.keys.filter(_.endsWith("base.file.format")).toSeq :+ "hoodie.table.base.file.format")
        .flatMap(table.values(_))
    if (formats.exists(_ != "parquet"))
      throw PmeErrors.hudiReadable(
        table.name,
        "files that are not Parquet",
        "Use PARQUET as base file format."
      )
  }

  private def requireNoStatistics(table: HudiTable): Unit =
    if (!table.isOff(Metadata) && !table.isOff(ColumnStats))
      throw PmeErrors.hudiReadable(
        table.name,
        "smallest and largest values of columns in the metadata table's column_stats, which Hudi writes by default",
        s"Set $ColumnStats=false: in hudi-defaults.conf, in the options of each write of a DataFrame, and with SET for SQL."
      )

  private def requireNoIndexes(table: HudiTable): Unit = if (!table.isOff(Metadata)) {
    val asked = table.settings.keys.filter { name =>
      name.startsWith(Indexes) && name.contains("index") && name.endsWith(".enable") && !table.isOff(name)
    }
    val there = table.values(OfTable).flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
    val found = asked.toSeq.sorted ++ there.filterNot(HarmlessIndexes.contains)
    if (found.nonEmpty)
      throw PmeErrors.hudiReadable(
        table.name,
        s"record keys or values of columns in indexes of the metadata table (${found.mkString(", ")})",
        s"Set each of them to false, or $Metadata=false; remove an existing index with DROP INDEX."
      )
  }

  private def requireColumns(table: HudiTable): Unit = {
    val keys = ConfiguredKeys.of(ofApplication)
    val alike = Seq(ofSession, ofApplication).forall(CryptoFactory.isOurs)
    if (!alike || ConfiguredKeys.of(ofSession) != keys) throw PmeErrors.hudiSession(table.name)
    requireColumns(table, keys)
  }

  /** What Hudi copies out of columns that `columnKeys` names. A footer key alone names none. */
  private def requireColumns(table: HudiTable, keys: NamedKeys): Unit = {
    val patterns = keys.columns.toSeq.flatMap(ColumnKeys.parse(_).entries.map(_.pattern))
    def named(field: String) = patterns.exists { pattern =>
      ColumnPattern(pattern.text, pattern.names.take(1))
        .namesColumn(field.takeWhile(_ != '.'), caseSensitive = false)
    }
    val partitions = table.partitionFields.filter(named)
    if (partitions.nonEmpty)
      throw PmeErrors.hudiReadable(
        table.name,
        s"values of the partition fields ${partitions.mkString(", ")}, which columnKeys names, in names of directories and in the timeline",
        "Partition by another column."
      )
    val fields = table.keyFields.filter(named)
    val copies = Seq("_hoodie_record_key").filterNot(named)
    if (fields.nonEmpty && copies.nonEmpty && keys.unlisted == UnlistedColumns.Plaintext)
      throw PmeErrors.hudiReadable(
        table.name,
        s"the record key (${fields.mkString(", ")}), which columnKeys names, in its copy _hoodie_record_key",
        "Name _hoodie_record_key in columnKeys as well, or do not leave columns without a key in plaintext " +
          "(unlistedColumns, parquet.encryption.complete.columns)."
      )
  }
}

/**
 * What is known of a Hudi table before a write. Hudi is not on the compile class path, so its classes are known by their
 * package, and asked by reflection. ''Driver only.''
 *
 * @param settings every setting of Hudi that reaches the write, by lower-case name; a name has several values if several
 *   places set it
 * @param stored the table's own `hoodie.properties`; empty for a new table
 * @param partitioned the names of partition columns, as the catalog has them
 */
private final class HudiTable(
    val name: String,
    val settings: Map[String, Seq[String]],
    stored: Map[String, String],
    partitioned: Seq[String]
) {

  /** The values of settings and of `hoodie.properties`, lower-case and without blanks around them. */
  def values(names: String*): Seq[String] =
    names.flatMap(name => settings.getOrElse(name, Nil) ++ stored.get(name)).map(HudiTable.lower(_).trim)

  /** Whether every place that has a value of the setting says no, and one does. */
  def isOff(name: String): Boolean = {
    val found = settings.getOrElse(name, Nil).map(_.trim)
    found.nonEmpty && found.forall(_.equalsIgnoreCase("false"))
  }

  def partitionFields: Seq[String] =
    fields("hoodie.datasource.write.partitionpath.field", "hoodie.table.partition.fields") ++
      partitioned.map(HudiTable.lower)

  def keyFields: Seq[String] =
    fields("hoodie.datasource.write.recordkey.field", "hoodie.table.recordkey.fields", "primarykey")

  /** Key generators have a kind after the name of a field: `day:TIMESTAMP`. */
  private def fields(names: String*) =
    values(names: _*).flatMap(_.split(',')).map(_.takeWhile(_ != ':').trim).filter(_.nonEmpty).distinct
}

private object HudiTable {
  private val ByPath = "Hudi table"
  private val Commands = "org.apache.spark.sql.hudi.command."
  private val Prefixes =
    Seq("org.apache.hudi.", "org.apache.spark.sql.hudi.", "org.apache.spark.sql.catalyst.catalog.Hoodie")
  private val OfCatalog = Set("primarykey", "type", "precombinefield")
  private val Members =
    Seq(
      "table",
      "catalogTable",
      "hoodieCatalogTable",
      "logicalRelation",
      "targetTable",
      "tableIdentifier",
      "tableId",
      "tableName",
      "ut",
      "dft",
      "mergeInto"
    )

  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  def isHudis(found: AnyRef): Boolean = found != null && Prefixes.exists(found.getClass.getName.startsWith)

  def isCommand(node: LogicalPlan): Boolean = node.getClass.getName.startsWith(Commands)

  /** The table of a write by path. */
  def at(session: SparkSession, of: AnyRef, options: Map[String, String]): HudiTable =
    make(session, ByPath, pathIn(options), Seq(options, global(of)), Nil)

  /** The table that one of Hudi's commands writes; none if it is not known. */
  def of(session: SparkSession, command: LogicalPlan): Option[HudiTable] =
    DeltaClasses.first(command, Members).flatMap(catalogTable(session, _)).map { table =>
      // Hudi does not know its own in other letters there, so they switch nothing off.
      val own = SparkAccess
        .sqlConf(session)
        .getAllConfs
        .map { case (name, value) => name.stripPrefix("spark.") -> value }
        .filter { case (name, _) => name == lower(name) }
      val properties = table.properties ++ table.storage.properties
      val path = table.storage.locationUri.map(new Path(_).toString)
      make(
        session,
        table.identifier.table,
        path,
        Seq(properties, own, global(command)),
        table.partitionColumnNames
      )
    }

  private def catalogTable(session: SparkSession, found: AnyRef): Option[CatalogTable] = found match {
    case table: CatalogTable => Some(table)
    case name: TableIdentifier => Some(session.sessionState.catalog.getTableMetadata(name))
    case plan: LogicalPlan =>
      plan.collectFirst { case relation: LogicalRelation => relation }.flatMap(ofRelation)
    case hudis if isHudis(hudis) => catalogTable(session, DeltaClasses.ask(hudis, "table"))
    case _ => None
  }

  private def ofRelation(relation: LogicalRelation) = relation.catalogTable.orElse {
    Some(relation).collect { case FileRelation(files, _) => files.options }.flatMap(byPath)
  }

  private def byPath(options: Map[String, String]) = pathIn(options).map { path =>
    val storage =
      CatalogStorageFormat.empty.copy(locationUri = Some(new Path(path).toUri), properties = options)
    CatalogTable(TableIdentifier(ByPath), CatalogTableType.EXTERNAL, storage, new StructType)
  }

  private def pathIn(options: Map[String, String]) =
    options.collectFirst { case (name, value) if lower(name) == "path" => value }

  private def make(
      session: SparkSession,
      name: String,
      path: Option[String],
      places: Seq[Map[String, String]],
      partitioned: Seq[String]
  ) = {
    val settings = places
      .flatMap(_.toSeq)
      .map { case (setting, value) => lower(setting) -> value }
      .filter { case (setting, value) =>
        value != null && (setting.startsWith("hoodie.") || OfCatalog.contains(setting))
      }
      .groupBy(_._1)
      .map { case (setting, found) => setting -> found.map(_._2).distinct }
    new HudiTable(name, settings, path.fold(Map.empty[String, String])(stored(session, _)), partitioned)
  }

  /** A file that cannot be read fails the write. */
  private def stored(session: SparkSession, path: String): Map[String, String] = {
    val file = new Path(path, ".hoodie/hoodie.properties")
    val files = file.getFileSystem(SparkAccess.hadoopConf(session, Map.empty))
    if (!files.exists(file)) Map.empty
    else {
      val found = new Properties
      val stream = files.open(file)
      try found.load(stream)
      finally stream.close()
      found.asScala.map { case (name, value) => lower(name) -> value }.toMap
    }
  }

  /** What `hudi-defaults.conf` says, as Hudi reads it. */
  private def global(of: AnyRef): Map[String, String] = {
    val holder =
      Class.forName(
        "org.apache.hudi.common.config.DFSPropertiesConfiguration",
        true,
        of.getClass.getClassLoader
      )
    holder.getMethod("getGlobalProps").invoke(null) match {
      case properties: Properties => properties.asScala.toMap
      case _ => Map.empty
    }
  }
}
