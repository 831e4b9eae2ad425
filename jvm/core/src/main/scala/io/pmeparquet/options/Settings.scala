package io.pmeparquet.options

import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.columns.{ColumnKeys, ColumnPolicy, KeyBinding, UniformBinding, UnlistedColumns}
import io.pmeparquet.keys.{KmsSettings, KmsUse}
import io.pmeparquet.PmeErrors

/** The checked options of one write: where its master keys live, and how its files are encrypted. */
final case class WriteSettings(use: KmsUse, files: FileSettings)

/** How files are encrypted. */
final case class FileSettings(
    footerKey: String,
    columnKeys: Option[ColumnKeys],
    unlisted: UnlistedColumns,
    algorithm: EncryptionAlgorithm,
    plaintextFooter: Boolean,
    dataKeyBits: Option[Int],
    kekBits: Int,
    doubleWrapping: Boolean,
    externalMaterial: Boolean,
    directKeys: Boolean,
    aadPrefix: Option[AadPrefix],
    storeAadPrefix: Boolean,
    caseSensitive: Boolean
) extends Serializable {

  /** Every master key the write may use. */
  def masterKeys: Seq[String] = (footerKey +: columnKeys.toSeq.flatMap(_.entries.map(_.masterKeyId))).distinct

  /** The length of data keys that are drawn for a file. */
  def drawnKeyBits: Int = dataKeyBits.getOrElse(FileSettings.DefaultDataKeyBits)

  /** Whether a key-encryption key comes between data keys and master key. */
  def wrapsTwice: Boolean = doubleWrapping && !directKeys

  /**
   * The AAD prefix of a file that is to be written.
   *
   * @param directory path of the directory that it may name
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for one that these files must not have
   */
  def prefixToWrite(directory: String, fileName: String, where: String): Option[Array[Byte]] =
    aadPrefix.map(_.toWrite(directory, fileName, where, wrapsOnce = !doubleWrapping && !directKeys))
}

object FileSettings {
  private val DefaultDataKeyBits = 128
}

/**
 * What a reader accepts, and with which keys: the checked options of one read.
 *
 * @param keyOfFilesWithoutMetadata key of files that carry no key metadata, where it may be given out for that
 * @param directKeys whether a key that a file names is given out as a data key
 * @param allowedMasterKeys where given, no other master key is used
 * @param columns where given, a file whose columns are protected otherwise is refused
 * @param masking what becomes of columns whose keys are refused; none: the read fails
 */
final case class ReadSettings(
    keyOfFilesWithoutMetadata: Option[String],
    directKeys: Boolean,
    allowedMasterKeys: Option[Set[String]],
    columns: Option[ColumnPolicy],
    acceptCtr: Boolean,
    aadPrefix: Option[AadPrefix],
    allowPlaintextFiles: Boolean,
    allowClearLevels: Boolean,
    masking: Option[Masking],
    kekLifetimeMillis: Long,
    cryptoProvider: String
) extends Serializable {

  /** Whether a master key itself may leave the KMS for this read. */
  def givesOut(keyId: String): Boolean =
    keyOfFilesWithoutMetadata.contains(keyId) ||
      (directKeys && allowedMasterKeys.forall(_.contains(keyId)))
}

/**
 * Columns whose keys the KMS refuses are read as NULL.
 *
 * @param leaveOut whether a schema that is inferred does without them
 * @param inConditions whether conditions may see the NULLs
 */
final case class Masking(leaveOut: Boolean, inConditions: Boolean) extends Serializable {

  /** As the user asked for it. */
  def option: String = s"${PmeOptions.DeniedColumns.name}=${if (leaveOut) "drop" else "null"}"
}

sealed abstract class EncryptionAlgorithm(val name: String) extends Serializable

/** Specification §4.2. */
object EncryptionAlgorithm {
  case object AesGcmV1 extends EncryptionAlgorithm("AES_GCM_V1")
  case object AesGcmCtrV1 extends EncryptionAlgorithm("AES_GCM_CTR_V1")

  def of(name: String): EncryptionAlgorithm = if (name == AesGcmV1.name) AesGcmV1 else AesGcmCtrV1
}

