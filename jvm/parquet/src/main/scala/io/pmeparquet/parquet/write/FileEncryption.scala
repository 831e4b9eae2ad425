package io.pmeparquet.parquet.write

import java.security.SecureRandom

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.{ColumnEncryptionProperties, FileEncryptionProperties, ParquetCipher}
import org.apache.parquet.hadoop.metadata.ColumnPath
import org.apache.parquet.schema.MessageType

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.columns.{ColumnKeys, ColumnProtection, FilePlace, KeyPlan, KeyValues}
import io.pmeparquet.material.{KeyMaterial, KeyMetadata}
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.{FileVersion, FooterBytes}
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.scope.{DirectKeys, WriteScope}
import io.pmeparquet.parquet.storage.MaterialFiles

/**
 * Makes the keys of one new file, and the encryption properties that parquet-java needs.
 *
 * @param directory path of the directory where the file will be, which its AAD prefix and templates of keys may name
 * @param stated what its footer will state of values that name keys: nobody but its writer knows that
 */
private[parquet] final class FileEncryption(
    scope: WriteScope,
    path: Path,
    directory: String,
    conf: Configuration,
    stated: KeyValues = KeyValues.none
) {
  private val random = new SecureRandom
  private val where = path.toString

  /** Names of keys are plain here. */
  val settings: FileSettings = scope.settings.at(FilePlace.of(directory).stating(stated), where)
  if (settings.plaintextFooter && !stated.isEmpty) throw WriteRules.statedInPlaintext
  settings.masterKeys
    .find(!scope.mayUse(_))
    .foreach(late => throw PmeErrors.lateKey(where, late))
  private lazy val wrapper = scope.wrapper(conf)
  private val external = mutable.ArrayBuffer.empty[(String, KeyMaterial)]

  /** @param columnKeys keys by column name; each name must match a column of the file */
  def properties(
      schema: MessageType,
      columnKeys: Option[ColumnKeys] = settings.columnKeys
  ): FileEncryptionProperties = {
    val leaves = SchemaColumns.leaves(schema)
    if (leaves.size != schema.getColumns.size)
      throw new IllegalStateException(
        s"internal error: ${leaves.size} of ${schema.getColumns.size} columns known"
      )
    if (settings.plaintextFooter) WriteRules.refuseGeometry(schema, where)
    val plan = scope.plan(leaves, columnKeys)
    val (footerKey, footerMetadata) = dataKey(settings.footerKey, isFooterKey = true)
    val builder = FileEncryptionProperties
      .builder(footerKey.insecureBytes)
      .withFooterKeyMetadata(footerMetadata)
      .withAlgorithm(cipher)
    // Without a list of columns parquet-java encrypts every column with the footer key. It accepts no empty list, so a
    // copied file with none of the protected columns is encrypted as a whole.
    val listed =
      if (columnKeys.isDefined) columns(plan) else Map.empty[ColumnPath, ColumnEncryptionProperties]
    if (listed.nonEmpty) builder.withEncryptedColumns(listed.asJava)
    if (settings.plaintextFooter) builder.withPlaintextFooter()
    settings.prefixToWrite(directory, path.getName, where).foreach { prefix =>
      builder.withAADPrefix(prefix)
      if (!settings.storeAadPrefix) builder.withoutAADPrefixStorage()
    }
    if (external.nonEmpty) MaterialFiles.write(path, conf, external.toSeq)
    builder.build()
  }

  private def columns(plan: KeyPlan): Map[ColumnPath, ColumnEncryptionProperties] =
    plan.columns.flatMap { case (leaf, protection) =>
      val column = ColumnPath.get(leaf.path: _*)
      protection match {
        case ColumnProtection.Plaintext => None
        case ColumnProtection.FooterKey => Some(column -> ColumnEncryptionProperties.builder(column).build())
        case ColumnProtection.ColumnKey(masterKeyId) =>
          val (key, metadata) = dataKey(masterKeyId, isFooterKey = false)
          val properties =
            ColumnEncryptionProperties
              .builder(column)
              .withKey(key.insecureBytes)
              .withKeyMetaData(metadata)
              .build()
          Some(column -> properties)
      }
    }.toMap

  private def dataKey(masterKeyId: String, isFooterKey: Boolean): (AesKey, Array[Byte]) =
    if (settings.directKeys) {
      val key = DirectKeys.of(scope.open(conf), masterKeyId, settings.dataKeyBits, where)
      key -> KeyMetadata.bytesOf(KeyMetadata.Direct(masterKeyId))
    } else {
      val key = AesKey.random(settings.drawnKeyBits, random)
      val material = wrapper.wrap(key, masterKeyId, isFooterKey, where)
      key -> KeyMetadata.bytesOf(stored(material))
    }

  private def stored(material: KeyMaterial): KeyMetadata =
    if (!settings.externalMaterial) KeyMetadata.Internal(material)
    else {
      val reference =
        if (material.isFooterKey) KeyMaterial.FooterReference
        else KeyMaterial.columnReference(external.count(!_._2.isFooterKey))
      external += reference -> material
      KeyMetadata.External(reference)
    }

  private def cipher: ParquetCipher = settings.algorithm match {
    case EncryptionAlgorithm.AesGcmV1 => ParquetCipher.AES_GCM_V1
    case EncryptionAlgorithm.AesGcmCtrV1 => ParquetCipher.AES_GCM_CTR_V1
  }
}

private[pmeparquet] object FileEncryption {

  /**
   * The properties of one new file at its place in the table, for parquet-java to encrypt with.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if it would do so with another provider than the settings name,
   *   or with one that fails its self-test
   */
  def of(
      scope: WriteScope,
      path: Path,
      schema: MessageType,
      conf: Configuration
  ): FileEncryptionProperties = {
    CryptoProvider.requireOfJvm(scope.settings.cryptoProvider)
    toSeal(scope, path, schema, conf)
  }

  /**
   * The same for a file that a [[FileSealer]] encrypts.
   *
   * @param entries what its footer will have of key-value metadata
   */
  def toSeal(
      scope: WriteScope,
      path: Path,
      schema: MessageType,
      conf: Configuration,
      entries: String => Option[String] = _ => None
  ): FileEncryptionProperties = {
    val directory = WriteRules.committedDirectory(path, scope.tableDirectory)
    new FileEncryption(scope, path, directory, conf, KeyValues.of(entries(KeyValues.Entry), path.toString))
      .properties(schema)
  }
}

/**
 * What distinguishes a file that was just written from every other one. It needs no key. ''Crosses the wire.''
 *
 * @param length of the file in bytes
 * @param sha256 of the footer, its length and the magic at the end of the file; of the whole file, if a footer of its format
 *   authenticates nothing
 * @param whole SHA-256 of the whole file, if whoever wrote it made that of the bytes that it wrote
 */
final case class WrittenFooter(length: Long, sha256: Array[Byte], whole: Option[Array[Byte]] = None)

object WrittenFooter {

  /** @throws io.pmeparquet.PmeException if the file does not end as a Parquet file does */
  def read(file: Path, conf: Configuration): WrittenFooter = {
    val version = FileVersion.of(file, conf)
    WrittenFooter(version.length, FooterBytes.read(version, conf).sha256)
  }
}
