package io.pmeparquet.options

import io.pmeparquet.columns.{
  ColumnKeys,
  FilePlace,
  KeyDraft,
  KeyNames,
  KeyPlan,
  KeyTemplate,
  LeafColumn,
  UnlistedColumns
}

/**
 * How files are encrypted.
 *
 * @param footerKey name of a master key, or a template ([[io.pmeparquet.columns.KeyTemplate]]), as in `columnKeys`: [[at]] makes names of them
 * @param keysOfOthers keys that a policy has for other columns than those of the files. A write does not need them, but
 *   no partition column may be one of those columns
 */
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
    caseSensitive: Boolean,
    cryptoProvider: String,
    keysOfOthers: Seq[ColumnKeys.Entry] = Nil
) extends Serializable {

  /** Without the keys that a policy has for other columns than these. */
  def of(leaves: Seq[LeafColumn]): FileSettings = {
    val needed = columnKeys.map(KeyDraft.needed(_, leaves, caseSensitive))
    val all = columnKeys.toSeq.flatMap(_.entries)
    copy(columnKeys = needed, keysOfOthers = all.diff(needed.toSeq.flatMap(_.entries)))
  }

  /** Fails if a key is for a partition column, whose values are readable in directory names. */
  def checkPartitions(columns: Seq[String]): Unit = {
    KeyPlan.checkPartitions(columns, columnKeys, caseSensitive)
    KeyPlan.checkPartitions(columns, Some(ColumnKeys(keysOfOthers)), caseSensitive)
  }

  /** The columns whose values name keys; empty if all names are plain. */
  def keyColumns: Seq[String] = names.columns

  /** The same, with what names have of each value. */
  def keyValues: Seq[KeyTemplate.Value] = names.values

  /**
   * The same for the files of one place, where every name of a key is plain.
   *
   * @param where a file in it, for messages
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if a template has no name there
   */
  def at(place: FilePlace, where: String): FileSettings = if (keyColumns.isEmpty) this
  else {
    def name(text: String) = names.nameOf(text, place, caseSensitive, where)
    copy(footerKey = name(footerKey), columnKeys = columnKeys.map(_.named(name)))
  }

  @transient private lazy val names: KeyNames = KeyNames(masterKeys.toSet)

  /** Whether it is the name of a key of these, or one of the templates can make it. */
  def mayUse(masterKey: String): Boolean = names.contains(masterKey)

  /** Every master key the write may use, as options name it. */
  def masterKeys: Seq[String] = (footerKey +: columnKeys.toSeq.flatMap(_.entries.map(_.masterKeyId))).distinct

  /** The length of random data keys. */
  def drawnKeyBits: Int = dataKeyBits.getOrElse(FileSettings.DefaultDataKeyBits)

  /** Whether a key-encryption key wraps data keys. */
  def wrapsTwice: Boolean = doubleWrapping && !directKeys

  /**
   * The AAD prefix of a file to write.
   *
   * @param directory path of the directory that it may name
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` for a prefix that is not safe for these files
   */
  def prefixToWrite(directory: String, fileName: String, where: String): Option[Array[Byte]] =
    aadPrefix.map(_.toWrite(directory, fileName, where, wrapsOnce = !doubleWrapping && !directKeys))
}

object FileSettings {
  private val DefaultDataKeyBits = 128
}

sealed abstract class EncryptionAlgorithm(val name: String) extends Serializable

/** Specification §4.2. */
object EncryptionAlgorithm {
  case object AesGcmV1 extends EncryptionAlgorithm("AES_GCM_V1")
  case object AesGcmCtrV1 extends EncryptionAlgorithm("AES_GCM_CTR_V1")

  def of(name: String): EncryptionAlgorithm = if (name == AesGcmV1.name) AesGcmV1 else AesGcmCtrV1
}