/** Checks option values against each other and makes settings of them. */
object Settings {
  def forWrite(values: OptionValues, use: KmsUse, caseSensitive: Boolean): WriteSettings = {
    checkEvery(values)
    val keys = writeKeys(values)
    val direct = values.choice(PmeOptions.KeyManagement) == "direct"
    val external = values.choice(PmeOptions.KeyMaterial) == "external"
    val prefix = values.text(PmeOptions.AadPrefix).map(AadPrefix.parse)
    CryptoProvider.requireForWrite(providerOf(values))
    if (direct && !givesKeysOut(use.settings))
      throw PmeErrors.contradiction(
        "keyManagement and kms",
        "direct keys need a KMS that gives keys out",
        "Use kms=keystore or kms=static, or keyManagement=envelope."
      )
    if (direct && external)
      throw PmeErrors.contradiction(
        "keyManagement and keyMaterial",
        "direct keys have no key material",
        "Use keyMaterial=internal with keyManagement=direct."
      )
    if (prefix.isEmpty && values.choice(PmeOptions.StoreAadPrefix) == "false")
      throw PmeErrors.contradiction("storeAadPrefix", "there is no prefix to leave out", "Set aadPrefix.")
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
      caseSensitive
    )
    WriteSettings(use, files)
  }

  /** Fails where a write names no key, or keys that contradict each other. */
  def requireKeys(values: OptionValues): Unit = {
    writeKeys(values)
    ()
  }

  private def givesKeysOut(kms: KmsSettings) = kms match {
    case _: KmsSettings.Keystore | _: KmsSettings.Static => true
    case _ => false
  }

  def forRead(values: OptionValues, caseSensitive: Boolean = false): ReadSettings = {
    checkEvery(values)
    val key = values.text(PmeOptions.UniformKey).orElse(values.text(PmeOptions.FooterKey))
    // Only columnKeys and a footer key together tell all keys of a table.
    val allowed =
      for (footer <- key; columns <- values.text(PmeOptions.ColumnKeys))
        yield ColumnKeys.parse(columns).entries.map(_.masterKeyId).toSet + footer
    val direct = values.choice(PmeOptions.KeyManagement) == "direct"
    // Alone, said of this read, and with nothing said of envelopes, it names the key of files that carry no key metadata.
    // What stands in the session or in Hadoop's configuration is there for writes.
    val alone = values.text(PmeOptions.ColumnKeys).isEmpty && values.find(PmeOptions.KeyManagement).isEmpty
    val ofThisRead = Seq(PmeOptions.UniformKey, PmeOptions.FooterKey)
      .flatMap(values.find(_))
      .headOption
      .exists(_.level == Level.Option)
    ReadSettings(
      key.filter(_ => direct || (alone && ofThisRead)),
      direct,
      allowed,
      columnPolicy(values, caseSensitive),
      values.choice(PmeOptions.Algorithm) == EncryptionAlgorithm.AesGcmCtrV1.name,
      values.text(PmeOptions.AadPrefix).map(AadPrefix.parse),
      values.choice(PmeOptions.PlaintextFiles) == "allow",
      values.choice(PmeOptions.ClearLevels) == "allow",
      masking(values),
      lifetimeMillis(values),
      CryptoProvider.of(providerOf(values)).option
    )
  }

  /** A footer key alone asks nothing: it is the key of files that name none, and in sessions a default of writes. */
  private[options] def columnPolicy(values: OptionValues, caseSensitive: Boolean): Option[ColumnPolicy] = {
    val footer = nonEmpty(values, PmeOptions.FooterKey)
    val columns = values.find(PmeOptions.ColumnKeys)
    nonEmpty(values, PmeOptions.UniformKey) match {
      case Some(_) if footer.isDefined || columns.isDefined => throw uniformAndOthers
      case Some(uniform) => Some(UniformBinding(uniform))
      case None =>
        columns.map(found =>
          KeyBinding(footer, ColumnKeys.parse(found.value), unlistedBeside(values, found), caseSensitive)
        )
    }
  }

  /** What becomes of columns whose keys are refused; none: the read fails. */
  def masking(values: OptionValues): Option[Masking] = {
    val denied = values.choice(PmeOptions.DeniedColumns)
    if (denied == "error") None
    else if (reader(values) == "spark")
      throw PmeErrors.contradiction(
        "deniedColumns and reader",
        s"Spark's own readers cannot leave out single columns of a file, which deniedColumns=$denied asks for",
        "Leave out reader=spark, or deniedColumns."
      )
    else Some(Masking(denied == "drop", values.choice(PmeOptions.DeniedPredicates) == "null"))
  }

  /** The reader of pages: auto, pages or spark. */
  def reader(values: OptionValues): String = values.choice(PmeOptions.Reader)

  /** The Spark read path: a value of option `scan`. */
  def scan(values: OptionValues): String = values.choice(PmeOptions.Scan)

  private final case class Keys(footerKey: String, columnKeys: Option[ColumnKeys], unlisted: UnlistedColumns)

  private def writeKeys(values: OptionValues): Keys = {
    val footer = nonEmpty(values, PmeOptions.FooterKey)
    val uniform = nonEmpty(values, PmeOptions.UniformKey)
    val columns = values.find(PmeOptions.ColumnKeys)
    (uniform, footer, columns) match {
      case (Some(_), None, None) => Keys(uniform.get, None, UnlistedColumns.UseFooterKey)
      case (Some(_), _, _) => throw uniformAndOthers
      case (None, None, None) => throw PmeErrors.noKey
      case (None, None, Some(_)) => throw PmeErrors.noFooterKey
      case (None, Some(key), None) => Keys(key, None, footerOnly(values))
      case (None, Some(key), Some(found)) =>
        Keys(key, Some(ColumnKeys.parse(found.value)), unlistedBeside(values, found))
    }
  }

  private def uniformAndOthers = PmeErrors.contradiction(
    "uniformKey, footerKey, columnKeys",
    "uniformKey is the one key of everything",
    "Set uniformKey alone, or footerKey and columnKeys."
  )

  /** What happens to columns that these keys do not name. */
  private def unlistedBeside(values: OptionValues, columnKeys: OptionValues.Found): UnlistedColumns = {
    // parquet-java's names, and no other, bring parquet-java's default; docs/decisions tells why.
    val parquetNames = columnKeys.parquetName && values.find(PmeOptions.FooterKey).forall(_.parquetName)
    val default = if (parquetNames) UnlistedColumns.Plaintext else UnlistedColumns.UseFooterKey
    values.text(PmeOptions.Unlisted).fold[UnlistedColumns](default)(_ => unlistedOf(values))
  }

  /** With a footer key alone every column is unlisted; leaving all of them readable is not what anyone asks for. */
  private def footerOnly(values: OptionValues): UnlistedColumns = unlistedOf(values) match {
    case UnlistedColumns.UseFooterKey => UnlistedColumns.UseFooterKey
    case other =>
      throw PmeErrors.contradiction(
        "footerKey and unlistedColumns",
        s"unlistedColumns=${other.optionValue} leaves nothing that is encrypted without columnKeys",
        "Set columnKeys, or leave out unlistedColumns."
      )
  }

  private def unlistedOf(values: OptionValues): UnlistedColumns = {
    val choice = values.choice(PmeOptions.Unlisted)
    UnlistedColumns.all.find(_.optionValue == choice).get
  }

  private def nonEmpty(values: OptionValues, option: OptionSpec): Option[String] =
    values.text(option).map { key =>
      if (key.trim.isEmpty) throw PmeErrors.badOption(option.name, key, "the id of a master key")
      key
    }

  private def providerOf(values: OptionValues): String =
    values.text(PmeOptions.CryptoProvider).orElse(PmeOptions.CryptoProvider.default).get.trim

  private def lifetimeMillis(values: OptionValues): Long = {
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

  /** A bad value is an error even where the option is not used: a misunderstanding is better met early. */
  private def checkEvery(values: OptionValues): Unit =
    PmeOptions.all.filter(_.values.nonEmpty).foreach(option => values.choice(option))
}
