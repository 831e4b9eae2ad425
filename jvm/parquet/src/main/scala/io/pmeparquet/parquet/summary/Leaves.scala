package io.pmeparquet.parquet.summary

import java.nio.{ByteBuffer, ByteOrder}

import scala.util.Try

import org.apache.parquet.schema.{ColumnOrder, MessageTypeParser, PrimitiveType, Types}
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/** What the type of a column means for its summaries. */
private[parquet] object Leaves {

  /** Whether Parquet defines how its values compare; not of INT96 and intervals. Half floats are not known to Spark. */
  def hasOrder(leaf: PrimitiveType): Boolean =
    leaf.columnOrder.getColumnOrderName == ColumnOrder.ColumnOrderName.TYPE_DEFINED_ORDER &&
      leaf.getPrimitiveTypeName != INT96 && !isHalfFloat(leaf)

  // Parquet 1.13 has no class for it.
  private def isHalfFloat(leaf: PrimitiveType) =
    Option(leaf.getLogicalTypeAnnotation).exists(_.toString.startsWith("FLOAT16"))

  /** Whether equal values have equal bytes. A decimal of variable length may have more sign bits than it needs. */
  def hasOneForm(leaf: PrimitiveType): Boolean =
    !(leaf.getPrimitiveTypeName == BINARY && leaf.getLogicalTypeAnnotation
      .isInstanceOf[DecimalLogicalTypeAnnotation])

  /** Whether its values are in Bloom filters. */
  def isHashed(leaf: PrimitiveType): Boolean = hasOneForm(leaf) && leaf.getPrimitiveTypeName != BOOLEAN

  def isFloating(leaf: PrimitiveType): Boolean =
    leaf.getPrimitiveTypeName == FLOAT || leaf.getPrimitiveTypeName == DOUBLE

  /** Whether a list of its values needs bounds as well to be evaluated. */
  def needsBounds(leaf: PrimitiveType): Boolean = isFloating(leaf) || leaf.getPrimitiveTypeName == BOOLEAN

  /** Whether bytes can be the bound of a column: those of bytes may be cut. */
  def canBound(leaf: PrimitiveType, bytes: Array[Byte]): Boolean =
    leaf.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY || isValue(leaf, bytes)

  /** Whether bytes are a value of a column, and not NaN. */
  def isValue(leaf: PrimitiveType, bytes: Array[Byte]): Boolean = leaf.getPrimitiveTypeName match {
    case BOOLEAN => bytes.length == 1
    case INT32 => bytes.length == Integer.BYTES
    case INT64 => bytes.length == java.lang.Long.BYTES
    case FLOAT => bytes.length == java.lang.Float.BYTES && !little(bytes).getFloat.isNaN
    case DOUBLE => bytes.length == java.lang.Double.BYTES && !little(bytes).getDouble.isNaN
    case FIXED_LEN_BYTE_ARRAY => bytes.length == leaf.getTypeLength
    case BINARY => true
    case INT96 => false
  }

  private def little(bytes: Array[Byte]) = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)

  /**
   * The type as text, by which summaries of different files are compared: whether a file's column can be null, and its
   * field id, make no other type.
   */
  def textOf(leaf: PrimitiveType): String = {
    val length = if (leaf.getPrimitiveTypeName == FIXED_LEN_BYTE_ARRAY) leaf.getTypeLength else 0
    Types
      .optional(leaf.getPrimitiveTypeName)
      .length(length)
      .as(leaf.getLogicalTypeAnnotation)
      .named(leaf.getName)
      .toString
  }
}

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
