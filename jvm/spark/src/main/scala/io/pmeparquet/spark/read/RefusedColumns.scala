package io.pmeparquet.spark.read

import java.util.Collections

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.InitContext
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types.{MetadataBuilder, StructField, StructType}

import io.pmeparquet.parquet.file.{RefusedColumn, SplitReader}

/** Hides columns of a file whose keys the KMS refuses, so that Spark reads them as NULL. ''Executor only.'' */
private[spark] object RefusedColumns {

  /** Hides the refused columns. Spark reads missing columns as NULL. */
  def hide(file: SplitReader, conf: Configuration, required: StructType, scan: MaskedScan): AskedColumns = {
    val refused = hideAll(file, conf, required)
    scan.admit(refused, file.path.toString)
    withoutDefaults(refused.map(_._1).toSet, conf, required)
  }

  /** @return the columns, each with the name of the scan's column that it is, or is a part of */
  private def hideAll(
      file: SplitReader,
      conf: Configuration,
      required: StructType
  ): Seq[(String, RefusedColumn)] = {
    val all = AskedColumns(conf, required)
    // Where the KMS refuses all columns of a struct, Spark reads another one each time, to find where the struct is
    // NULL, so this repeats until it hides nothing more.
    @tailrec def hideAgain(before: Seq[(String, RefusedColumn)]): Seq[(String, RefusedColumn)] = {
      val asked = new ParquetReadSupport().init(all.of(file)).getRequestedSchema
      val refused = file.refused(asked)
      val named = refused.map(column => required(asked.getFieldIndex(column.path.head)).name -> column)
      file.hide(refused)
      if (refused.isEmpty) before else hideAgain(before ++ named)
    }
    hideAgain(Nil)
  }

  /** Removes defaults: Spark reads a missing column as its default, but a hidden column must be NULL. */
  private def withoutDefaults(hidden: Set[String], conf: Configuration, required: StructType): AskedColumns =
    if (hidden.isEmpty) AskedColumns(conf, required)
    else {
      val schema = StructType(
        required.map(field => if (hidden(field.name)) withoutDefault(field) else field)
      )
      val copy = new Configuration(conf)
      copy.set(ParquetReadSupport.SPARK_ROW_REQUESTED_SCHEMA, schema.json)
      AskedColumns(copy, schema)
    }

  private def withoutDefault(field: StructField): StructField = {
    val metadata = new MetadataBuilder().withMetadata(field.metadata).remove(ExistsDefault).build()
    val dataType = field.dataType match {
      case struct: StructType => StructType(struct.map(withoutDefault))
      case other => other
    }
    field.copy(dataType = dataType, metadata = metadata)
  }

  private val ExistsDefault = ResolveDefaultColumns.EXISTS_DEFAULT_COLUMN_METADATA_KEY
}

/**
 * The columns that Spark asks a file for, as Spark's schema and in the configuration for Spark's read support.
 * ''Executor only.''
 */
private[spark] final case class AskedColumns(conf: Configuration, schema: StructType) {

  /** What Spark's read support needs to find these columns in a file. */
  def of(file: SplitReader): InitContext = of(file, file.metadata.getSchema)

  /** The same, if the file had this schema. */
  def of(file: SplitReader, schema: MessageType): InitContext = {
    val metadata = file.metadata.getKeyValueMetaData.asScala
    val sets = metadata.map { case (key, value) => key -> Collections.singleton(value) }.toMap.asJava
    new InitContext(conf, sets, schema)
  }
}
