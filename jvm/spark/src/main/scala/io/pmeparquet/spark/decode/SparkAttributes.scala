package io.pmeparquet.spark.decode

import org.apache.spark.sql.catalyst.expressions.AttributeReference
import org.apache.spark.sql.types.StructType

private[spark] object SparkAttributes {

  /** A new attribute for each field of a schema. */
  def of(schema: StructType): Seq[AttributeReference] =
    schema.map(field => AttributeReference(field.name, field.dataType, field.nullable, field.metadata)())
}
