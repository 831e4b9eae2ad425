package io.pmeparquet.options

import io.pmeparquet.{KeyRefusal, PmeErrors}
import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.columns.{
  ColumnKeys,
  ColumnPolicy,
  KeyBinding,
  KeyNames,
  KeyTemplate,
  UniformBinding,
  UnlistedColumns
}
import io.pmeparquet.keys.KmsUse

/** Checks option values against each other, and builds settings from them. */
object Settings {
  def forWrite(values: OptionValues, use: KmsUse, caseSensitive: Boolean): WriteSettings = {
    checkEvery(values)
    values.requireKmsOfSession()
    val keys = writeKeys(values)
    val direct = values.choice(PmeOptions.KeyManagement) == "direct"
    val external = values.choice(PmeOptions.KeyMaterial) == "external"
    val prefix = values.text(PmeOptions.AadPrefix).map(AadPrefix.parse)
    if (direct && !use.settings.isInProcess)
      throw PmeErrors.contradiction(
        "keyManagement and kms",
        "keyManagement=direct needs a KMS that gives keys out",
        "Use kms=keystore or kms=static, or keyManagement=envelope."
      )
    if (direct && external)
      throw PmeErrors.contradiction(
        "keyManagement and keyMaterial",
        "keyManagement=direct has no key material",
        "Remove keyMaterial, or use keyManagement=envelope."
      )
    if (prefix.isEmpty && values.choice(PmeOptions.StoreAadPrefix) == "false")
      throw PmeErrors.contradiction(
        "storeAadPrefix",
        "storeAadPrefix=false needs a prefix, and aadPrefix is not set",
        "Set aadPrefix."
      )
    val files = FileSettings(
      keys.footerKey,
      keys.columnKeys,
      keys.unlisted,
      EncryptionAlgorithm.of(values.choice(PmeOptions.Algorithm)),
      values.flag(PmeOptions.PlaintextFooter),
      values.text(PmeOptions.DataKeyBits).map(_ => values.choice(PmeOptions.DataKeyBits).toInt),
      values.choice(PmeOptions.KekBits).toInt,
      values.flag(PmeOptions.DoubleWrapping),
      external,
      direct,
      prefix,
      values.flag(PmeOptions.StoreAadPrefix),
      caseSensitive,
      CryptoProvider.of(providerOf(values)).option
    )
    WriteSettings(use, files)
  }

  /** Fails if a write names no key, or contradictory keys. */
  def requireKeys(values: OptionValues): Unit = {
    writeKeys(values)
    ()
  }

  def forRead(all: OptionValues, caseSensitive: Boolean = false): ReadSettings = {
    val values = all.ofRead
    checkEvery(values)
    val key = nonEmpty(values, PmeOptions.UniformKey).orElse(nonEmpty(values, PmeOptions.FooterKey))
    // Only columnKeys and a footer key together name all keys of a table.
    val allowed =
      for (footer <- key; columns <- values.columnKeys)
        yield KeyNames(columns.entries.map(_.masterKeyId).toSet + footer)
    val direct = values.choice(PmeOptions.KeyManagement) == "direct"
    // As an option of this read, without columnKeys and keyManagement, it names the key of files without key metadata.
    // Settings of the session or the Hadoop configuration are for writes.
    val alone = values.columnKeys.isEmpty && values.find(PmeOptions.KeyManagement).isEmpty
    val ofThisRead = Seq(PmeOptions.UniformKey, PmeOptions.FooterKey)
      .flatMap(values.find(_))
      .headOption
      .exists(_.level == Level.Option)
    ReadSettings(
      key.filter(text => (direct || (alone && ofThisRead)) && !KeyTemplate.of(text, "footerKey").isTemplate),
      direct,
      allowed,
      policy(values, caseSensitive),
      values.choice(PmeOptions.Algorithm) == EncryptionAlgorithm.AesGcmCtrV1.name,
      values.text(PmeOptions.AadPrefix).map(AadPrefix.parse),
      values.choice(PmeOptions.PlaintextFiles) == "allow",
      values.choice(PmeOptions.ClearLevels) == "allow",
      masking(values),
      deniedFiles(values),
      lifetimeMillis(values),
      CryptoProvider.of(providerOf(values)).option
    )
  }

