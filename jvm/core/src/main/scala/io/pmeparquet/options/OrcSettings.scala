package io.pmeparquet.options

import io.pmeparquet.{Condition, KeyRefusal, PmeErrors}
import io.pmeparquet.columns.{ColumnKeys, KeyBinding, KeyDraft, LeafColumn, UnlistedColumns}
import io.pmeparquet.policy.PolicyPart

/**
 * The checked options of one read of ORC files.
 *
 * @param columns if set, files with other protection of columns are refused
 * @param masking columns whose keys are refused read as NULL; none: the read fails, unless it shows masks
 * @param showMasks whether columns whose keys are refused read as their masks
 * @param isQuiet whether nothing needs to report masks, since nobody takes them for data
 */
final case class OrcReadSettings(
    columns: Option[KeyBinding],
    allowPlaintextFiles: Boolean,
    masking: Option[Masking],
    showMasks: Boolean,
    kekLifetimeMillis: Long,
    isQuiet: Boolean = false
) extends Serializable {

  /** Whether the read goes on without a key that it is refused. */
  def acceptsRefusals: Boolean = showMasks || masking.isDefined

  /** Whether a key that this reader does not get for this reason is a refusal that the read accepts. */
  def accepts(failure: Condition): Boolean =
    (KeyRefusal.ByKms(failure) && acceptsRefusals) || masking.exists(_.covers(failure))
}

object OrcReadSettings {

  /** Of a write, which reads nothing. */
  def withoutRequirements(kekLifetimeMillis: Long): OrcReadSettings =
    OrcReadSettings(None, allowPlaintextFiles = true, None, showMasks = false, kekLifetimeMillis)

  /** Of a verification, which finds out which columns it cannot read. */
  def withoutColumns(kekLifetimeMillis: Long): OrcReadSettings =
    withoutRequirements(kekLifetimeMillis).copy(showMasks = true, isQuiet = true)
}

/**
 * The checked options of one write of ORC files.
 *
 * @param dataKeyBits the length of local keys; none: that of the master key where it encrypts them, else 128
 */
final case class OrcWriteSettings(
    columns: ColumnKeys,
    unlisted: UnlistedColumns,
    dataKeyBits: Option[Int],
    caseSensitive: Boolean
) {

  /** Without the keys that a policy has for other columns than these. */
  def of(leaves: Seq[LeafColumn]): OrcWriteSettings =
    copy(columns =
      KeyDraft.needed(columns, leaves, caseSensitive).requirePlain(ColumnKeys.OptionName, "pme-orc")
    )

  def masterKeys: Seq[String] = columns.entries.map(_.masterKeyId).distinct
}

/** Builds the settings of `format("pme-orc")`. ORC has no footer key, and one cipher. */
object OrcSettings {

  def forRead(all: OptionValues, caseSensitive: Boolean): OrcReadSettings = {
    val values = all.ofRead
    refuseParquets(values)
    val masks = values.choice(PmeOptions.OrcMasks) == "allow"
    val masking = Settings.masking(values)
    if (masks && masking.isDefined)
      throw PmeErrors.contradiction(
        s"orcMasks and ${masking.get.option}",
        "orcMasks=allow shows masks, and the other option shows NULL in their place",
        "Remove one of them."
      )
    OrcReadSettings(
      keysOf(values).map(KeyBinding(None, _, unlistedOf(values), caseSensitive, values.keysOfTags)),
      values.choice(PmeOptions.PlaintextFiles) == "allow",
      masking,
      masks,
      Settings.lifetimeMillis(values)
    )
  }

  def forWrite(values: OptionValues, caseSensitive: Boolean): OrcWriteSettings = {
    refuseParquets(values)
    values.requireKmsOfSession()
    val bits = values.text(PmeOptions.DataKeyBits).map(_ => values.choice(PmeOptions.DataKeyBits).toInt)
    if (bits.contains(192))
      throw PmeErrors.notInOrc(
        PmeOptions.DataKeyBits.name,
        "ORC has AES with keys of 128 and 256 bits",
        "Set one of them."
      )
    OrcWriteSettings(
      keysOf(values).getOrElse(throw PmeErrors.noOrcKey),
      unlistedOf(values),
      bits,
      caseSensitive
    )
  }

