package io.pmeparquet.delta

import java.util.Locale

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.JsonNode
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{StagedTable, Table, TableCatalog, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{DataType, StructField, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern}
import io.pmeparquet.options.{DeltaNames, PmeOptions, SettingNames}
import io.pmeparquet.spark.session.{DeltaClasses, SparkAccess}
import io.pmeparquet.PmeException

/**
 * What the metadata of a Delta table says of its encryption. ''Driver only.''
 *
 * @param schema as the log has it, with the physical names of columns; empty if there is no table
 * @param log Delta's own object, if there is one
 * @param isKernels whether Delta Kernel writes it, which does not use the Hadoop configuration as Spark's writers do
 */
private[delta] final class DeltaTable(
    val name: String,
    val properties: Map[String, String],
    val schema: StructType,
    val partitionColumns: Seq[String],
    val log: Option[AnyRef] = None,
    val isKernels: Boolean = false
) {

  /** The properties that name keys, by lower-case name. */
  val keys: Map[String, String] = properties.collect {
    case (key, value) if DeltaTable.KeyNames.contains(DeltaTable.javas(key)) && value != null =>
      DeltaTable.javas(key) -> value
  }

  /** The properties that must not come from a table, since Delta adds them to the Hadoop configuration of writes. */
  def planted: Seq[String] = properties
    .collect {
      case (key, value) if DeltaTable.isForeign(key) || !DeltaNames.isSafe(key, value) => key
    }
    .toSeq
    .sorted

  /** The names of its top-level columns, in lower case. */
  def columns: Set[String] = schema.fields.map(field => DeltaTable.lower(field.name)).toSet

  /**
   * The top-level columns, in lower case, that these properties protect: those that `column.keys` names, or a part of
   * which it names, by logical or physical name. All of them, if it names none, or if it cannot be understood.
   */
  def protectedBy(keys: Map[String, String]): Set[String] =
    if (keys.isEmpty) Set.empty
    else
      keys.get(DeltaTable.ColumnKeysName).flatMap(patterns) match {
        case Some(found) if found.forall(pattern => schema.fields.exists(isNamed(_, pattern))) =>
          schema.fields.collect {
            case field if found.exists(isNamed(field, _)) => DeltaTable.lower(field.name)
          }.toSet
        case _ => columns
      }

  /** The names in files and in the log, in lower case, of some top-level columns. */
  def stored(columns: Set[String]): Set[String] =
    schema.fields
      .filter(field => columns.contains(DeltaTable.lower(field.name)))
      .flatMap(namesOf)
      .map(DeltaTable.lower)
      .toSet

  /** The same with the keys of another table as well, where it has none itself. */
  def under(other: DeltaTable): DeltaTable =
    new DeltaTable(name, other.keys ++ properties, schema, partitionColumns, log, isKernels)

  /** The properties that keep its columns encrypted. */
  def guarded: Map[String, String] = properties.filter { case (key, _) => DeltaTable.isGuarded(key) }

  private def patterns(text: String): Option[Seq[ColumnPattern]] =
    try Some(ColumnKeys.parse(text).entries.map(_.pattern))
    catch { case _: PmeException => None }

  private def isNamed(field: StructField, pattern: ColumnPattern) = {
    val top = ColumnPattern(pattern.text, pattern.names.take(1))
    namesOf(field).exists(top.namesColumn(_, caseSensitive = false))
  }

  private def namesOf(field: StructField) = Seq(field.name, DeltaTable.nameInFiles(field)).distinct
}

private[delta] object DeltaTable {
  private val Physical = "delta.columnMapping.physicalName"
  val ColumnKeysName = "parquet.encryption.column.keys"
  val FooterKeyName = "parquet.encryption.footer.key"
  val UniformKeyName = "parquet.encryption.uniform.key"
  val AlgorithmName = "parquet.encryption.algorithm"
  val CompleteName = "parquet.encryption.complete.columns"
  private val KeyNames = SettingNames.OfKeys.toSet

  // These name keys and an algorithm, and no place or code.
  private val Own = KeyNames ++ Set(AlgorithmName, CompleteName)
  private val Guarded = Seq("parquet.", PmeOptions.FactoryPrefix, DeltaNames.Prefix)

  /** The name of a column in files and in the log: another one under column mapping. */
  def nameInFiles(field: StructField): String =
    if (field.metadata.contains(Physical)) field.metadata.getString(Physical) else field.name

  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  // Hadoop's names and ours have dots, and so do those of many libraries.
  private def isForeign(name: String) =
    name.contains('.') && !lower(name).startsWith("delta.") && !isOwn(name)

  /** The name that parquet-java has for a property, in lower case. */
  def javas(name: String): String = DeltaNames.javas(name).getOrElse(lower(name))

  /** Whether the property says how files are encrypted. The crypto factory looks for the prefix in these letters only. */
  def isOwn(name: String): Boolean =
    DeltaNames.javas(name).isDefined ||
      name.startsWith(PmeOptions.ParquetPrefix) && Own.contains(lower(name))

  /** The properties that say how files are encrypted, by parquet-java's names, however they and their values are spelt. */
  def meaning(properties: Map[String, String]): Map[String, Any] = properties.collect {
    case (name, value) if isOwn(name) =>
      javas(name) -> (if (javas(name) == ColumnKeysName) columnKeys(value).getOrElse(value) else value)
  }

  private def columnKeys(text: String) =
    try Some(ColumnKeys.parse(text).entries.map(entry => entry.masterKeyId -> entry.pattern.names).toSet)
    catch { case _: PmeException => None }

  def isGuarded(name: String): Boolean = Guarded.exists(lower(name).startsWith)

  /** The table of a node that is one. */
  def of(node: LogicalPlan): Option[DeltaTable] = node match {
    case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation if DeltaClasses.isDeltas(files.location) =>
          Some(ofSnapshot(relation.catalogTable.fold("Delta table")(_.identifier.table), files.location))
        case _ => None
      }
    case relation: DataSourceV2Relation => Some(relation.table).filter(isTable).map(ofTable)
    case resolved: ResolvedTable => Some(resolved.table).filter(isTable).map(ofTable)
    case _ => None
  }

  def isTable(found: AnyRef): Boolean = DeltaClasses.isDeltas(found) || DeltaClasses.isKernels(found)

  /** @param table Delta's own class */
  def ofTable(table: Table): DeltaTable = table match {
    // Kernel's partitions are not needed: nothing that matters may be written to it.
    case kernels if DeltaClasses.isKernels(kernels) =>
      new DeltaTable(
        kernels.name,
        kernels.properties.asScala.toMap,
        schemaOf(kernels),
        Nil,
        isKernels = true
      )
    case staged: StagedTable => ofStaged(staged)
    case _ => ofSnapshot(table.name, DeltaClasses.ask(table, "initialSnapshot"))
  }

  /** What CREATE TABLE AS SELECT writes to, which has no snapshot. Its properties have the options of the statement, too. */
  private def ofStaged(table: StagedTable): DeltaTable = new DeltaTable(
    table.name,
    table.properties.asScala.toMap.filter { case (name, _) => !name.startsWith(TableCatalog.OPTION_PREFIX) },
    schemaOf(table),
    table.partitioning.toSeq.flatMap(_.references.toSeq).map(_.fieldNames.head)
  )

  private def schemaOf(table: Table): StructType = StructType(
    table.columns.map(column => StructField(column.name, column.dataType, column.nullable))
  )

  /** The newest version of the table at a path. A path without a table has no properties. */
  def at(session: SparkSession, path: String): DeltaTable = {
    val source = DataSource.lookupDataSource("delta", SparkAccess.sqlConf(session))
    val provider = source.getDeclaredConstructor().newInstance().asInstanceOf[TableProvider]
    ofTable(
      provider.getTable(new StructType, Array.empty[Transform], Map("path" -> path).asJava)
    )
  }

  /** @param snapshot Delta's own class, or an index of its files, which has the same members */
  def ofSnapshot(name: String, snapshot: AnyRef): DeltaTable = {
    val metadata = DeltaClasses.ask(snapshot, "metadata")
    new DeltaTable(
      name,
      DeltaClasses.ask(metadata, "configuration").asInstanceOf[Map[String, String]],
      DeltaClasses.ask(metadata, "schema").asInstanceOf[StructType],
      DeltaClasses.ask(metadata, "partitionColumns").asInstanceOf[scala.collection.Seq[String]].toSeq,
      DeltaClasses.first(snapshot, Seq("deltaLog"))
    )
  }

  /** @param metadata the action `metaData` of a commit (Delta's protocol, "Change Metadata") */
  def ofJson(name: String, metadata: JsonNode): DeltaTable = new DeltaTable(
    name,
    metadata.path("configuration").fields.asScala.map(entry => entry.getKey -> entry.getValue.asText).toMap,
    DataType.fromJson(metadata.path("schemaString").asText).asInstanceOf[StructType],
    metadata.path("partitionColumns").elements.asScala.map(_.asText).toList
  )
}