  /**
   * A footer key alone requires nothing: it is the key of files without key metadata, and in sessions a default of writes.
   * A template that the read itself names is neither.
   */
  private[options] def columnPolicy(all: OptionValues, caseSensitive: Boolean): Option[ColumnPolicy] = {
    val values = all.ofRead
    val footer = nonEmpty(values, PmeOptions.FooterKey)
    val columns = values.columnKeys
    nonEmpty(values, PmeOptions.UniformKey) match {
      case Some(_) if footer.isDefined || columns.isDefined => throw uniformAndOthers
      case Some(uniform) => Some(UniformBinding(uniform, caseSensitive))
      case None if columns.isEmpty =>
        val ofThisRead = values.find(PmeOptions.FooterKey).exists(_.level == Level.Option)
        footer
          .filter(key => ofThisRead && KeyTemplate.of(key, PmeOptions.FooterKey.name).isTemplate)
          .map(_ => KeyBinding(footer, ColumnKeys(Nil), UnlistedColumns.UseFooterKey, caseSensitive))
      case None =>
        columns.map(KeyBinding(footer, _, unlistedBeside(values), caseSensitive, values.keysOfTags))
    }
  }

  /** What happens to columns whose keys are refused; none: the read fails. */
  def masking(values: OptionValues): Option[Masking] = {
    val masking = Masking(
      values.choice(PmeOptions.DeniedColumns),
      values.choice(PmeOptions.MissingKeys),
      values.choice(PmeOptions.DeniedPredicates) == "null"
    )
    if (masking.option.isEmpty) None
    else if (reader(values) == "spark")
      throw PmeErrors.contradiction(
        s"${masking.option} and reader=spark",
        "single columns of a file are left out, which Spark's own readers cannot do",
        "Remove reader=spark, or the other option."
      )
    else Some(masking)
  }

  /** Spark's V2 scan knows only the partition columns that a query selects, so nothing could compare the others. */
  private def policy(values: OptionValues, caseSensitive: Boolean): Option[ColumnPolicy] = {
    val found = columnPolicy(values, caseSensitive)
    if (scan(values) == "v2" && found.exists(_.keyColumns.nonEmpty))
      throw PmeErrors.contradiction(
        "scan=v2 and templates of keys",
        "only the other scan compares partitions with names of directories",
        "Remove scan=v2, or the templates."
      )
    found
  }

  private def deniedFiles(values: OptionValues): Set[String] =
    if (values.choice(PmeOptions.DeniedFiles) == "error") Set.empty
    else if (reader(values) == "spark")
      throw PmeErrors.contradiction(
        "deniedFiles=skip and reader=spark",
        "files are left out, which Spark's own readers cannot do",
        "Remove reader=spark, or deniedFiles."
      )
    else if (values.choice(PmeOptions.MissingKeys) == "error") KeyRefusal.ByKms.map(_.name)
    else (KeyRefusal.ByKms + KeyRefusal.Missing).map(_.name)

  /** The reader of pages: auto, pages or spark. */
  def reader(values: OptionValues): String = values.choice(PmeOptions.Reader)

  /** The Spark read path: a value of option `scan`. */
  def scan(values: OptionValues): String = values.choice(PmeOptions.Scan)

  private final case class Keys(footerKey: String, columnKeys: Option[ColumnKeys], unlisted: UnlistedColumns)

