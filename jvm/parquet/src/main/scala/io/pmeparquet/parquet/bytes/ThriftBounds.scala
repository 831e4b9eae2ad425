package io.pmeparquet.parquet.bytes

/**
 * Walks over a struct in Thrift's compact protocol without building objects: every string and list must fit into the
 * available bytes, and nesting and the number of objects are limited. A struct that passes can be parsed in this heap;
 * Thrift's own reader would first allocate the size that a list states.
 */
private[parquet] object ThriftBounds {

  /**
   * @return where the struct that begins at `from` ends
   * @throws ThriftUnbounded if it does not end before `until`, or is no struct
   */
  def end(bytes: Array[Byte], from: Int, until: Int): Int = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, ThriftFields.none)
    walk.at
  }

  /**
   * Where the values of binary fields are in a struct, in order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def binaries(bytes: Array[Byte], from: Int, until: Int, wanted: ThriftFields): Seq[BinaryPlace] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, wanted)
    walk.places.toSeq
  }

  /**
   * Fields of a struct that are not among the known ones, in order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def unknown(bytes: Array[Byte], from: Int, until: Int, known: ThriftFields): Seq[UnknownField] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, known)
    walk.unknown.toSeq
  }
}
