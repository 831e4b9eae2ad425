package io.pmeparquet.options

/** Whether an option applies to reads, writes or both. */
sealed abstract class Use(val text: String)

object Use {
  case object Read extends Use("read")
  case object Write extends Use("write")
  case object Both extends Use("both")
}

/** Whether the definition of a table in a catalog may set an option: its author is not the reader. */
sealed abstract class OfTable

object OfTable {

  /** It determines where credentials go, which code runs, or which keys are given out. */
  case object No extends OfTable

  /** It determines what a reader accepts, or what a write leaves readable: only the default, or the value of the session. */
  case object UnlessSessionSays extends OfTable

  /** One value, if the session has none of its own or one of these, which it does not weaken; or the session's value. */
  final case class Only(value: String, beside: Set[String]) extends OfTable

  /** It describes the files, or selects one of several equivalent ways. */
  case object Yes extends OfTable
}

/**
 * An option of the format. `docs/options.md` is generated from these.
 *
 * @param effect
 *   what its use, or one of its values, costs or leaves readable or unnoticed, or [[OptionSpec.NoEffect]]
 * @param isStable
 *   whether name and meaning stay until the next major version
 * @param values
 *   the allowed values, the default first, if they can be listed
 * @param default
 *   the default, if there is one
 * @param parquetName
 *   its name in parquet-java, without `parquet.encryption.`
 * @param secret
 *   whether the value must be a reference to a secret
 * @param ofTable
 *   whether the definition of a table may set it
 */
final case class OptionSpec(
    name: String,
    use: Use,
    doc: String,
    effect: String,
    isStable: Boolean = true,
    values: Seq[String] = Nil,
    default: Option[String] = None,
    parquetName: Option[String] = None,
    secret: Boolean = false,
    ofTable: OfTable = OfTable.No,
    since: String = "0.1.0"
) {

  /** The allowed values, as text. */
  def allowed: String = values.mkString(", ")
}

object OptionSpec {

  /** Of an option that costs nothing and leaves nothing open. */
  val NoEffect: String = ""
}
