package io.pmeparquet.orc.tail

import java.nio.charset.CharacterCodingException
import java.nio.ByteBuffer

import io.pmeparquet.Utf8

/**
 * Reads one message in protobuf's wire format, without a generated class: ORC's differ between versions.
 *
 * It is stricter than protobuf, so that whatever it accepts means the same to ORC's reader: a field that may occur once
 * occurs once, has its type, and fits into the type that ORC gives it. Unknown fields are skipped, as protobuf does.
 *
 * @param what the message, for errors: "its footer"
 * @param budget shared by all messages of a structure
 */
private[tail] final class Wire(
    bytes: Array[Byte],
    from: Int,
    private val until: Int,
    what: String,
    budget: Wire.Budget
) {
  import Wire._

  private var at = from
  private var form = 0
  private var seen = 0L

  /** The number of the field whose value is next. */
  var field: Int = 0

  /** Moves to the next field; whoever called it reads or skips the value. */
  def next(): Boolean = at < until && {
    val tag = varint()
    if (tag < 0 || tag > Int.MaxValue) throw bad("a field has an impossible number")
    field = (tag >>> 3).toInt
    form = (tag & 7).toInt
    if (field == 0) throw bad("a field has the number 0")
    true
  }

  /** Reads the message: `read` gets each field's number, and answers whether it has read the value. */
  def fields(read: PartialFunction[Int, Unit]): Unit =
    while (next()) read.applyOrElse(field, (_: Int) => skip())

  /** Refuses a second occurrence of the field, of which protobuf would take the last. */
  def once: Wire = {
    val bit = 1L << field.min(SeenFields)
    if ((seen & bit) != 0) throw bad(s"field $field occurs twice")
    seen |= bit
    this
  }

  /** A `uint64`, at most 2^63^-1. */
  def long(): Long = {
    require(Varint)
    val value = varint()
    if (value < 0) throw bad(s"the number in field $field is too large")
    value
  }

  /** A `uint32` or the number of an enum's value, at most 2^31^-1. */
  def int(): Int = {
    val value = long()
    if (value > Int.MaxValue) throw bad(s"the number in field $field is too large")
    value.toInt
  }

  /** A repeated `uint32`, packed or not: calls `each` for each value. */
  def ints(each: Int => Unit): Unit =
    if (form == Varint) {
      budget.spend(what)
      each(int())
    } else {
      val packed = message(what)
      while (packed.at < packed.until) {
        budget.spend(what)
        val value = packed.varint()
        if (value < 0 || value > Int.MaxValue) throw bad(s"a number in field $field is too large")
        each(value.toInt)
      }
    }

  /** Skips repeated numbers of any size, packed or not. */
  def numbers(): Unit =
    if (form == Varint) {
      budget.spend(what)
      varint()
      ()
    } else {
      val packed = message(what)
      while (packed.at < packed.until) {
        budget.spend(what)
        packed.varint()
      }
    }

  /** Skips what must be bytes or a text. */
  def skipBytes(): Unit = {
    val length = lengthOf(Int.MaxValue)
    at += length
  }

  def blob(most: Int): Array[Byte] = {
    val length = lengthOf(most)
    at += length
    java.util.Arrays.copyOfRange(bytes, at - length, at)
  }

  /** A text. Protobuf replaces what is no UTF-8, so that two names could become the same. */
  def text(most: Int = OrcLimits.NameChars): String = {
    val length = lengthOf(most)
    at += length
    try Utf8.strict(bytes, at - length, length)
    catch { case _: CharacterCodingException => throw bad(s"the text in field $field is not UTF-8") }
  }

  def message(named: String): Wire = {
    val length = lengthOf(Int.MaxValue)
    at += length
    new Wire(bytes, at - length, at, named, budget)
  }

  def skip(): Unit = form match {
    case Varint => varint(); ()
    case Fixed64 => move(8)
    case Fixed32 => move(4)
    case Length => move(lengthOf(Int.MaxValue))
    // Groups can be nested as deep as the data is long, and ORC has none.
    case other => throw bad(s"field $field has the wire type $other")
  }

  /** Any number: `sint64`, `bool` or `int32`, which the caller does not need. */
  def number(): Long = {
    require(Varint)
    varint()
  }

  def double(): Double = {
    require(Fixed64)
    move(8)
    ByteBuffer.wrap(bytes, at - 8, 8).order(java.nio.ByteOrder.LITTLE_ENDIAN).getDouble
  }

  private def lengthOf(most: Int): Int = {
    require(Length)
    budget.spend(what)
    val length = varint()
    if (length < 0 || length > until - at)
      throw bad(s"the length of field $field is $length bytes, but ${until - at} bytes are left")
    if (length > most)
      throw bad(s"the length of field $field is $length bytes, and at most $most are accepted")
    length.toInt
  }

  private def require(expected: Int): Unit =
    if (form != expected) throw bad(s"field $field has the wire type $form")

  private def move(count: Int): Unit = {
    if (count > until - at) throw bad("the data ends too early")
    at += count
  }

  private def varint(): Long = {
    var value = 0L
    var shift = 0
    var more = true
    while (more) {
      if (at >= until) throw bad("the data ends too early")
      val byte = bytes(at)
      at += 1
      // The tenth byte has one bit of 64.
      if (shift == 63 && (byte & 0xfe) != 0) throw bad("a number does not end")
      value |= (byte & 0x7fL) << shift
      shift += 7
      more = (byte & 0x80) != 0
    }
    value
  }

  private def bad(why: String) = Damage(s"$what is not readable: $why")
}

private[tail] object Wire {
  private val Varint = 0
  private val Fixed64 = 1
  private val Length = 2
  private val Fixed32 = 5

  /** ORC's fields have numbers below it, but for one in the postscript. */
  private val SeenFields = 63

  def of(bytes: Array[Byte], what: String): Wire = new Wire(bytes, 0, bytes.length, what, new Budget)

  /** How many objects the messages of a structure may become. */
  final class Budget {
    private var left = OrcLimits.Objects

    def spend(what: String): Unit = {
      left -= 1
      if (left < 0)
        throw Damage(s"$what has more than ${OrcLimits.Objects} values, the maximum with this heap size")
    }
  }
}
