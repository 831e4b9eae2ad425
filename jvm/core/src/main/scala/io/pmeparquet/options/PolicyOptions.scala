package io.pmeparquet.options

import io.pmeparquet.options.Use.Both

/** The options of policies: `docs/policy-and-audit.md`. */
private[options] trait PolicyOptions {
  val Policy = OptionSpec(
    "policy",
    Both,
    "A policy, which says which keys protect which columns, and what reads require: the path of a JSON file, or its " +
      "address (`policyAddresses`). Other options may be stricter than it, and never weaker. The policy of a session holds " +
      "for each read and write of these formats, also where one of them names another policy. The file must be one that " +
      "only its owner can change, or be signed (`policyKey`).",
    "Files without the keys of the policy are not read, if its readers are bound."
  )
  val PolicyKey = OptionSpec(
    "policyKey",
    Both,
    "Session setting only: reference to the public key, in PEM, that verifies the signatures of policies " +
      "(`<policy>.sig`). Then policies without one are refused.",
    "One check of a signature for each policy that is read.",
    secret = true
  )
  val MinPolicy = OptionSpec(
    "minPolicy",
    Both,
    "Session setting only: the oldest policy that is accepted, as `<name>:<number>`. The session's policy must have this " +
      "name.",
    OptionSpec.NoEffect
  )
  val PolicyAddresses = OptionSpec(
    "policyAddresses",
    Both,
    "Session setting only: addresses that policies may be read from, separated by commas: `https://HOST/PATH/` allows all " +
      "below it. It counts for file systems, too, except local ones and `fs.defaultFS`. Policies there must be signed " +
      "(`policyKey`).",
    "The driver calls these addresses."
  )

  val TagSource = OptionSpec(
    "tagSource",
    Both,
    "Session setting only: the class of a catalog that gives columns tags (`io.pmeparquet.policy.TagSource`), beside the " +
      "patterns of a policy.",
    "The code of this class runs in the driver."
  )

  protected def policyOptions: Seq[OptionSpec] = Seq(Policy, PolicyKey, MinPolicy, PolicyAddresses, TagSource)
}
