package io.pmeparquet.options

import java.util.Locale

import io.pmeparquet.{PmeErrors, SecretReference}
import io.pmeparquet.columns.ColumnKeys
import io.pmeparquet.policy.Policy

/** The source of a value, highest precedence first. */
sealed abstract class Level

object Level {

  /** An option of this read or write, or of the table's definition if [[StoredOptions]] allows it. */
  case object Option extends Level

  /** `spark.datasource.pme-parquet.<option>` */
  case object SessionConf extends Level

  /** `parquet.encryption.*` in the Hadoop configuration. */
  case object HadoopConf extends Level

  val all: Seq[Level] = Seq(Option, SessionConf, HadoopConf)
}

/**
 * The values of our options by level: option of this read or write > session conf > Hadoop conf `parquet.encryption.*`.
 * Only this class translates names and values of parquet-java to ours.
 *
 * @param levels
 *   the values by level and lower-case name, ours or parquet-java's
 * @param policies
 *   which the values must not be weaker than, whatever their level
 */
final class OptionValues(levels: Map[Level, Map[String, String]], val policies: Seq[Policy] = Nil) {
  import OptionValues.{Found, KeyGroup}

  private val rules = policies.map(new PolicyRules(_))

  /** Keys are one group: a level that sets `uniformKey` overrides all other keys of lower levels, and vice versa. */
  private val keyGroup: Map[OptionSpec, Found] = Level.all.foldLeft(Map.empty[OptionSpec, Found]) {
    (above, level) =>
      val here = KeyGroup.flatMap(option => at(level, option).map(option -> _)).toMap
      val excluded =
        if (above.contains(PmeOptions.UniformKey)) KeyGroup.toSet
        else if (above.nonEmpty) Set(PmeOptions.UniformKey)
        else Set.empty[OptionSpec]
      here.filterNot { case (option, _) => excluded.contains(option) } ++ above
  }

  /** @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if a value is weaker than a policy */
  def find(option: OptionSpec): Option[Found] =
    governed(option, ungoverned(option))

  /** What a policy says counts as the session's. */
  private def governed(option: OptionSpec, found: Option[Found]): Option[Found] = {
    val value = PolicyRules.of(rules, option, found.map(_.value))
    found.orElse(value.map(Found(_, Level.SessionConf, parquetName = false)))
  }

  /** The values for a read, which a policy may leave free to accept other keys. */
  def ofRead: OptionValues = new OptionValues(levels, policies.map(_.forReads))

  private def ungoverned(option: OptionSpec): Option[Found] =
    if (KeyGroup.contains(option)) keyGroup.get(option)
    else Level.all.iterator.flatMap(at(_, option).iterator).take(1).toList.headOption

  def text(option: OptionSpec): Option[String] = find(option).map(_.value)

  /** The value without the options of this read, write or table; none if that is the default. */
  def textOfSession(option: OptionSpec): Option[String] = {
    val found = Level.all.filter(_ != Level.Option).flatMap(at(_, option)).headOption
    governed(option, found).map(_.value)
  }

  /** What policies require of an option, the session's first. */
  def ofPolicies(option: OptionSpec): Seq[String] = rules.flatMap(_.valueOf(option))

  /**
   * Names of keys mean what a KMS makes of them: where a session has a policy and a KMS, a write names no other.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def requireKmsOfSession(): Unit = {
    def ofSession(option: OptionSpec) =
      Level.all.filter(_ != Level.Option).flatMap(at(_, option)).headOption.map(_.value)
    val ofKeys = PmeOptions.kmsOptions :+ PmeOptions.OrcMasterKeys
    if (policies.nonEmpty && ofSession(PmeOptions.Policy).isDefined && ofKeys.exists(ofSession(_).isDefined))
      for (option <- ofKeys; found <- at(Level.Option, option) if !ofSession(option).contains(found.value))
        throw PmeErrors.policyOtherKms(option.name, policies.head.describe)
  }

  /**
   * The keys of columns: those of the policies, then those of the option.
   *
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the option cannot be parsed, or names a key that no policy has
   */
  def columnKeys: Option[ColumnKeys] = {
    val own = find(PmeOptions.ColumnKeys).map(found => ColumnKeys.parse(found.value))
    own.foreach(keys => rules.foreach(_.check(keys.entries.map(_.masterKeyId), PmeOptions.ColumnKeys)))
    // The first is the session's. Any key of the others can become that of a column, by a tag or an option.
    for ((policy, above) <- policies.zipWithIndex; rule <- rules.take(above))
      rule.check(policy.keys, PmeOptions.Policy)
    val named = policies.filter(policy => policy.bindsKeys && policy.defaults.uniformKey.isEmpty)
    if (named.isEmpty) own
    else Some(ColumnKeys(named.flatMap(_.columnKeys.entries) ++ own.toSeq.flatMap(_.entries)))
  }

