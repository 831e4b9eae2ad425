package io.pmeparquet.parquet.pages

import scala.collection.mutable

/**
 * Walks over a struct in Thrift's compact protocol without making anything of it: every string and list must fit into
 * the bytes that are there, nesting has a limit, and so has the number of objects that parsing would make. What passes
 * can be parsed in this heap; Thrift's own reader would first allocate what a list says it holds.
 */
private[parquet] object ThriftBounds {

  final class Unbounded(message: String) extends Exception(message)

  /**
   * @return where the struct that begins at `from` ends
   * @throws ThriftBounds.Unbounded where it does not end before `until`, or is no struct at all
   */
  def end(bytes: Array[Byte], from: Int, until: Int): Int = {
    val walk = new Walk(bytes, from, until)
    walk.struct(0, Fields.none)
    walk.at
  }

  /**
   * Where the values of binary fields stand in a struct, in their order.
   *
   * @throws ThriftBounds.Unbounded as [[end]]
   */
  def binaries(bytes: Array[Byte], from: Int, until: Int, wanted: Fields): Seq[Place] = {
    val walk = new Walk(bytes, from, until)
    walk.struct(0, wanted)
    walk.places.toSeq
  }

  /**
   * Fields of a struct that are not among the known ones, in their order.
   *
   * @throws ThriftBounds.Unbounded as [[end]]
   */
  def unknown(bytes: Array[Byte], from: Int, until: Int, known: Fields): Seq[Unknown] = {
    val walk = new Walk(bytes, from, until)
    walk.struct(0, known)
    walk.unknown.toSeq
  }

  /** @param struct its name in the specification */
  final case class Unknown(struct: String, number: Long)

  /**
   * Some fields of a struct, by number, and the same of the structs in them; lists are walked through.
   *
   * @param struct its name, where these are all of its fields
   */
  final class Fields(val below: Map[Int, Fields], val struct: Option[String] = None)

  object Fields {
    val none: Fields = new Fields(Map.empty)

    /** A binary field whose value is looked for. */
    val value: Fields = new Fields(Map.empty)

    /** The field at the end of a path of field numbers. */
    def at(path: Int*): Fields = path.foldRight(value)((number, below) => new Fields(Map(number -> below)))
  }

  /** A binary value: its length stands from `lengthAt` on, its bytes from `from` to `until`. */
  final case class Place(lengthAt: Int, from: Int, until: Int)

  // Thrift's compact type codes.
  private val Stop = 0
  private val True = 1
  private val False = 2
  private val I8 = 3
  private val I16 = 4
  private val I32 = 5
  private val I64 = 6
  private val Double = 7
  private val Binary = 8
  private val List = 9
  private val Set = 10
  private val MapOf = 11
  private val Struct = 12
  private val DoubleBytes = 8
  private val MaxVarintBytes = 10
  private val LongSize = 15

  private final class Walk(bytes: Array[Byte], from: Int, until: Int) {
    var at: Int = from
    val places: mutable.ArrayBuffer[Place] = mutable.ArrayBuffer.empty
    val unknown: mutable.ArrayBuffer[Unknown] = mutable.ArrayBuffer.empty
    private var objects = 0L

    def struct(depth: Int, wanted: Fields): Unit = {
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
            wanted.struct.foreach(unknown += Unknown(_, number))
          // The value of a boolean field is in its type.
          if (kind != True && kind != False)
            value(kind, depth, if (wanted eq Fields.none) wanted else below(wanted, number))
        }
      }
    }

    private def below(wanted: Fields, number: Long) =
      if (number.isValidInt) wanted.below.getOrElse(number.toInt, Fields.none) else Fields.none

    private def value(kind: Int, depth: Int, wanted: Fields): Unit = {
      if (depth > Limits.ThriftDepth) throw new Unbounded("it is nested too deeply")
      content(kind, depth, wanted)
    }

    private def content(kind: Int, depth: Int, wanted: Fields): Unit = kind match {
      case True | False | I8 => skip(1)
      case I16 | I32 | I64 => varint(); ()
      case Double => skip(DoubleBytes)
      case Binary =>
        make(1)
        val lengthAt = at
        val length = varint()
        val from = at
        skip(length)
        if (wanted eq Fields.value) places += Place(lengthAt, from, at)
      case List | Set => list(depth, wanted)
      case MapOf => map(depth)
      case Struct => struct(depth + 1, wanted)
      case _ => throw new Unbounded(s"it has a field of unknown type $kind")
    }

    private def list(depth: Int, wanted: Fields): Unit = {
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
          value(kinds >> 4 & 0x0f, depth + 1, Fields.none)
          value(kinds & 0x0f, depth + 1, Fields.none)
        }
      }
    }

    private def elements(size: Long, leastBytes: Int)(element: => Unit): Unit = {
      if (size < 0 || size > (until - at) / leastBytes)
        throw new Unbounded(s"a list says it has $size elements where ${until - at} bytes are left")
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
        throw new Unbounded(
          s"it has more than ${Limits.ThriftObjects} values, which are not parsed in a heap of this size"
        )
    }

    private def next(): Int = {
      if (at >= until) throw new Unbounded("it ends too early")
      at += 1
      bytes(at - 1).toInt
    }

    private def varint(): Long = {
      var value = 0L
      var shift = 0
      var more = true
      while (more) {
        if (shift >= MaxVarintBytes * 7) throw new Unbounded("a number does not end")
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
        throw new Unbounded(s"a value says it is $count bytes long where ${until - at} are left")
      at += count.toInt
    }
  }
}
