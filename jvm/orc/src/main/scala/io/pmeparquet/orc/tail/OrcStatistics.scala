package io.pmeparquet.orc.tail

/**
 * What statistics say of one column, as far as a check needs it.
 *
 * @param values how many values are not null
 * @param typed the field with the smallest and largest value, if there is one, which depends on the column's type
 */
private[tail] final case class OrcStatistics(
    values: Option[Long],
    hasNull: Option[Boolean],
    typed: Option[Int]
)

private[tail] object OrcStatistics {
  private sealed trait Form
  private case object Number extends Form
  private case object Decimal extends Form
  private case object Bytes extends Form
  private case object Numbers extends Form

  /** The fields of the typed statistics, by the number of their field. */
  private val Typed: Map[Int, Map[Int, Form]] = Map(
    2 -> Map(1 -> Number, 2 -> Number, 3 -> Number),
    3 -> Map(1 -> Decimal, 2 -> Decimal, 3 -> Decimal),
    4 -> Map(1 -> Bytes, 2 -> Bytes, 3 -> Number, 4 -> Bytes, 5 -> Bytes),
    5 -> Map(1 -> Numbers),
    6 -> Map(1 -> Bytes, 2 -> Bytes, 3 -> Bytes),
    7 -> Map(1 -> Number, 2 -> Number),
    8 -> Map(1 -> Number),
    9 -> (1 to 6).map(_ -> Number).toMap,
    12 -> Map(1 -> Number, 2 -> Number, 3 -> Number),
    13 -> Map(1 -> Bytes, 2 -> Numbers)
  )

  private val FieldOfKind: Map[String, Int] = Map(
    "BYTE" -> 2,
    "SHORT" -> 2,
    "INT" -> 2,
    "LONG" -> 2,
    "FLOAT" -> 3,
    "DOUBLE" -> 3,
    "STRING" -> 4,
    "CHAR" -> 4,
    "VARCHAR" -> 4,
    "BOOLEAN" -> 5,
    "DECIMAL" -> 6,
    "DATE" -> 7,
    "BINARY" -> 8,
    "TIMESTAMP" -> 9,
    "TIMESTAMP_INSTANT" -> 9,
    "LIST" -> 12,
    "MAP" -> 12,
    "GEOMETRY" -> 13,
    "GEOGRAPHY" -> 13
  )

  /** Whether the statistics are of a type that this column has. */
  def fits(found: OrcStatistics, column: OrcType): Boolean =
    found.typed.forall(FieldOfKind.get(column.kind).contains)

  /**
   * @param strict whether to refuse fields that the format does not have: by them a check recognizes what is no
   *   statistics at all
   */
  def parse(wire: Wire, strict: Boolean): OrcStatistics = {
    var values = Option.empty[Long]
    var hasNull = Option.empty[Boolean]
    var typed = Option.empty[Int]
    while (wire.next()) wire.field match {
      case 1 => values = Some(wire.once.long())
      case 10 => hasNull = Some(flag(wire.once.long()))
      case 11 => wire.once.long()
      case field if Typed.contains(field) =>
        Damage.require(typed.isEmpty, "the statistics of a column are of two types")
        typed = Some(field)
        ofType(wire.message("the statistics of a column"), Typed(field), strict)
      case field => other(wire, field, strict)
    }
    OrcStatistics(values, hasNull, typed)
  }

  private def ofType(wire: Wire, fields: Map[Int, Form], strict: Boolean): Unit =
    while (wire.next()) fields.get(wire.field) match {
      case Some(Number) => wire.once.number()
      case Some(Decimal) => wire.once.double()
      case Some(Bytes) => wire.once.skipBytes()
      case Some(Numbers) => wire.numbers()
      case None => other(wire, wire.field, strict)
    }

  private def other(wire: Wire, field: Int, strict: Boolean): Unit = {
    Damage.require(!strict, s"the statistics of a column have field $field, which the format does not have")
    wire.skip()
  }

  private def flag(value: Long) = {
    Damage.require(value <= 1, "a flag in the statistics of a column is neither 0 nor 1")
    value == 1
  }
}