  private def writeKeys(values: OptionValues): Keys = {
    val footer = nonEmpty(values, PmeOptions.FooterKey)
    val uniform = nonEmpty(values, PmeOptions.UniformKey)
    val columns = values.columnKeys
    (uniform, footer, columns) match {
      case (Some(_), None, None) => Keys(uniform.get, None, UnlistedColumns.UseFooterKey)
      case (Some(_), _, _) => throw uniformAndOthers
      case (None, None, None) => throw PmeErrors.noKey
      case (None, None, Some(_)) => throw PmeErrors.noFooterKey
      case (None, Some(key), None) => Keys(key, None, footerOnly(values))
      case (None, Some(key), keys) => Keys(key, keys, unlistedBeside(values))
    }
  }

  /** The keys that a write would look for. This does not fail if it could not use them. */
  private[pmeparquet] def namedKeys(values: OptionValues): NamedKeys = {
    val columns = values.find(PmeOptions.ColumnKeys)
    NamedKeys(
      values.text(PmeOptions.FooterKey),
      columns.map(_.value),
      values.text(PmeOptions.UniformKey),
      columns.fold[UnlistedColumns](UnlistedColumns.UseFooterKey)(_ => unlistedBeside(values))
    )
  }

  private[pmeparquet] def uniformAndOthers = PmeErrors.contradiction(
    "uniformKey, footerKey, columnKeys",
    "uniformKey is the one key of footer and columns",
    "Set uniformKey alone, or footerKey and columnKeys."
  )

  /** What happens to columns that `columnKeys` does not name. */
  private def unlistedBeside(values: OptionValues): UnlistedColumns = {
    // Only parquet-java's names imply parquet-java's default; see docs/decisions.
    val parquetNames = values.find(PmeOptions.ColumnKeys).exists(_.parquetName) &&
      values.find(PmeOptions.FooterKey).forall(_.parquetName)
    val default = if (parquetNames) UnlistedColumns.Plaintext else UnlistedColumns.UseFooterKey
    values.text(PmeOptions.Unlisted).fold[UnlistedColumns](default)(_ => unlistedOf(values))
  }

  /** With a footer key alone every column is unlisted; leaving all of them readable cannot be intended. */
  private def footerOnly(values: OptionValues): UnlistedColumns = unlistedOf(values) match {
    case UnlistedColumns.UseFooterKey => UnlistedColumns.UseFooterKey
    case other =>
      throw PmeErrors.contradiction(
        "footerKey and unlistedColumns",
        s"unlistedColumns=${other.optionValue} encrypts no column without columnKeys",
        "Set columnKeys, or remove unlistedColumns."
      )
  }

  private def unlistedOf(values: OptionValues): UnlistedColumns = {
    val choice = values.choice(PmeOptions.Unlisted)
    UnlistedColumns.all.find(_.optionValue == choice).get
  }

  private def nonEmpty(values: OptionValues, option: OptionSpec): Option[String] =
    values.text(option).map { key =>
      if (key.trim.isEmpty) throw PmeErrors.badOption(option.name, key, "the id of a master key")
      KeyTemplate.of(key, option.name)
      key
    }

  private def providerOf(values: OptionValues): String =
    values.text(PmeOptions.CryptoProvider).orElse(PmeOptions.CryptoProvider.default).get.trim

  /** How long an unwrapped key may be kept, in milliseconds. */
  private[pmeparquet] def lifetimeMillis(values: OptionValues): Long = {
    val text = values.text(PmeOptions.CacheLifetime).orElse(PmeOptions.CacheLifetime.default).get
    val seconds =
      try text.trim.toLong
      catch { case _: NumberFormatException => -1L }
    if (seconds < 0 || seconds > MaxLifetimeSeconds)
      throw PmeErrors.badOption(
        PmeOptions.CacheLifetime.name,
        text,
        s"a number of seconds from 0 to $MaxLifetimeSeconds"
      )
    seconds * 1000
  }

  private val MaxLifetimeSeconds = 7L * 24 * 3600

  /** An invalid value is an error even if the option is not used, to detect misunderstandings early. */
  private def checkEvery(values: OptionValues): Unit =
    PmeOptions.all.filter(_.values.nonEmpty).foreach(option => values.choice(option))
}
