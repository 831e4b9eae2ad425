package io.pmeparquet.options

import io.pmeparquet.policy.{Policy, PolicyPart, PolicyReaders}
import io.pmeparquet.PmeErrors

/**
 * What a policy says of options. It is the one place where policies become values: an option that is not set has the value
 * of the policy, and one that is set may be stricter and never weaker.
 */
private[options] final class PolicyRules(policy: Policy) {
  import PolicyRules._

  private val (defaults, readers) = (policy.defaults, policy.readers)

  private val rules: Map[OptionSpec, Rule] = policy.part match {
    case PolicyPart.Whole => ofSeals ++ ofFiles ++ ofKeys
    case PolicyPart.WithoutKeys => ofSeals ++ ofFiles
    case PolicyPart.SealsOnly => ofSeals
  }

  private def ofSeals: Map[OptionSpec, Rule] = Seq(
    readers.verifyKey.map(key => PmeOptions.VerifyKey -> Exactly(key)),
    // A key that nothing need be signed by would require nothing.
    readers.snapshot.orElse(readers.verifyKey).map(_ => PmeOptions.Snapshot -> Required)
  ).flatten.toMap

  private def ofFiles: Map[OptionSpec, Rule] = Map[OptionSpec, Rule](
    PmeOptions.Algorithm -> AtLeast(defaults.algorithm, Seq("AES_GCM_CTR_V1", "AES_GCM_V1")),
    PmeOptions.PlaintextFooter -> AtLeast(defaults.plaintextFooter.toString, Seq("true", "false")),
    PmeOptions.KeyManagement -> AtLeast("envelope", Seq("direct", "envelope")),
    PmeOptions.PlaintextFiles -> AtLeast(readers.plaintextFiles, Seq(PolicyReaders.Allow, "error")),
    PmeOptions.ClearLevels -> AtLeast(readers.clearLevels, Seq(PolicyReaders.Allow, "error")),
    // An index has values of its column, and by default its key.
    PmeOptions.IndexKeys -> Never("that indexes have the keys of their columns")
  ) ++ Seq(
    defaults.dataKeyBits.map(bits => PmeOptions.DataKeyBits -> AtLeast(bits.toString, Lengths)),
    defaults.kekBits
      .orElse(defaults.dataKeyBits)
      .map(bits => PmeOptions.KekBits -> AtLeast(bits.toString, Lengths)),
    defaults.aadPrefix.map(prefix => PmeOptions.AadPrefix -> Exactly(prefix))
  ).flatten

  private def ofKeys: Map[OptionSpec, Rule] = (defaults.footerKey, defaults.uniformKey) match {
    case (Some(footer), _) =>
      Map(
        PmeOptions.FooterKey -> Exactly(footer),
        PmeOptions.UniformKey -> Never(s"footerKey=$footer"),
        PmeOptions.Unlisted -> AtLeast(defaults.unlistedColumns, Seq("plaintext", "footerKey", "error"))
      )
    case (None, uniform) =>
      val never = Never(s"uniformKey=${uniform.getOrElse("")}")
      Map(
        PmeOptions.UniformKey -> Exactly(uniform.getOrElse("")),
        PmeOptions.FooterKey -> never,
        PmeOptions.ColumnKeys -> never
      )
  }

  def valueOf(option: OptionSpec): Option[String] = rules.get(option).flatMap(_.value)

  private def accepts(option: OptionSpec, value: String): Boolean =
    rules.get(option).forall(_.accepts(value))

  private def refusal(option: OptionSpec, value: String) =
    PmeErrors.policyBinds(option.name, s"'$value'", policy.describe, rules(option).required(option))

  /**
   * @param by the option that names the keys
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if keys are not among those of the policy
   */
  def check(keys: Seq[String], by: OptionSpec): Unit = if (policy.bindsKeys)
    keys.find(!policy.keys.contains(_)).foreach { key =>
      throw PmeErrors.policyOtherKey(by.name, key, policy.describe, policy.keys)
    }
}

private[options] object PolicyRules {

  /**
   * The value of an option under all policies.
   *
   * @param found the value without them
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if it is weaker than a policy, or if policies contradict each other
   */
  def of(policies: Seq[PolicyRules], option: OptionSpec, found: Option[String]): Option[String] = {
    val values = found.fold(policies.flatMap(_.valueOf(option)))(Seq(_))
    val fit = values.find(value => policies.forall(_.accepts(option, value)))
    if (fit.isEmpty)
      for (value <- values; policy <- policies if !policy.accepts(option, value))
        throw policy.refusal(option, value)
    fit
  }

  private val Lengths = Seq("128", "192", "256")

  private sealed trait Rule {

    /** The value where none is set. */
    def value: Option[String]
    def accepts(own: String): Boolean
    def required(option: OptionSpec): String = s"${option.name}=${value.getOrElse("")}"
  }

  /** To the letter: a key with a space behind its name is another key. */
  private final case class Exactly(one: String) extends Rule {
    override def value: Option[String] = Some(one)
    override def accepts(own: String): Boolean = own == one
  }

  /** @param order the weakest first */
  private final case class AtLeast(least: String, order: Seq[String]) extends Rule {
    override def value: Option[String] = Some(least)
    // Values that are none pass, and fail where they are parsed.
    override def accepts(own: String): Boolean =
      !order.exists(_.equalsIgnoreCase(own)) || place(own) >= place(least)
    private def place(value: String) = order.indexWhere(_.equalsIgnoreCase(value))
    override def required(option: OptionSpec): String =
      s"${option.name}=$least" + (if (least == order.last) "" else " or a stricter value")
  }

  /** @param instead what the policy says */
  private final case class Never(instead: String) extends Rule {
    override def value: Option[String] = None
    override def accepts(own: String): Boolean = false
    override def required(option: OptionSpec): String = instead
  }

  /** `snapshot=require`: versions and digests require one, too, and `update` is about writes. */
  private case object Required extends Rule {
    override def value: Option[String] = Some("require")
    override def accepts(own: String): Boolean = !Set("auto", "off").exists(_.equalsIgnoreCase(own.trim))
  }
}
