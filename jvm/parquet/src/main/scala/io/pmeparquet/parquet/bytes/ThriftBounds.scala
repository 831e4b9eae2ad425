package io.pmeparquet.parquet.bytes

/**
 * Walks over a struct in Thrift's compact protocol without making anything of it: every string and list must fit into
 * the bytes that are there, nesting has a limit, and so has the number of objects that parsing would make. What passes
 * can be parsed in this heap; Thrift's own reader would first allocate what a list says it holds.
 */
private[parquet] object ThriftBounds {

  /**
   * @return where the struct that begins at `from` ends
   * @throws ThriftUnbounded where it does not end before `until`, or is no struct at all
   */
  def end(bytes: Array[Byte], from: Int, until: Int): Int = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, ThriftFields.none)
    walk.at
  }

  /**
   * Where the values of binary fields stand in a struct, in their order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def binaries(bytes: Array[Byte], from: Int, until: Int, wanted: ThriftFields): Seq[BinaryPlace] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, wanted)
    walk.places.toSeq
  }

  /**
   * Fields of a struct that are not among the known ones, in their order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def unknown(bytes: Array[Byte], from: Int, until: Int, known: ThriftFields): Seq[UnknownField] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, known)
    walk.unknown.toSeq
  }
}
