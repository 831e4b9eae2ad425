package io.pmeparquet.spark.rules

import java.lang.reflect.InvocationTargetException
import java.util.Locale

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.catalog.TableProvider
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern}
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeException

/**
 * What the metadata of a Delta table says of its encryption. Delta is not on the compile class path, so its classes are
 * known by their package, and asked by reflection. ''Driver only.''
 *
 * @param schema as the log has it, with the physical names of columns
 */
private[rules] final class DeltaTable(
    val name: String,
    val properties: Map[String, String],
    schema: StructType
) {

  /** The properties that name keys, by lower-case name. */
  val keys: Map[String, String] = DeltaTable.keysIn(properties)

  /** The properties that must not come from a table, since Delta adds them to the Hadoop configuration of writes. */
  def planted: Seq[String] =
    properties.keys.filter(name => DeltaTable.isForeign(DeltaTable.lower(name))).toSeq.sorted

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

  private def patterns(text: String): Option[Seq[ColumnPattern]] =
    try Some(ColumnKeys.parse(text).entries.map(_.pattern))
    catch { case _: PmeException => None }

  private def isNamed(field: StructField, pattern: ColumnPattern) = {
    val top = ColumnPattern(pattern.text, pattern.names.take(1))
    val physical =
      if (field.metadata.contains(DeltaTable.Physical)) Seq(field.metadata.getString(DeltaTable.Physical))
      else Nil
    (field.name +: physical).exists(top.namesColumn(_, caseSensitive = false))
  }
}

private[rules] object DeltaTable {
  private val Package = "org.apache.spark.sql.delta."
  private val Physical = "delta.columnMapping.physicalName"
  private val ColumnKeysName = "parquet.encryption.column.keys"
  private val KeyNames =
    Set("parquet.encryption.footer.key", ColumnKeysName, "parquet.encryption.uniform.key")

  // These name keys and an algorithm, and no place or code.
  private val Own = KeyNames ++ Set("parquet.encryption.algorithm", "parquet.encryption.complete.columns")
  // What keeps columns encrypted, and their values out of the log.
  private val Guarded = Seq("parquet.", "pme-parquet.", "delta.dataskipping")

  def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  def isDeltas(found: AnyRef): Boolean = found != null && found.getClass.getName.startsWith(Package)

  // Hadoop's names and ours have dots, and so do those of many libraries.
  private def isForeign(name: String) =
    name.contains('.') && !name.startsWith("delta.") && !Own.contains(name)

  def isGuarded(name: String): Boolean = Guarded.exists(lower(name).startsWith)

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
    case relation: DataSourceV2Relation if isDeltas(relation.table) => Some(ofTable(relation.table))
    case resolved: ResolvedTable if isDeltas(resolved.table) => Some(ofTable(resolved.table))
    case _ => None
  }

  /** @param table Delta's own class */
  def ofTable(table: AnyRef): DeltaTable =
    ofSnapshot(ask(table, "name").toString, ask(table, "initialSnapshot"))

  /** The newest version of the table at a path. A path without a table has no properties. */
  def at(session: SparkSession, path: String): DeltaTable = {
    val source = DataSource.lookupDataSource("delta", SparkAccess.sqlConf(session))
    val provider = source.getDeclaredConstructor().newInstance().asInstanceOf[TableProvider]
    ofTable(
      provider.getTable(new StructType, Array.empty[Transform], Map("path" -> path).asJava)
    )
  }

  private def ofSnapshot(name: String, snapshot: AnyRef): DeltaTable = {
    val metadata = ask(snapshot, "metadata")
    new DeltaTable(
      name,
      ask(metadata, "configuration").asInstanceOf[Map[String, String]],
      ask(metadata, "schema").asInstanceOf[StructType]
    )
  }

  /** The value of one of the members, if the object has one with such a name. */
  def first(of: AnyRef, names: Seq[String]): Option[AnyRef] =
    names
      .find(name => of.getClass.getMethods.exists(one => one.getName == name && one.getParameterCount == 0))
      .map(ask(of, _))

  def ask(of: AnyRef, name: String): AnyRef =
    try of.getClass.getMethod(name).invoke(of)
    catch { case failed: InvocationTargetException => throw failed.getCause }
}
