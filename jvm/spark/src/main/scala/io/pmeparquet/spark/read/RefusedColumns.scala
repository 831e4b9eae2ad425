package io.pmeparquet.spark.read

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport
import org.apache.spark.sql.types.{MetadataBuilder, StructField, StructType}

import io.pmeparquet.parquet.file.{RefusedColumn, SplitReader}

/** Columns of a file whose keys are refused, where they are read as NULL. ''Executor only.'' */
private[spark] object RefusedColumns {

  /** Hides them: then they are missing, and what is missing Spark reads as NULL. */
  def hide(file: SplitReader, conf: Configuration, required: StructType, scan: MaskedScan): AskedColumns = {
    val refused = hideAll(file, conf, required)
    scan.admit(refused, file.path.toString)
    withoutDefaults(refused.map(_._1).toSet, conf, required)
  }

  /** @return by the name of the scan's column that they are, or are a part of */
  private def hideAll(
      file: SplitReader,
      conf: Configuration,
      required: StructType
  ): Seq[(String, RefusedColumn)] = {
    val all = AskedColumns(conf, required)
    // Where all wanted fields of a struct are missing, Spark takes another to know where the struct is NULL: so again.
    @tailrec def hideAgain(before: Seq[(String, RefusedColumn)]): Seq[(String, RefusedColumn)] = {
      val asked = new ParquetReadSupport().init(all.of(file)).getRequestedSchema
      val refused = file.refused(asked)
      val named = refused.map(column => required(asked.getFieldIndex(column.path.head)).name -> column)
      file.hide(refused)
      if (refused.isEmpty) before else hideAgain(before ++ named)
    }
    hideAgain(Nil)
  }

  /** Spark reads a missing column as the default of its definition, which is not for columns that are hidden. */
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
