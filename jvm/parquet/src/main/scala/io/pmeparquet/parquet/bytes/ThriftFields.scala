package io.pmeparquet.parquet.bytes

/** @param struct its name in the specification */
private[parquet] final case class UnknownField(struct: String, number: Long)

/**
 * Some fields of a struct, by number, and of the structs in them; lists are walked through.
 *
 * @param struct its name, if these are all of its fields
 */
private[parquet] final class ThriftFields(
    val below: Map[Int, ThriftFields],
    val struct: Option[String] = None
)

private[parquet] object ThriftFields {
  val none: ThriftFields = new ThriftFields(Map.empty)

  /** A binary field that the walk looks for. */
  val value: ThriftFields = new ThriftFields(Map.empty)

  /** The field at the end of a path of field numbers. */
  def at(path: Int*): ThriftFields =
    path.foldRight(value)((number, below) => new ThriftFields(Map(number -> below)))
}

/** A binary value: its length begins at `lengthAt`, its bytes are from `from` to `until`. */
private[parquet] final case class BinaryPlace(lengthAt: Int, from: Int, until: Int)

/** Why the walk over a Thrift structure stopped. */
private[parquet] final class ThriftUnbounded(message: String) extends Exception(message)
