package io.pmeparquet.snapshot.parts

import java.util.Collections

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.{FileDecryptionProperties, FileEncryptionProperties}
import org.apache.parquet.hadoop.api.WriteSupport.WriteContext

import io.pmeparquet.columns.{ColumnKeys, ColumnPattern, NamePattern, UnlistedColumns}
import io.pmeparquet.keys.KmsUse
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings, WriteSettings}
import io.pmeparquet.parquet.scope.{ReadScope, Scopes}
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.snapshot.manifest.{IndexEntry, TablePolicy}

/**
 * The keys of parts: the table's footer key for what every reader needs, and for each index the key of its data column.
 * Parts are encrypted as all files of ours, with envelope encryption and AES_GCM_V1. ''Driver only.''
 */
private[snapshot] object PartKeys {

  /**
   * Makes the encryption properties of each new part; none for a table without encryption.
   *
   * @throws io.pmeparquet.PmeException if the KMS refuses a key
   */
  def forWrite(
      policy: TablePolicy,
      indexes: Seq[IndexEntry],
      use: => KmsUse,
      directory: Path,
      conf: Configuration
  ): Path => Option[FileEncryptionProperties] = policy.footerKey match {
    case None => _ => None
    case Some(footerKey) =>
      val settings = WriteSettings(use, filesUnder(footerKey, policy, indexes))
      val scope = Scopes.forWrite(settings, directory.toUri.getPath, conf)
      val own = new Configuration(conf)
      PmeCryptoFactory.useForWrite(own, scope)
      val context = new WriteContext(PartFile.schema(indexes), Collections.emptyMap[String, String])
      path => {
        // The scope stays in use until the last part is written.
        require(scope.id == own.get(Scopes.WriteId))
        Some(new PmeCryptoFactory().getFileEncryptionProperties(own, path, context))
      }
  }

  /** @param scope of a read that accepts parts: [[forParts]] */
  def forRead(scope: ReadScope, path: Path, conf: Configuration): Option[FileDecryptionProperties] = {
    val own = new Configuration(conf)
    PmeCryptoFactory.useForRead(own, scope)
    Option(new PmeCryptoFactory().getFileDecryptionProperties(own, path))
  }

  private def filesUnder(footerKey: String, policy: TablePolicy, indexes: Seq[IndexEntry]): FileSettings = {
    val keyOf = policy.columns.collect { case (path, Some(key)) => path -> key }.toMap
    val entries = for (index <- indexes; key <- keyOf.get(index.column) if key != footerKey) yield {
      val name = NamePattern(index.field, quoted = true)
      ColumnKeys.Entry(key, ColumnPattern(index.field, Seq(name)))
    }
    FileSettings(
      footerKey,
      if (entries.isEmpty) None else Some(ColumnKeys(entries)),
      UnlistedColumns.UseFooterKey,
      EncryptionAlgorithm.AesGcmV1,
      plaintextFooter = false,
      dataKeyBits = None,
      kekBits = 128,
      doubleWrapping = true,
      externalMaterial = false,
      directKeys = false,
      aadPrefix = None,
      storeAadPrefix = true,
      caseSensitive = true
    )
  }
}
