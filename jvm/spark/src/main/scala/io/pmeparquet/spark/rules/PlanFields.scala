package io.pmeparquet.spark.rules

import java.lang.reflect.Modifier

import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{Command, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.TreeNode
import org.apache.spark.sql.execution.adaptive.AdaptiveSparkPlanExec
import org.apache.spark.sql.execution.columnar.{InMemoryRelation, InMemoryTableScanExec}
import org.apache.spark.sql.execution.datasources.{
  DataSource,
  FileFormat,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand,
  LogicalRelation
}
import org.apache.spark.sql.execution.SparkPlan

import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedParquetFormat}

/**
 * Finds the nodes of a plan, and replaces what is in them. Spark's case classes have more fields in each version, so this
 * finds fields by their type or value. ''Driver only.''
 */
private[pmeparquet] object PlanFields {

  /** All nodes of a plan and its subqueries. */
  def nodes(plan: LogicalPlan): Seq[LogicalPlan] = plan.collectWithSubqueries { case node => node }

  /** The source of a streaming relation. Spark has moved the class of the relation between versions. */
  def sourceOf(leaf: LogicalPlan): Option[DataSource] = leaf.productIterator.collectFirst {
    case source: DataSource => source
  }

  /** A copy with other fields; the node itself if no field is another one. */
  def replaced[T <: TreeNode[T]](node: TreeNode[T])(change: PartialFunction[Any, Any]): T = {
    val fields = node.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val others = fields.map(field => change.applyOrElse(field, identity[Any]).asInstanceOf[AnyRef])
    val isSame = fields.indices.forall(place => fields(place) eq others(place))
    if (isSame) node.asInstanceOf[T] else node.makeCopy(others)
  }

  /** Replaces the files of a relation. */
  def withRelation(node: LogicalPlan)(change: HadoopFsRelation => HadoopFsRelation): LogicalPlan =
    replaced(node) { case files: HadoopFsRelation => change(files) }

  /** Replaces the options of a relation or a write. */
  def withOptions(
      node: LogicalPlan
  )(change: Map[String, String] => Map[String, String]): LogicalPlan = node match {
    case write: InsertIntoHadoopFsRelationCommand => write.copy(options = change(write.options))
    case _ => withRelation(node)(files => files.copy(options = change(files.options))(files.sparkSession))
  }

  /** Replaces the format for encrypted Parquet. */
  def withFormat(node: LogicalPlan)(change: EncryptedParquetFormat => EncryptedParquetFormat): LogicalPlan =
    withFormats(node) { case format: EncryptedParquetFormat => change(format) }

  /** Replaces a format of this project. */
  def withOurs(node: LogicalPlan)(change: EncryptedFileFormat => EncryptedFileFormat): LogicalPlan =
    withFormats(node) { case format: EncryptedFileFormat => change(format) }

  /** Replaces formats. */
  def withFormats(node: LogicalPlan)(change: PartialFunction[FileFormat, FileFormat]): LogicalPlan = {
    def changed(format: FileFormat) = if (change.isDefinedAt(format)) change(format) else format
    replaced(node) {
      case files: HadoopFsRelation =>
        val other = changed(files.fileFormat)
        if (other eq files.fileFormat) files else files.copy(fileFormat = other)(files.sparkSession)
      case format: FileFormat => changed(format)
    }
  }

  /** `table.copy(field = value)`, which has other parameters in other versions of Spark. */
  def copied(table: CatalogTable, field: String, value: AnyRef): CatalogTable = {
    // Those that are not final hold lazy values.
    val names = table.getClass.getDeclaredFields.filter(field => Modifier.isFinal(field.getModifiers))
    val fields = table.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    fields(names.map(_.getName).indexOf(field)) = value
    val maker = table.getClass.getConstructors.filter(_.getParameterCount == fields.length).head
    maker.newInstance(fields: _*).asInstanceOf[CatalogTable]
  }
}

/** A relation of files, and their format. */
private[rules] object FileRelation {
  def unapply(relation: LogicalRelation): Option[(HadoopFsRelation, FileFormat)] = relation.relation match {
    case files: HadoopFsRelation => Some(files -> files.fileFormat)
    case _ => None
  }
}

/** A node of the physical plan of cached data. ''Driver only.'' */
private[spark] final class CachedNode(val node: SparkPlan, relation: InMemoryRelation) {

  /** Whether all of the data is cached, so that Spark has read all files. */
  def isFilled: Boolean = relation.cacheBuilder.isCachedColumnBuffersLoaded
}

private[spark] object CachedNode {

  /** The nodes of the plan of cached data, and of any cached data that this plan reads. */
  def of(relation: InMemoryRelation): Seq[CachedNode] =
    nodesOf(relation.cachedPlan).flatMap { node =>
      val inner = node match {
        case scan: InMemoryTableScanExec => of(scan.relation)
        case _ => Nil
      }
      new CachedNode(node, relation) +: inner
    }

  /** An adaptive plan, which may also be a subquery's, is a leaf to Spark: this looks inside. */
  private def nodesOf(plan: SparkPlan): Seq[SparkPlan] =
    plan.collectWithSubqueries { case node => node }.flatMap {
      case adaptive: AdaptiveSparkPlanExec => nodesOf(adaptive.inputPlan)
      case node => Seq(node)
    }
}

/** Hive's commands are in a jar that not every Spark has, so nothing here names their classes. ''Driver only.'' */
private[rules] object HiveCommands {
  private val Package = "org.apache.spark.sql.hive."

  /** What a command of Hive was made with: the tables (`CatalogTable`) and places (`CatalogStorageFormat`) among others. */
  def unapplySeq(node: LogicalPlan): Option[Seq[Any]] = node match {
    case command: Command if command.getClass.getName.startsWith(Package) =>
      Some(command.productIterator.toSeq)
    case _ => None
  }
}
