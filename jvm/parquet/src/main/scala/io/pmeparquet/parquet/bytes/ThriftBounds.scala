package io.pmeparquet.parquet.bytes

import scala.collection.mutable

/**
 * Walks over a struct in Thrift's compact protocol without creating objects. Every string and list must fit into the
 * remaining bytes, and both the nesting and the number of objects that a parser would create are limited. This
 * heap can parse whatever passes; Thrift's own reader would first allocate as much as a list claims.
 */
private[parquet] object ThriftBounds {

  /**
   * @return the index at which the struct that begins at `from` ends
   * @throws ThriftUnbounded if it does not end before `until`, or is no struct at all
   */
  def end(bytes: Array[Byte], from: Int, until: Int): Int = walk(bytes, from, until, ThriftFields.none).at

  /**
   * The places of the values of binary fields in a struct, in order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def binaries(bytes: Array[Byte], from: Int, until: Int, wanted: ThriftFields): Seq[BinaryPlace] =
    walk(bytes, from, until, wanted).places.toSeq

  /**
   * The fields of a struct, in order, but not those of the structs in it.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def fields(bytes: Array[Byte], from: Int, until: Int): Seq[FieldPlace] =
    walk(bytes, from, until, ThriftFields.none).fields.toSeq

  /**
   * Fields of a struct that are not among the known ones, in order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def unknown(bytes: Array[Byte], from: Int, until: Int, known: ThriftFields): Seq[UnknownField] =
    walk(bytes, from, until, known).unknown.toSeq

  private def walk(bytes: Array[Byte], from: Int, until: Int, wanted: ThriftFields) = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, wanted)
    walk
  }
}

/** @param struct the struct's name in the specification */
private[parquet] final case class UnknownField(struct: String, number: Long)

/**
 * Some fields of a struct, by number, and likewise of the structs in them; walks look inside lists.
 *
 * @param struct the struct's name, if these are all of its fields
 */
private[parquet] final class ThriftFields(
    val below: Map[Int, ThriftFields],
    val struct: Option[String] = None
)

private[parquet] object ThriftFields {
  val none: ThriftFields = new ThriftFields(Map.empty)

  /** A binary field whose value the walk looks for. */
  val value: ThriftFields = new ThriftFields(Map.empty)

  /** The field at the end of a path of field numbers. */
  def at(path: Int*): ThriftFields =
    path.foldRight(value)((number, below) => new ThriftFields(Map(number -> below)))
}

/** A binary value: its length begins at `lengthAt`, and its bytes reach from `from` to `until`. */
private[parquet] final case class BinaryPlace(lengthAt: Int, from: Int, until: Int)

/** A field of a struct: its type code, and the bytes of its value, from `from` to `until`. */
private[parquet] final case class FieldPlace(number: Long, kind: Int, from: Int, until: Int)

/** Why a walk over a Thrift structure did not reach its end. */
private[parquet] final class ThriftUnbounded(message: String) extends Exception(message)

/** One walk over a struct in Thrift's compact protocol: see [[ThriftBounds]]. */
private[bytes] final class ThriftWalk(bytes: Array[Byte], from: Int, until: Int) {
  import ThriftWalk._

  var at: Int = from
  val places: mutable.ArrayBuffer[BinaryPlace] = mutable.ArrayBuffer.empty
  val unknown: mutable.ArrayBuffer[UnknownField] = mutable.ArrayBuffer.empty

  /** The fields of the outermost struct. */
  val fields: mutable.ArrayBuffer[FieldPlace] = mutable.ArrayBuffer.empty
  private var objects = 0L

  def struct(depth: Int, wanted: ThriftFields): Unit = {
    make(1)
    var open = true
    var number = 0L
    while (open) {
      val header = next()
      val kind = header & 0x0f
      if (kind == Stop) open = false
      else {
        val delta = header >> 4 & 0x0f
        number = if (delta == 0) zigzag() else number + delta
        if (wanted.struct.isDefined && !(number.isValidInt && wanted.below.contains(number.toInt)))
          wanted.struct.foreach(unknown += UnknownField(_, number))
        val from = at
        // The type code of a boolean field contains its value.
        if (kind != True && kind != False)
          value(kind, depth, if (wanted eq ThriftFields.none) wanted else below(wanted, number))
        if (depth == 0) fields += FieldPlace(number, kind, from, at)
      }
    }
  }

  private def below(wanted: ThriftFields, number: Long) =
    if (number.isValidInt) wanted.below.getOrElse(number.toInt, ThriftFields.none) else ThriftFields.none

  private def value(kind: Int, depth: Int, wanted: ThriftFields): Unit = {
    if (depth > Limits.ThriftDepth) throw new ThriftUnbounded("it is nested too deeply")
    content(kind, depth, wanted)
  }

  private def content(kind: Int, depth: Int, wanted: ThriftFields): Unit = kind match {
    case True | False | I8 => skip(1)
    case I16 | I32 | I64 => varint(); ()
    case Double => skip(DoubleBytes)
    case Binary =>
      make(1)
      val lengthAt = at
      val length = varint()
      val from = at
      skip(length)
      if (wanted eq ThriftFields.value) places += BinaryPlace(lengthAt, from, at)
    case List | Set => list(depth, wanted)
    case MapOf => map(depth)
    case Struct => struct(depth + 1, wanted)
    case _ => throw new ThriftUnbounded(s"it has a field of unknown type $kind")
  }

  private def list(depth: Int, wanted: ThriftFields): Unit = {
    val header = next()
    val short = header >> 4 & 0x0f
    elements(if (short == LongSize) varint() else short.toLong, 1)(
      value(header & 0x0f, depth + 1, wanted)
    )
  }

  private def map(depth: Int): Unit = {
    val size = varint()
    if (size > 0) {
      val kinds = next()
      elements(size, 2) {
        value(kinds >> 4 & 0x0f, depth + 1, ThriftFields.none)
        value(kinds & 0x0f, depth + 1, ThriftFields.none)
      }
    }
  }

  private def elements(size: Long, leastBytes: Int)(element: => Unit): Unit = {
    if (size < 0 || size > (until - at) / leastBytes)
      throw new ThriftUnbounded(s"a list states $size elements, but ${until - at} bytes are left")
    make(1 + size)
    var left = size
    while (left > 0) {
      element
      left -= 1
    }
  }

  private def make(more: Long): Unit = {
    objects += more
    if (objects > Limits.ThriftObjects)
      throw new ThriftUnbounded(
        s"it has more than ${Limits.ThriftObjects} values, the maximum with this heap size"
      )
  }

  private def next(): Int = {
    if (at >= until) throw new ThriftUnbounded("the data ends too early")
    at += 1
    bytes(at - 1).toInt
  }

  private def varint(): Long = {
    var value = 0L
    var shift = 0
    var more = true
    while (more) {
      if (shift >= MaxVarintBytes * 7) throw new ThriftUnbounded("a number does not end")
      val byte = next()
      value |= (byte & 0x7fL) << shift
      shift += 7
      more = (byte & 0x80) != 0
    }
    value
  }

  private def zigzag(): Long = {
    val value = varint()
    (value >>> 1) ^ -(value & 1)
  }

  private def skip(count: Long): Unit = {
    if (count < 0 || count > until - at)
      throw new ThriftUnbounded(s"the length of a value is $count bytes, but ${until - at} bytes are left")
    at += count.toInt
  }
}

private object ThriftWalk {
  // Thrift's compact type codes.
  val Stop = 0
  val True = 1
  val False = 2
  val I8 = 3
  val I16 = 4
  val I32 = 5
  val I64 = 6
  val Double = 7
  val Binary = 8
  val List = 9
  val Set = 10
  val MapOf = 11
  val Struct = 12
  val DoubleBytes = 8
  val MaxVarintBytes = 10
  val LongSize = 15
}
