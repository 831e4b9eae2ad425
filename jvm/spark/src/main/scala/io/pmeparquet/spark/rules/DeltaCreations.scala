package io.pmeparquet.spark.rules

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.datasources.{DataSourceUtils, SaveIntoDataSourceCommand}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SaveMode
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * Delta tables as statements would create them, and what their definition shows of protected columns: values of partition
 * columns, and texts of expressions. ''Driver only.''
 */
private[rules] final class DeltaCreations(session: SparkSession, settings: DeltaSettings, texts: DeltaTexts) {

  /** The table that a statement creates or replaces, if it is Delta's. */
  def planned(create: V2CreateTablePlan): Option[DeltaTable] = specOf(create).flatMap { spec =>
    val provider = spec.provider.getOrElse(SparkAccess.sqlConf(session).defaultDataSourceName)
    if (!provider.equalsIgnoreCase("delta")) None
    else {
      val columns = create.partitioning.flatMap(_.references).map(_.fieldNames.head)
      Some(
        new DeltaTable(
          "new table",
          DeltaTable.over(settings.defaultProperties, spec.properties ++ optionsOf(create, spec)),
          create.tableSchema,
          columns
        )
      )
    }
  }

  private def specOf(create: V2CreateTablePlan): Option[TableSpecBase] = create match {
    case one: CreateTable => Some(one.tableSpec)
    case one: ReplaceTable => Some(one.tableSpec)
    case one: CreateTableAsSelect => Some(one.tableSpec)
    case one: ReplaceTableAsSelect => Some(one.tableSpec)
    case _ => None
  }

  /** Delta makes properties of options with its prefix. Where two differ, both are judged: one is in other letters. */
  private def optionsOf(create: V2CreateTablePlan, spec: TableSpecBase): Map[String, String] = {
    val ofSpec = spec match {
      case resolved: TableSpec => resolved.options
      case _ => Map.empty[String, String]
    }
    val ofWrite = create match {
      case one: CreateTableAsSelect => one.writeOptions
      case one: ReplaceTableAsSelect => one.writeOptions
      case _ => Map.empty[String, String]
    }
    Seq(ofSpec, ofWrite)
      .flatMap(DeltaCreations.ofDelta(_).toSeq)
      .map {
        case (name, value) if spec.properties.get(name).exists(_ != value) =>
          DeltaTable.lower(name).capitalize -> value
        case same => same
      }
      .toMap
  }

  /** The table that a DataFrame is saved to, as it is or as it will be created. */
  def saved(table: DeltaTable, save: SaveIntoDataSourceCommand): DeltaTable = {
    val replaces = save.mode == SaveMode.Overwrite &&
      DeltaTexts.valueOf(save.options, "overwriteSchema").exists(_.equalsIgnoreCase("true"))
    if (table.schema.nonEmpty && !replaces) table
    else {
      val made =
        written(table, DeltaCreations.ofDelta(save.options), save.query.schema, partitionsOf(save))
      if (settings.namesKeys(made)) texts.requireSilentConstraints(made, made.properties)
      made
    }
  }

  def streamed(stream: WriteToStream): DeltaTable = {
    val table = DeltaTable.at(session, DeltaTable.ask(stream.sink, "path").toString)
    val columns = DeltaTable.ask(stream.sink, "partitionColumns").asInstanceOf[scala.collection.Seq[String]]
    if (table.schema.nonEmpty) table else written(table, Map.empty, stream.inputQuery.schema, columns.toSeq)
  }

  private def written(table: DeltaTable, own: Map[String, String], schema: StructType, columns: Seq[String]) =
    new DeltaTable(
      table.name,
      DeltaTable.over(settings.defaultProperties, DeltaTable.over(table.properties, own)),
      schema,
      columns
    )

  private def partitionsOf(save: SaveIntoDataSourceCommand): Seq[String] =
    DeltaTexts.valueOf(save.options, DataSourceUtils.PARTITIONING_COLUMNS_KEY).toSeq.flatMap { text =>
      try DataSourceUtils.decodePartitioningColumns(text)
      catch { case NonFatal(_) => save.query.schema.fieldNames.toSeq }
    }

  /** Refuses a definition that shows protected columns. */
  def requireSilentDefinition(table: DeltaTable): Unit = if (settings.namesKeys(table)) {
    requireSilentValues(table)
    texts.requireSilentSchema(table)
  }

  /** Refuses a write of which the definition shows values of protected columns. */
  def requireSilentValues(table: DeltaTable): Unit = if (settings.namesKeys(table)) {
    val hidden = settings.protectedOf(table)
    val shown = table.partitionColumns.map(DeltaTable.lower).filter(hidden.contains)
    if (shown.nonEmpty) throw PmeErrors.deltaPartition(table.name, shown.distinct.sorted)
    texts.requireSilentGenerated(table)
  }
}

private object DeltaCreations {
  private def ofDelta(options: Map[String, String]) =
    options.filter { case (name, _) => DeltaTable.lower(name).startsWith("delta.") }
}
