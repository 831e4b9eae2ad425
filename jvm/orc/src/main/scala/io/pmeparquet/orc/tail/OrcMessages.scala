package io.pmeparquet.orc.tail

import java.io.IOException

import scala.collection.JavaConverters._

import org.apache.orc.protobuf.{ByteString, CodedInputStream, Message, WireFormat}
import org.apache.orc.protobuf.Descriptors.{Descriptor, FieldDescriptor}
import org.apache.orc.protobuf.Descriptors.FieldDescriptor.{JavaType, Type}

/**
 * Opens structures with ORC's own generated classes, so that a file means to us what it means to ORC's reader.
 *
 * Two bytes of a file can become an object of a hundred. So a structure is walked through first ([[MessageWalk]]).
 */
private[tail] object OrcMessages {

  /**
   * @param empty says which message it is
   * @param what the message, for errors: "its footer"
   */
  def parse[A <: Message](empty: A, bytes: Array[Byte], what: String): A =
    try {
      new MessageWalk(CodedInputStream.newInstance(bytes), what).message(empty.getDescriptorForType)
      empty.getParserForType.parseFrom(bytes).asInstanceOf[A]
    } catch {
      case bad: IOException => throw new Damage(s"$what is not readable: ${bad.getMessage}", cause = bad)
    }

  /** The value of an enum that these classes do not know: to them the field is not there, and has its default. */
  def unknownValue(of: Message, field: Int): Option[Long] =
    of.getUnknownFields.getField(field).getVarintList.asScala.headOption.map(_.longValue)

  /** A field, anywhere in a message, that these classes do not know. */
  def unknownField(of: Message): Option[String] =
    of.getUnknownFields.asMap.keySet.asScala.headOption
      .map(number => s"field $number of ${of.getDescriptorForType.getName}")
      .orElse {
        val parts = of.getAllFields.values.asScala.iterator.flatMap {
          case one: Message => Iterator(one)
          case several: java.util.List[_] => several.asScala.iterator.collect { case one: Message => one }
          case _ => Iterator.empty
        }
        parts.map(unknownField).collectFirst { case Some(found) => found }
      }

  /** A text. Protobuf replaces what is no UTF-8, so that two names could become the same. */
  def text(bytes: ByteString, most: Int = OrcLimits.NameBytes): String = {
    Damage.require(bytes.size <= most, s"a text has ${bytes.size} bytes, and at most $most are accepted")
    Damage.require(bytes.isValidUtf8, "a text is not UTF-8")
    bytes.toStringUtf8
  }
}

/**
 * One walk over a message, by the format's own description. It keeps no object for any part of it.
 *
 * After it the message is whole, its fields have their types, its unsigned numbers are none that Java takes for negative,
 * and its parts are at most [[OrcLimits.Objects]].
 */
private final class MessageWalk(in: CodedInputStream, what: String) {
  private var left = OrcLimits.Objects

  def message(of: Descriptor): Unit = {
    var tag = in.readTag()
    while (tag != 0) {
      // Null for a field that these classes do not know.
      val field = of.findFieldByNumber(WireFormat.getTagFieldNumber(tag))
      val form = WireFormat.getTagWireType(tag)
      if (field != null && form != field.getLiteType.getWireType && !isPacked(field, form))
        throw Damage(s"$what is not readable: field ${field.getNumber} has the wire type $form")
      // Numbers that can occur once have room in the message itself.
      if (field == null || field.isRepeated || form == WireFormat.WIRETYPE_LENGTH_DELIMITED) count()
      form match {
        case WireFormat.WIRETYPE_VARINT => number(field)
        case WireFormat.WIRETYPE_FIXED64 => in.skipRawBytes(java.lang.Long.BYTES)
        case WireFormat.WIRETYPE_FIXED32 => in.skipRawBytes(Integer.BYTES)
        case WireFormat.WIRETYPE_LENGTH_DELIMITED => part(field, in.readRawVarint32())
        // Groups can be nested as deep as the data is long, and ORC has none.
        case other => throw Damage(s"$what is not readable: it has the wire type $other")
      }
      tag = in.readTag()
    }
  }

  private def part(field: FieldDescriptor, length: Int): Unit =
    if (field != null && field.getJavaType == JavaType.MESSAGE) within(length)(message(field.getMessageType))
    else if (field != null && field.isPackable)
      within(length)(while (!in.isAtEnd) {
        count()
        number(field)
      })
    else in.skipRawBytes(length)

  private def within(length: Int)(walk: => Unit): Unit = {
    val outer = in.pushLimit(length)
    walk
    in.popLimit(outer)
  }

  private def number(field: FieldDescriptor): Unit = {
    val value = in.readRawVarint64()
    val isTooLarge = field != null && (field.getType match {
      case Type.UINT32 => value < 0 || value > Int.MaxValue
      case Type.UINT64 => value < 0
      case _ => false
    })
    if (isTooLarge)
      throw Damage(s"$what is not readable: the number in field ${field.getNumber} is too large")
  }

  private def isPacked(field: FieldDescriptor, form: Int) =
    field.isPackable && form == WireFormat.WIRETYPE_LENGTH_DELIMITED

  private def count(): Unit = {
    left -= 1
    if (left < 0)
      throw Damage(s"$what has more than ${OrcLimits.Objects} values, the maximum with this heap size")
  }
}
