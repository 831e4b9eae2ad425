package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

/** parquet-java's names of options, and its spelling of values, where they differ from ours. */
private[pmeparquet] object ParquetNames {

  /** All names of our options: ours, and those of parquet-java. */
  val ofOptions: Seq[String] = (PmeOptions.all.map(_.name) ++ PmeOptions.all.flatMap(of(_))).distinct
  private val known = ofOptions.map(_.toLowerCase(Locale.ROOT)).toSet

  /** Whether it is the name of an option, in any letters. */
  def isOption(name: String): Boolean = known.contains(name.toLowerCase(Locale.ROOT))

  /** The full name of an option among those of parquet-java, if it has one. */
  def of(option: OptionSpec): Option[String] =
    option.parquetName
      .map(PmeOptions.ParquetPrefix + _)
      .orElse(Some(option.name).filter(_.startsWith(PmeOptions.ParquetPrefix)))
      // Its client would find it by this name, too, so it is also checked by this name.
      .orElse(
        Some(PmeOptions.ParquetPrefix + option.name)
          .filter(_ =>
            option == PmeOptions.ClientProperties || ClientKind.all.exists(_.options.contains(option))
          )
      )

  /** Our name of a value, for an option set by our name or parquet-java's. */
  def ofName(name: String, option: OptionSpec, value: String): String =
    if (name.equalsIgnoreCase(option.name)) value.trim else translate(option, value)

  def translate(option: OptionSpec, value: String): String = option match {
    case PmeOptions.Unlisted => fromTruth(option, value, "footerKey", "plaintext")
    case PmeOptions.KeyMaterial => fromTruth(option, value, "internal", "external")
    case _ => value.trim
  }

  private def fromTruth(option: OptionSpec, value: String, whenTrue: String, whenFalse: String): String =
    value.trim.toLowerCase(Locale.ROOT) match {
      case "true" => whenTrue
      case "false" => whenFalse
      case _ =>
        throw PmeErrors.badOption(
          of(option).getOrElse(option.name),
          value,
          "one of: true, false"
        )
    }
}
