package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.datasources.{InsertIntoDataSourceCommand, SaveIntoDataSourceCommand}
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
  private val Harmless = Set("files", "column_stats", "partition_stats")
  private val Types = Seq(
    "hoodie.table.type",
    "hoodie.datasource.write.table.type",
    "hoodie.datasource.write.storage.type",
    "type"
  )
  private val CopyOnWrite = Set("cow", "copy_on_write")

  // They write no values, or make a table's files again in the same way.
  private val Silent = Seq("Show", "CompactionShow", "DropHoodieTable", "DropIndex", "AlterHoodieTableRename")
  private val SilentProcedures = Seq(
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
    (plan +: plan.subqueriesAll).foreach(_.foreach(rules.judge))
  }
}

private final class HudiRules(session: SparkSession) {
  import HudiRules._

  private lazy val ofSession = SparkAccess.hadoopConf(session, Map.empty)

  /** Hudi takes settings of files from here, and not from the session. */
  private def ofApplication = session.sparkContext.hadoopConfiguration

  private lazy val encrypts = Seq(ofSession, ofApplication).exists(CryptoFactory.isOurs)

  def judge(node: LogicalPlan): Unit = node match {
    case save: SaveIntoDataSourceCommand if HudiTable.isHudis(save.dataSource) && encrypts =>
      requireSilent(HudiTable.at(session, save.dataSource, save.options))
    case stream: WriteToStream if HudiTable.isHudis(stream.sink) && encrypts =>
      StreamSinks.options(stream.sink).headOption match {
        case Some(options) => requireSilent(HudiTable.at(session, stream.sink, options))
        case None => throw PmeErrors.hudiUnknown("a stream")
      }
    case into: InsertIntoDataSourceCommand if HudiTable.isHudis(into.logicalRelation.relation) && encrypts =>
      throw PmeErrors.hudiUnknown("InsertIntoDataSourceCommand")
    case command if HudiTable.isCommand(command) && encrypts => judgeCommand(command)
    case _ => ()
  }

  private def judgeCommand(command: LogicalPlan): Unit = {
    val name = command.getClass.getSimpleName
    if (name == "CallProcedureHoodieCommand") {
      val procedure = DeltaClasses.ask(command, "procedure").getClass.getSimpleName
      if (!SilentProcedures.exists(procedure.startsWith)) throw PmeErrors.hudiUnknown(procedure)
    } else if (name == "CreateIndexCommand")
      throw PmeErrors.hudiReadable(
        "Hudi",
        "values of columns in an index",
        "Make no index of a table with keys."
      )
    else if (!Silent.exists(name.startsWith))
      HudiTable.of(session, command) match {
        case Some(table) if name == "CreateHoodieTableCommand" => requireType(table)
        case Some(table) => requireSilent(table)
        case None => throw PmeErrors.hudiUnknown(name)
      }
  }

  private def requireSilent(table: HudiTable): Unit = {
    requireType(table)
    requireNoStatistics(table)
    requireNoIndexes(table)
    requireColumns(table)
  }

  /** What a table is, and stays. */
  private def requireType(table: HudiTable): Unit = {
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
    val found = asked.toSeq.sorted ++ there.filterNot(Harmless.contains)
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
