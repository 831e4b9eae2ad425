package io.pmeparquet.parquet.bytes

/** @param struct its name in the specification */
private[parquet] final case class UnknownField(struct: String, number: Long)

/**
 * Some fields of a struct, by number, and the same of the structs in them; lists are walked through.
 *
 * @param struct its name, where these are all of its fields
 */
private[parquet] final class ThriftFields(
    val below: Map[Int, ThriftFields],
    val struct: Option[String] = None
)

private[parquet] object ThriftFields {
  val none: ThriftFields = new ThriftFields(Map.empty)

  /** A binary field whose value is looked for. */
  val value: ThriftFields = new ThriftFields(Map.empty)

  /** The field at the end of a path of field numbers. */
  def at(path: Int*): ThriftFields =
    path.foldRight(value)((number, below) => new ThriftFields(Map(number -> below)))
}

/** A binary value: its length stands from `lengthAt` on, its bytes from `from` to `until`. */
private[parquet] final case class BinaryPlace(lengthAt: Int, from: Int, until: Int)

/** Why a Thrift structure is not walked to its end. */
private[parquet] final class ThriftUnbounded(message: String) extends Exception(message)
