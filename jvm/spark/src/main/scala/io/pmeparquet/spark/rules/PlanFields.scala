package io.pmeparquet.spark.rules

import java.lang.reflect.Modifier

import scala.collection.JavaConverters._

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.execution.datasources.{
  FileFormat,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand
}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedFormat}

/**
 * Replaces the format in Spark's case classes. They have more fields in each version, so this finds fields by their
 * type.
 */
private[spark] object PlanFields {

  /** Replaces the files of a relation. */
  def withRelation(node: LogicalPlan)(change: HadoopFsRelation => HadoopFsRelation): LogicalPlan =
    node.makeCopy(node.productIterator.map {
      case files: HadoopFsRelation => change(files)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** Replaces the options of a relation or a write. */
  def withOptions(
      node: LogicalPlan
  )(change: Map[String, String] => Map[String, String]): LogicalPlan = {
    def changed(files: HadoopFsRelation) = files.copy(options = change(files.options))(files.sparkSession)
    node match {
      case write: InsertIntoHadoopFsRelationCommand => write.copy(options = change(write.options))
      case _ => withRelation(node)(changed)
    }
  }

  /** Replaces the options of a relation of a V2 table. */
  def withV2Options(relation: DataSourceV2Relation, options: Map[String, String]): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case _: CaseInsensitiveStringMap => new CaseInsensitiveStringMap(options.asJava)
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** Replaces the scan of a relation of a V2 table. */
  def withScan(relation: DataSourceV2ScanRelation, scan: Scan): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case _: Scan => scan
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** Replaces the table of a relation of Hive. */
  def withTable(relation: HiveTableRelation, table: CatalogTable): LogicalPlan =
    relation.makeCopy(relation.productIterator.map {
      case _: CatalogTable => table
      case other => other.asInstanceOf[AnyRef]
    }.toArray)

  /** `table.copy(field = value)`, which has other parameters in other versions of Spark. */
  def copied(table: CatalogTable, field: String, value: AnyRef): CatalogTable = {
    // Those that are not final hold lazy values.
    val names = table.getClass.getDeclaredFields.filter(field => Modifier.isFinal(field.getModifiers))
    val fields = table.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    fields(names.map(_.getName).indexOf(field)) = value
    val maker = table.getClass.getConstructors.filter(_.getParameterCount == fields.length).head
    maker.newInstance(fields: _*).asInstanceOf[CatalogTable]
  }

  /** Replaces the format for encrypted Parquet. */
  def withFormat(node: LogicalPlan)(change: EncryptedFormat => EncryptedFormat): LogicalPlan =
    withFormats(node) { case format: EncryptedFormat => change(format) }

  /** Replaces a format of this project. */
  def withOurs(node: LogicalPlan)(change: EncryptedFileFormat => EncryptedFileFormat): LogicalPlan =
    withFormats(node) { case format: EncryptedFileFormat => change(format) }

  /** Replaces formats. */
  def withFormats(node: LogicalPlan)(change: PartialFunction[FileFormat, FileFormat]): LogicalPlan = {
    def changed(format: FileFormat) = if (change.isDefinedAt(format)) change(format) else format
    val fields = node.productIterator.map(_.asInstanceOf[AnyRef]).toArray
    val others = fields.map {
      case files: HadoopFsRelation =>
        val other = changed(files.fileFormat)
        if (other eq files.fileFormat) files else files.copy(fileFormat = other)(files.sparkSession)
      case format: FileFormat => changed(format)
      case other => other
    }
    val isSame = fields.indices.forall(place => fields(place) eq others(place))
    if (isSame) node else node.makeCopy(others)
  }
}
