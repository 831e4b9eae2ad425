package io.pmeparquet.options

import io.pmeparquet.columns.{ColumnKeys, UnlistedColumns}

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