  private def keysOf(values: OptionValues): Option[ColumnKeys] =
    values.columnKeys.map { keys =>
      ColumnKeys(keys.entries.filterNot(_.isOfPolicy)).requirePlain(ColumnKeys.OptionName, "pme-orc")
      keys
    }

  /** In ORC nothing is under a footer key, so columns without a key stay readable. */
  private def unlistedOf(values: OptionValues): UnlistedColumns =
    values.text(PmeOptions.Unlisted).fold[UnlistedColumns](UnlistedColumns.Plaintext) { _ =>
      val choice = values.choice(PmeOptions.Unlisted)
      UnlistedColumns.all.find(_.optionValue == choice).get match {
        case UnlistedColumns.UseFooterKey =>
          throw PmeErrors.notInOrc(
            PmeOptions.Unlisted.name,
            "ORC has no footer key for unlisted columns",
            "Set unlistedColumns to plaintext or error."
          )
        case other => other
      }
    }

  /**
   * Refuses options that only `format("pme-orc")` has, for a write of Spark's own `orc` whose key provider is ours: whoever
   * sets them believes that they encrypt something.
   */
  def refuseForSparks(values: OptionValues): Unit = {
    refuseParquets(values)
    values.policies.headOption.foreach { policy =>
      throw PmeErrors.notInOrc(
        PmeOptions.Policy.name,
        s"Spark's own orc encrypts what orc.encrypt says, and does not follow ${policy.describe}",
        "Write with format(\"pme-orc\")."
      )
    }
    for (option <- OfWrites; found <- values.find(option) if found.level == Level.Option)
      throw PmeErrors.notInOrc(
        option.name,
        "Spark's own orc encrypts what orc.encrypt says, and ignores this option",
        "Write with format(\"pme-orc\"), or set orc.encrypt instead."
      )
  }

  private val OfWrites = Seq(PmeOptions.ColumnKeys, PmeOptions.Unlisted, PmeOptions.DataKeyBits)

  /** Options of this read or write that promise what ORC does not give. Those of a session are for Parquet. */
  private def refuseParquets(values: OptionValues): Unit = {
    refusePolicies(values)
    for (option <- ParquetsOwn; found <- values.find(option) if found.level == Level.Option)
      throw PmeErrors.notInOrc(
        option.name,
        "it is of Parquet's encryption, and ORC has nothing like it",
        "Remove it; columnKeys names the columns to encrypt."
      )
  }

  /** ORC encrypts by AES in counter mode, has no key for a file as a whole, and its footers are readable. */
  private def refusePolicies(values: OptionValues): Unit = values.policies.foreach { policy =>
    val lacks =
      if (policy.part == PolicyPart.SealsOnly) None
      else if (policy.bindsKeys && policy.defaults.uniformKey.isDefined) Some("uniformKey")
      else if (policy.defaults.algorithm != EncryptionAlgorithm.AesGcmCtrV1.name)
        Some(s"algorithm=${policy.defaults.algorithm}")
      else if (!policy.defaults.plaintextFooter) Some("plaintextFooter=false")
      else policy.defaults.aadPrefix.map(prefix => s"aadPrefix=$prefix")
    lacks.foreach { what =>
      throw PmeErrors.notInOrc(
        PmeOptions.Policy.name,
        s"${policy.describe} requires $what, and ORC has nothing like it",
        "Use Parquet, or ask the owner of the policy."
      )
    }
  }

  /**
   * A mask shows something of values that a policy protects.
   *
   * @param mask the value of `orc.mask`
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` beside a policy, except for the mask that shows NULL
   */
  def requireMask(values: OptionValues, mask: String): Unit = values.policies.headOption.foreach { policy =>
    if (!mask.split(';').forall(_.takeWhile(_ != ':').trim == "nullify"))
      throw PmeErrors.badMask(
        mask,
        s"${policy.describe} holds here, and only nullify shows nothing of a value"
      )
  }

  private val ParquetsOwn = Seq(
    PmeOptions.FooterKey,
    PmeOptions.UniformKey,
    PmeOptions.Algorithm,
    PmeOptions.PlaintextFooter,
    PmeOptions.KeyMaterial,
    PmeOptions.KeyManagement,
    PmeOptions.AadPrefix,
    PmeOptions.StoreAadPrefix,
    PmeOptions.DoubleWrapping,
    PmeOptions.KekBits,
    PmeOptions.Reader,
    PmeOptions.DeniedFiles,
    PmeOptions.XskipperStore
  )
}
