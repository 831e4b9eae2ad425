package io.pmeparquet.spark

import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter
import org.apache.spark.sql.types._
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.KeyPlan
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.SchemaColumns

/** Spark schemas as the key plan and the file gate see them. ''Driver only.'' */
private[spark] object ColumnPlan {

  /** Fails where `columnKeys` does not fit the schema, before any file is written. */
  def check(session: SparkSession, dataSchema: StructType, settings: FileSettings): Unit = {
    val schema = new SparkToParquetSchemaConverter(SparkAccess.sqlConf(session)).convert(dataSchema)
    KeyPlan.of(SchemaColumns.leaves(schema), settings.columnKeys, settings.unlisted, settings.caseSensitive)
  }

  /** The leaf columns of a schema, as Spark names them. */
  def leafNames(schema: StructType): Seq[Seq[String]] =
    schema.fields.toSeq.flatMap(f => below(f.dataType, Seq(f.name)))

  private def below(dataType: DataType, path: Seq[String]): Seq[Seq[String]] = dataType match {
    case struct: StructType => struct.fields.toSeq.flatMap(field => below(field.dataType, path :+ field.name))
    case array: ArrayType => below(array.elementType, path :+ "element")
    case map: MapType => below(map.keyType, path :+ "key") ++ below(map.valueType, path :+ "value")
    case udt: UserDefinedType[_] => below(udt.sqlType, path)
    case _ => Seq(path)
  }
}
