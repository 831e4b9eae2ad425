package io.pmeparquet.options

/** What an option is for. */
sealed abstract class Use(val text: String)

object Use {
  case object Read extends Use("read")
  case object Write extends Use("write")
  case object Both extends Use("both")
}

/** Whether the definition of a table, as a catalog keeps it, may say an option: whoever reads the table did not write it. */
sealed abstract class OfTable

object OfTable {

  /** It says where credentials go, what code runs, or which keys are given out. */
  case object No extends OfTable

  /** It says what a reader accepts, or what a write leaves readable: the first value, or what the session says if it does. */
  case object UnlessSessionSays extends OfTable

  /** It says what the files are, or which of equal ways is taken. */
  case object Yes extends OfTable
}

/**
 * An option of the format, declared once: `docs/options.md` is made from this.
 *
 * @param values
 *   the allowed values, the default first, where they can be listed
 * @param default
 *   in words, where there is one
 * @param parquetName
 *   the name parquet-java has for it, without `parquet.encryption.`
 * @param secret
 *   whether the value must be a reference to a secret
 * @param ofTable
 *   whether the definition of a table may say it
 */
final case class OptionSpec(
    name: String,
    use: Use,
    doc: String,
    values: Seq[String] = Nil,
    default: Option[String] = None,
    parquetName: Option[String] = None,
    secret: Boolean = false,
    ofTable: OfTable = OfTable.No,
    since: String = "0.1.0"
) {

  /** The option as messages and documents name its values. */
  def allowed: String = values.mkString(", ")
}
