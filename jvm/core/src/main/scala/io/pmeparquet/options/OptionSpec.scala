package io.pmeparquet.options

/** What an option is for. */
sealed abstract class Use(val text: String)

object Use {
  case object Read extends Use("read")
  case object Write extends Use("write")
  case object Both extends Use("both")
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
 */
final case class OptionSpec(
    name: String,
    use: Use,
    doc: String,
    values: Seq[String] = Nil,
    default: Option[String] = None,
    parquetName: Option[String] = None,
    secret: Boolean = false,
    since: String = "0.1.0"
) {

  /** The option as messages and documents name its values. */
  def allowed: String = values.mkString(", ")
}