  /** Keys that a column may have by a tag of a catalog which a read does not see: those that each policy allows there. */
  def keysOfTags: Seq[String] =
    policies
      .filter(_.bindsKeys)
      .map(policy => if (policy.asksCatalogs) policy.tags.map(_.key).distinct else Nil)
      .reduceOption(_.intersect(_))
      .getOrElse(Nil)

  /** The value of an option with listed values, or its default. */
  def choice(option: OptionSpec): String = text(option).fold(option.values.head)(checked(option, _))

  def flag(option: OptionSpec): Boolean = choice(option) == "true"

  private def checked(option: OptionSpec, value: String): String =
    option.values.find(_.equalsIgnoreCase(value)).getOrElse {
      throw PmeErrors.badOption(option.name, value, s"one of: ${option.allowed}")
    }

  private def at(level: Level, option: OptionSpec): Option[Found] = {
    val values = levels.getOrElse(level, Map.empty)
    val own = values.get(lower(option.name)).map(Found(_, level, parquetName = false))
    val parquet = ParquetNames.of(option).filter(_ != option.name).flatMap { name =>
      values
        .get(lower(name))
        .map(value => Found(ParquetNames.translate(option, value), level, parquetName = true))
    }
    (own, parquet) match {
      case (Some(a), Some(b)) if a.value != b.value =>
        val names = s"${option.name} and ${ParquetNames.of(option).getOrElse("")}"
        throw PmeErrors.contradiction(names, "they have different values", "Set one of them.")
      case _ => own.orElse(parquet)
    }
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

object OptionValues {

  /** @param parquetName whether it was set by parquet-java's name, whose defaults then apply */
  final case class Found(value: String, level: Level, parquetName: Boolean)

  private val KeyGroup = Seq(PmeOptions.FooterKey, PmeOptions.ColumnKeys, PmeOptions.UniformKey)
}

/** Options behind a prefix of ours, where every name must be ours: in a Hadoop configuration, or in a catalog. */
private[pmeparquet] object PrefixedOptions {

  /**
   * @param set names without the prefix, and values
   * @return the values by lower-case names
   * @throws io.pmeparquet.PmeException for a name that is not ours, one that is set twice, and a secret as a value
   */
  def of(set: Seq[(String, String)], prefix: String): Map[String, String] = {
    val own = once(set, prefix)
    own.keys
      .filterNot(ParquetNames.isOption)
      .foreach(name => throw UnknownOptions.unknown("setting", prefix + name, name))
    SecretOptions.requireReferences(own, prefix)
    own
  }

  /**
   * The values by lower-case names.
   *
   * @param prefix what messages put before a name
   * @throws io.pmeparquet.PmeException for a name that is set twice: which value counts would be chance
   */
  def once(set: Seq[(String, String)], prefix: String = ""): Map[String, String] = {
    val own = set.map { case (name, value) => lower(name) -> value }.toMap
    set.filter { case (name, value) => own(lower(name)) != value }.foreach { case (name, _) =>
      throw PmeErrors.contradiction(prefix + name, "it is set twice, in other letters", "Set it once.")
    }
    own
  }

  private def lower(name: String) = name.toLowerCase(Locale.ROOT)
}

/** The options whose values must be references to secrets. */
private[pmeparquet] object SecretOptions {

  /**
   * Checks the options of every KMS, also of those not chosen, because Spark shows all values.
   *
   * @param values by lower-case names of ours
   * @param prefix of the names in messages
   * @throws io.pmeparquet.PmeException `PME_SECRET_IN_OPTION`
   */
  def requireReferences(values: Map[String, String], prefix: String = ""): Unit =
    for {
      option <- PmeOptions.all if option.secret
      value <- values.get(option.name.toLowerCase(Locale.ROOT)) if !option.default.contains(value)
    } SecretReference.parse(prefix + option.name, value)
}
