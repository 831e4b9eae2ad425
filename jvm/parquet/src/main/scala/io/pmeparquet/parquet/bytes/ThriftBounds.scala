package io.pmeparquet.parquet.bytes

/**
 * Walks over a struct in Thrift's compact protocol without creating objects. Every string and list must fit into the
 * bytes that are there, and both the nesting and the number of objects that a parser would create are limited. This
 * heap can parse whatever passes; Thrift's own reader would first allocate as much as a list claims.
 */
private[parquet] object ThriftBounds {

  /**
   * @return the index at which the struct that begins at `from` ends
   * @throws ThriftUnbounded if it does not end before `until`, or is no struct at all
   */
  def end(bytes: Array[Byte], from: Int, until: Int): Int = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, ThriftFields.none)
    walk.at
  }

  /**
   * The places of the values of binary fields in a struct, in order.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def binaries(bytes: Array[Byte], from: Int, until: Int, wanted: ThriftFields): Seq[BinaryPlace] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, wanted)
    walk.places.toSeq
  }

  /**
   * The fields of a struct, in order, but not those of the structs in it.
   *
   * @throws ThriftUnbounded as [[end]]
   */
  def fields(bytes: Array[Byte], from: Int, until: Int): Seq[FieldPlace] = {
    val walk = new ThriftWalk(bytes, from, until)
    walk.struct(0, ThriftFields.none)
    walk.fields.toSeq
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
