package io.pmeparquet.parquet.bytes

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
