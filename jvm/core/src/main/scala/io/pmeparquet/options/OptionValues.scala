package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.PmeErrors

/** Where a value came from, highest precedence first. */
sealed abstract class Level

object Level {

  /** An option of this read or write; or of the table's definition, as far as [[StoredOptions]] lets it be. */
  case object Option extends Level

  /** `spark.datasource.pme-parquet.<option>` */
  case object SessionConf extends Level

  /** `parquet.encryption.*` in the Hadoop configuration. */
  case object HadoopConf extends Level

  val all: Seq[Level] = Seq(Option, SessionConf, HadoopConf)
}

/**
 * The values of our options, by level: option of this read or write > session conf > Hadoop conf `parquet.encryption.*`.
 * Values under parquet-java's names are translated to ours here and nowhere else.
 *
 * @param levels
 *   by level, the values by lower-case name, ours or parquet-java's
 */
final class OptionValues(levels: Map[Level, Map[String, String]]) {
  import OptionValues.{Found, KeyGroup}

  /** A key group taken whole: a level that names `uniformKey` overrides lower levels' other keys, and vice versa. */
  private val keyGroup: Map[OptionSpec, Found] = Level.all.foldLeft(Map.empty[OptionSpec, Found]) {
    (above, level) =>
      val here = KeyGroup.flatMap(option => at(level, option).map(option -> _)).toMap
      val excluded =
        if (above.contains(PmeOptions.UniformKey)) KeyGroup.toSet
        else if (above.nonEmpty) Set(PmeOptions.UniformKey)
        else Set.empty[OptionSpec]
      here.filterNot { case (option, _) => excluded.contains(option) } ++ above
  }

  def find(option: OptionSpec): Option[Found] =
    if (KeyGroup.contains(option)) keyGroup.get(option)
    else Level.all.iterator.flatMap(at(_, option).iterator).take(1).toList.headOption

  def text(option: OptionSpec): Option[String] = find(option).map(_.value)

  /** What would hold without the options of this read, write or table; none where only a default would. */
  def textOfSession(option: OptionSpec): Option[String] =
    Level.all.filter(_ != Level.Option).flatMap(at(_, option)).headOption.map(_.value)

  /** The value of an option whose values are listed, or its default. */
  def choice(option: OptionSpec): String = text(option).fold(option.values.head)(checked(option, _))

  def flag(option: OptionSpec): Boolean = choice(option) == "true"

  private def checked(option: OptionSpec, value: String): String =
    option.values.find(_.equalsIgnoreCase(value)).getOrElse {
      throw PmeErrors.badOption(option.name, value, s"one of: ${option.allowed}")
    }

  private def at(level: Level, option: OptionSpec): Option[Found] = {
    val values = levels.getOrElse(level, Map.empty)
    val own = values.get(lower(option.name)).map(Found(_, level, parquetName = false))
    val parquet = PmeOptions.parquetNameOf(option).filter(_ != option.name).flatMap { name =>
      values
        .get(lower(name))
        .map(value => Found(ParquetNames.translate(option, value), level, parquetName = true))
    }
    (own, parquet) match {
      case (Some(a), Some(b)) if a.value != b.value =>
        val names = s"${option.name} and ${PmeOptions.parquetNameOf(option).getOrElse("")}"
        throw PmeErrors.contradiction(names, "they say different things", "Set one of them.")
      case _ => own.orElse(parquet)
    }
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

object OptionValues {

  /** @param parquetName whether it was given under parquet-java's name, whose defaults then hold */
  final case class Found(value: String, level: Level, parquetName: Boolean)

  private val KeyGroup = Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
}

/** parquet-java's spelling of values, where it differs from ours. */
private object ParquetNames {

  /** The value in our terms, of an option that was given under this name, ours or parquet-java's. */
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
          PmeOptions.parquetNameOf(option).getOrElse(option.name),
          value,
          "one of: true, false"
        )
    }
}
