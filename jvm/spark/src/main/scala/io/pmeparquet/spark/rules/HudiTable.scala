package io.pmeparquet.spark.rules

import java.util.{Locale, Properties}

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.{DeltaClasses, SparkAccess}

/**
 * What is known of a Hudi table before a write. Hudi is not on the compile class path, so its classes are known by their
 * package, and asked by reflection. ''Driver only.''
 *
 * @param settings every setting of Hudi that reaches the write, by lower-case name; a name has several values if several
 *   places set it
 * @param stored the table's own `hoodie.properties`; empty for a new table
 * @param partitioned the names of partition columns, as the catalog has them
 */
private[rules] final class HudiTable(
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

private[rules] object HudiTable {
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
  def at(session: SparkSession, of: AnyRef, options: Map[String, String]): HudiTable = {
    val path = options.collectFirst { case (name, value) if lower(name) == "path" => value }
    make(session, "Hudi table", path, Seq(options, global(of)), Nil)
  }

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
      plan.collect { case relation: LogicalRelation => relation }.headOption.flatMap(ofRelation)
    case hudis if isHudis(hudis) => catalogTable(session, DeltaClasses.ask(hudis, "table"))
    case _ => None
  }

  private def ofRelation(relation: LogicalRelation) = relation.catalogTable.orElse {
    relation.relation match {
      case files: HadoopFsRelation => byPath(files.options)
      case _ => None
    }
  }

  private def byPath(options: Map[String, String]) =
    options.collectFirst { case (name, value) if lower(name) == "path" => value }.map { path =>
      val storage = CatalogStorageFormat.empty
        .copy(locationUri = Some(new Path(path).toUri), properties = options)
      CatalogTable(
        TableIdentifier("Hudi table"),
        CatalogTableType.EXTERNAL,
        storage,
        new StructType
      )
    }

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
