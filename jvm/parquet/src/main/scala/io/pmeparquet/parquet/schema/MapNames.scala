package io.pmeparquet.parquet.schema

import scala.collection.JavaConverters._

import org.apache.parquet.schema.{GroupType, LogicalTypeAnnotation, MessageType, Type}

/**
 * The names of leaf columns if each group that may be read as a map is one. If the reader's schema has a map, Spark's
 * row reader takes the first two fields in it for keys and values, and does not check that the file has one: whoever
 * removes the annotation must not thereby give values another name than `m.value`.
 */
private[parquet] object MapNames {

  /** The names of columns in such a group, by their paths. */
  def of(schema: MessageType): Map[Seq[String], Seq[String]] =
    schema.getFields.asScala
      .flatMap(field => below(field, Seq(field.getName), Seq(field.getName), inMap = false))
      .toMap

  private def below(
      field: Type,
      path: Seq[String],
      name: Seq[String],
      inMap: Boolean
  ): Seq[(Seq[String], Seq[String])] =
    if (field.isPrimitive) { if (inMap) Seq(path -> name) else Nil }
    else {
      val group = field.asGroupType
      val entries = entriesOf(group)
      group.getFields.asScala.toList.flatMap { child =>
        val inner = path :+ child.getName
        if (!entries.contains(child)) below(child, inner, name :+ child.getName, inMap)
        else
          child.asGroupType.getFields.asScala.toList.zipWithIndex.flatMap { case (part, index) =>
            val called = if (index == 0) "key" else if (index == 1) "value" else part.getName
            below(part, inner :+ part.getName, name :+ called, inMap = true)
          }
      }
    }

  private def entriesOf(group: GroupType): Option[Type] = {
    val isMap = group.getLogicalTypeAnnotation match {
      case _: LogicalTypeAnnotation.MapLogicalTypeAnnotation => true
      case _: LogicalTypeAnnotation.MapKeyValueTypeAnnotation => true
      case _ => false
    }
    group.getFields.asScala.headOption
      .filter(first => isMap || first.isRepetition(Type.Repetition.REPEATED))
      .filter(first => !first.isPrimitive && first.asGroupType.getFieldCount >= 2)
  }
}
