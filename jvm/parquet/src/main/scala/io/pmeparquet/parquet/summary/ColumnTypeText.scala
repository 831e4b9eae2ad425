package io.pmeparquet.parquet.summary

import scala.util.Try

import org.apache.parquet.schema.{MessageTypeParser, PrimitiveType, Types}

/** Reads the types of indexed columns, which manifests have as parquet-java's text ([[Leaves.textOf]]). */
object ColumnTypeText {

  /**
   * @param text such as `optional binary city (STRING)`
   * @param name of the column in it. It can have characters at which parquet-java's parser ends a name, such as a space.
   * @return none if parquet-java does not know the type
   */
  def parsed(text: String, name: String): Option[PrimitiveType] = {
    val start = text.indexOf(' ', text.indexOf(' ') + 1) + 1
    if (!text.startsWith(name, start)) None
    else
      Try {
        val plain = text.take(start) + "c" + text.drop(start + name.length)
        MessageTypeParser.parseMessageType(s"message m { $plain; }")
      }.toOption.filter(_.getFieldCount == 1).map(_.getType(0)).collect { case leaf: PrimitiveType =>
        Types
          .primitive(leaf.getPrimitiveTypeName, leaf.getRepetition)
          .length(leaf.getTypeLength)
          .as(leaf.getLogicalTypeAnnotation)
          .named(name)
      }
  }
}
