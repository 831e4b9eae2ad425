package io.pmeparquet.snapshot.parts

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.schema.MessageType

import io.pmeparquet.cipher.CryptoProvider
import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, NamePattern, UnlistedColumns}
import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings, WriteSettings}
import io.pmeparquet.parquet.admission.FileDecryption
import io.pmeparquet.parquet.scope.{ReadScope, Scopes, WriteScope}
import io.pmeparquet.parquet.write.FileEncryption
import io.pmeparquet.snapshot.manifest.{DataFormat, IndexEntry}

/**
 * The keys of lists and indexes: the table's footer key for what every reader needs, and for each index its own. They are
 * encrypted as all files of ours, with envelope encryption and AES_GCM_V1. ''Driver only.''
 *
 * @param footerKey none for a table without encryption, whose lists and indexes are plaintext
 */
private[snapshot] final class PartKeys(
    footerKey: Option[String],
    use: => KmsUse,
    directory: Path,
    conf: Configuration
) {
  private val scopes = mutable.HashMap.empty[String, WriteScope]

  /**
   * The encryption properties of a new list.
   *
   * @throws io.pmeparquet.PmeException if the KMS refuses a key
   */
  def ofList(path: Path, format: DataFormat): Option[FileEncryptionProperties] =
    footerKey.map(key => properties(key, key, path, PartFile.schema(format)))

  /** The encryption properties of a new file of an index. */
  def ofIndex(index: IndexEntry, path: Path): Option[FileEncryptionProperties] =
    footerKey.map(footer =>
      properties(footer, index.key.getOrElse(footer), path, IndexFile.schema(index.kind))
    )

  private def properties(footerKey: String, key: String, path: Path, schema: MessageType) = {
    // A scope for each key, so that each is wrapped once.
    val scope = scopes.getOrElseUpdate(
      key, {
        val settings = WriteSettings(use, PartKeys.filesUnder(footerKey, key))
        Scopes.forWrite(settings, directory.toUri.getPath, conf)
      }
    )
    FileEncryption.of(scope, path, schema, conf)
  }
}

private[snapshot] object PartKeys {

  /** @param scope of a read that accepts parts: [[io.pmeparquet.snapshot.TableSnapshots.acceptingParts]] */
  def forRead(scope: ReadScope, path: Path, conf: Configuration): Option[FileDecryptionProperties] =
    FileDecryption.admit(scope, path, conf)

  /** @param key of the group of an index; the footer's for a list */
  private def filesUnder(footerKey: String, key: String): FileSettings = {
    val ofIndex = if (key == footerKey) Nil else Seq(IndexFile.Group -> key)
    settings(footerKey, ofIndex, plaintextFooter = false)
  }

  /**
   * How a file of metadata is encrypted.
   *
   * @param keys of top-level columns, by their names; everything else is under the footer's key
   */
  private[snapshot] def settings(
      footerKey: String,
      keys: Seq[(String, String)],
      plaintextFooter: Boolean
  ): FileSettings = {
    val entries = keys.map { case (column, key) =>
      ColumnKeys.Entry(key, ColumnPattern(column, Seq(NamePattern(column, quoted = true))))
    }
    FileSettings(
      footerKey,
      if (entries.isEmpty) None else Some(ColumnKeys(entries)),
      UnlistedColumns.UseFooterKey,
      EncryptionAlgorithm.AesGcmV1,
      plaintextFooter,
      dataKeyBits = None,
      kekBits = 128,
      doubleWrapping = true,
      externalMaterial = false,
      directKeys = false,
      aadPrefix = None,
      storeAadPrefix = true,
      caseSensitive = true,
      cryptoProvider = CryptoProvider.Auto
    )
  }
}
