package io.pmeparquet.options

import io.pmeparquet.options.Use.{Both, Read}

/** The options that only `format("pme-orc")` has: `docs/orc.md`. */
private[options] trait OrcOptions {
  val OrcMasterKeys = OptionSpec(
    "orcMasterKeys",
    Both,
    "ORC only: master keys that a key of the KMS wraps, as `pme.wrap_orc_key` makes them; or what the KMS made of one " +
      "master key, with `orcWrappingKey`. The driver has the KMS unwrap each once.",
    "One call of the KMS for each key.",
    ofTable = OfTable.Yes
  )
  val OrcWrappingKey = OptionSpec(
    "orcWrappingKey",
    Both,
    "ORC only: the key of the KMS that wraps the master key in `orcMasterKeys`, if that does not name it.",
    OptionSpec.NoEffect
  )
  val OrcKeyProperty = OptionSpec(
    "orcKeyProperty",
    Both,
    "ORC only: the property of a table in a catalog that has the value of `orcMasterKeys`. It applies to tables that have " +
      "the property.",
    "Wrapped keys are readable in the catalog.",
    isStable = false
  )
  val OrcMasks = OptionSpec(
    "orcMasks",
    Read,
    "ORC only: what happens to a selected column if this reader is refused its key. `error`: the query fails, unless " +
      "`deniedColumns` says otherwise. `allow`: the column reads as its mask, other values that the writer stored in its " +
      "place.",
    "With `allow`, a query returns values that the table does not have.",
    values = Seq("error", "allow"),
    ofTable = OfTable.UnlessSessionSays
  )

  protected def orcOptions: Seq[OptionSpec] = Seq(OrcMasterKeys, OrcWrappingKey, OrcKeyProperty, OrcMasks)
}
