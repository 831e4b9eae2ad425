package io.pmeparquet.spark.rules

import java.lang.reflect.InvocationTargetException
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.{StagedTable, Table, TableCatalog, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeException

/**
 * What the metadata of a Delta table says of its encryption. Delta is not on the compile class path, so its classes are
 * known by their package, and asked by reflection. ''Driver only.''
 *
 * @param schema as the log has it, with the physical names of columns
 * @param indexed asks Delta which columns have statistics; a table that does not exist cannot be asked
 * @param isKernels whether Delta Kernel writes it, which does not use the Hadoop configuration as Spark's writers do
 */
private[rules] final class DeltaTable(
    val name: String,
    val properties: Map[String, String],
    val schema: StructType,
    val partitionColumns: Seq[String],
    indexed: Option[() => StructType] = None,
    val isKernels: Boolean = false
) {

  /** The properties that name keys, by lower-case name. */
  val keys: Map[String, String] = DeltaTable.keysIn(properties)

  /** The properties that must not come from a table, since Delta adds them to the Hadoop configuration of writes. */
  def planted: Seq[String] =
    properties.keys.filter(DeltaTable.isForeign).toSeq.sorted

  /**
   * The top-level columns, in lower case, that these properties protect: those that `column.keys` names, or a part of
   * which it names, by logical or physical name. All of them, if it names none, or if it cannot be understood.
   */
  def protectedBy(keys: Map[String, String]): Set[String] = {
    val all = schema.fields.map(field => DeltaTable.lower(field.name)).toSet
    if (keys.isEmpty) Set.empty
    else
      keys.get(DeltaTable.ColumnKeysName).flatMap(patterns) match {
        case Some(found) if found.forall(pattern => schema.fields.exists(isNamed(_, pattern))) =>
          schema.fields.collect {
            case field if found.exists(isNamed(field, _)) => DeltaTable.lower(field.name)
          }.toSet
        case _ => all
      }
  }

  /** The top-level columns, in lower case, of which Delta writes minimum and maximum into the log. */
  def statistics: Set[String] =
    indexed.fold(DeltaStatistics.of(properties, schema, partitionColumns)) { ask =>
      ask().fieldNames.map(DeltaTable.lower).toSet
    }

  /** The names in files and in the log, in lower case, of some top-level columns. */
  def stored(columns: Set[String]): Set[String] =
    schema.fields
      .filter(field => columns.contains(DeltaTable.lower(field.name)))
      .flatMap(namesOf)
      .map(DeltaTable.lower)
      .toSet

  /** The properties that keep its columns encrypted and out of its log. */
  def guarded: Map[String, String] = properties.filter { case (name, _) => DeltaTable.isGuarded(name) }

  /** Whether other properties have all of these. */
  def isKeptBy(others: Map[String, String]): Boolean =
    guarded.forall { case (property, value) => others.get(property).contains(value) }

  /** The table as a statement would leave it. */
  def withProperties(after: Map[String, String]): DeltaTable =
    new DeltaTable(name, after, schema, partitionColumns, isKernels = isKernels)

  def withColumns(added: Seq[StructField]): DeltaTable =
    new DeltaTable(name, properties, StructType(schema ++ added), partitionColumns, isKernels = isKernels)

  private def patterns(text: String): Option[Seq[ColumnPattern]] =
    try Some(ColumnKeys.parse(text).entries.map(_.pattern))
    catch { case _: PmeException => None }

  private def isNamed(field: StructField, pattern: ColumnPattern) = {
    val top = ColumnPattern(pattern.text, pattern.names.take(1))
    namesOf(field).exists(top.namesColumn(_, caseSensitive = false))
  }

  private def namesOf(field: StructField) = field.name +:
    (if (field.metadata.contains(DeltaTable.Physical)) Seq(field.metadata.getString(DeltaTable.Physical))
     else Nil)
}

private[rules] object DeltaTable {
  private val Package = "org.apache.spark.sql.delta."
  private val Statistics = "statCollectionLogicalSchema"
  private val KernelsPackage = "io.delta."
  private val Physical = "delta.columnMapping.physicalName"
  val ColumnKeysName = "parquet.encryption.column.keys"
  val FooterKeyName = "parquet.encryption.footer.key"
  val UniformKeyName = "parquet.encryption.uniform.key"
  private val KeyNames = Set(FooterKeyName, ColumnKeysName, UniformKeyName)

  // These name keys and an algorithm, and no place or code.
  private val Own = KeyNames ++ Set("parquet.encryption.algorithm", "parquet.encryption.complete.columns")
  // What keeps columns encrypted, and their values out of the log.
  private val Skipping = "delta.dataskipping"
  private val Guarded = Seq("parquet.", "pme-parquet.", Skipping)

  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  def isDeltas(found: AnyRef): Boolean = found != null && found.getClass.getName.startsWith(Package)

  // Hadoop's names and ours have dots, and so do those of many libraries.
  private def isForeign(name: String) =
    name.contains('.') && !lower(name).startsWith("delta.") && !isOwn(name)

  /** Whether the property says how files are encrypted. The crypto factory looks for the prefix in these letters only. */
  def isOwn(name: String): Boolean = name.startsWith(PmeOptions.ParquetPrefix) && Own.contains(lower(name))

  def isStatistics(name: String): Boolean = lower(name).startsWith(Skipping)

  /** Whether the object is a table, or a source, of the connector that Delta builds on Delta Kernel. */
  def isKernels(found: AnyRef): Boolean = found != null && found.getClass.getName.startsWith(KernelsPackage)

  def isGuarded(name: String): Boolean = Guarded.exists(lower(name).startsWith)

  /** Properties, and others that override them. Delta knows its own in any letters. */
  def over(below: Map[String, String], above: Map[String, String]): Map[String, String] = {
    val names = above.keySet.map(lower)
    below.filter { case (name, _) => !names.contains(lower(name)) } ++ above
  }

  def namesColumns(keys: Map[String, String]): Boolean = keys.contains(ColumnKeysName)

  def keysIn(properties: Map[String, String]): Map[String, String] =
    properties.collect {
      case (name, value) if KeyNames.contains(lower(name)) && value != null => lower(name) -> value
    }

  /** The table of a node that is one. */
  def of(node: LogicalPlan): Option[DeltaTable] = node match {
    case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation if isDeltas(files.location) =>
          Some(ofSnapshot(relation.catalogTable.fold("Delta table")(_.identifier.table), files.location))
        case _ => None
      }
    case relation: DataSourceV2Relation => Some(relation.table).filter(isTable).map(ofTable)
    case resolved: ResolvedTable => Some(resolved.table).filter(isTable).map(ofTable)
    case _ => None
  }

  def isTable(found: Table): Boolean = isDeltas(found) || isKernels(found)

  /** @param table Delta's own class */
  def ofTable(table: Table): DeltaTable = table match {
    // Kernel's partitions are not needed: nothing that matters may be written to it.
    case kernels if isKernels(kernels) =>
      new DeltaTable(
        kernels.name,
        kernels.properties.asScala.toMap,
        schemaOf(kernels),
        Nil,
        isKernels = true
      )
    case staged: StagedTable => ofStaged(staged)
    case _ => ofSnapshot(table.name, snapshotOf(table))
  }

  /** What CREATE TABLE AS SELECT writes to, which has no snapshot. Its properties have the options of the statement, too. */
  private def ofStaged(table: StagedTable): DeltaTable = new DeltaTable(
    table.name,
    table.properties.asScala.toMap.filter { case (name, _) => !name.startsWith(TableCatalog.OPTION_PREFIX) },
    schemaOf(table),
    table.partitioning.toSeq.flatMap(_.references.toSeq).map(_.fieldNames.head)
  )

  /** @param table Delta's own class, of the newest version or another */
  def snapshotOf(table: Table): AnyRef = ask(table, "initialSnapshot")

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

  private def ofSnapshot(name: String, snapshot: AnyRef): DeltaTable = {
    // An index of files has the metadata of its snapshot, but does not say which columns have statistics.
    val asked =
      if (!has(snapshot, Statistics)) None
      else Some(() => ask(snapshot, Statistics).asInstanceOf[StructType])
    ofMetadata(name, ask(snapshot, "metadata"), asked)
  }

  /** @param metadata Delta's own class */
  def ofMetadata(name: String, metadata: AnyRef, indexed: Option[() => StructType] = None): DeltaTable =
    new DeltaTable(
      name,
      ask(metadata, "configuration").asInstanceOf[Map[String, String]],
      ask(metadata, "schema").asInstanceOf[StructType],
      ask(metadata, "partitionColumns").asInstanceOf[scala.collection.Seq[String]].toSeq,
      indexed
    )

  /** The value of one of the members, if the object has one with such a name. */
  def first(of: AnyRef, names: Seq[String]): Option[AnyRef] =
    names.find(has(of, _)).map(ask(of, _))

  private def has(of: AnyRef, name: String) =
    of.getClass.getMethods.exists(one => one.getName == name && one.getParameterCount == 0)

  def ask(of: AnyRef, name: String): AnyRef =
    try of.getClass.getMethod(name).invoke(of)
    catch { case failed: InvocationTargetException => throw failed.getCause }
}
