package io.pmeparquet.spark.read

import org.apache.spark.sql.execution.datasources.parquet.ParquetUtils
import org.apache.spark.sql.types._
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.schema.{WantedColumn, WantedColumns}
import io.pmeparquet.spark.session.SparkAccess

/** The schema of a read, as the file gate needs it. ''Driver only.'' */
private[spark] object ScanColumns {

  /** The leaf columns that a read of this schema needs. The gate finds them in files in the same way as Spark. */
  def wanted(session: SparkSession, schema: StructType): WantedColumns = {
    val conf = SparkAccess.sqlConf(session)
    val columns = schema.fields.toSeq.flatMap { field =>
      def id(of: StructField) = conf.parquetFieldIdReadEnabled && ParquetUtils.hasFieldId(of)
      val top = WantedColumn(
        Seq(field.name),
        fieldId = if (id(field)) Some(ParquetUtils.getFieldId(field)) else None,
        byNestedIds = anyField(field.dataType)(id)
      )
      below(field.dataType, top)
    }
    WantedColumns(columns, conf.caseSensitiveAnalysis)
  }

  private def anyField(dataType: DataType)(found: StructField => Boolean): Boolean = dataType match {
    case struct: StructType => struct.fields.exists(field => found(field) || anyField(field.dataType)(found))
    case array: ArrayType => anyField(array.elementType)(found)
    case map: MapType => anyField(map.keyType)(found) || anyField(map.valueType)(found)
    case _ => false
  }

  private def below(dataType: DataType, at: WantedColumn): Seq[WantedColumn] = {
    def child(name: String) = at.copy(path = at.path :+ name)
    def inner(name: String) = child(name).copy(inCollection = true)
    dataType match {
      case struct: StructType =>
        struct.fields.toSeq.flatMap(field => below(field.dataType, child(field.name)))
      case array: ArrayType => below(array.elementType, inner("element"))
      case map: MapType => below(map.keyType, inner("key")) ++ below(map.valueType, inner("value"))
      case udt: UserDefinedType[_] => below(udt.sqlType, at)
      case _ => Seq(at)
    }
  }
}
