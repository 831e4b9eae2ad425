package io.pmeparquet.parquet.file

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, Util}

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{AesCtr, AesGcm, CryptoProvider, ModuleAad, ModuleKind}
import io.pmeparquet.columns.ColumnPolicy
import io.pmeparquet.parquet.admission.{ColumnCheck, FooterPolicy}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, Limits, ReadCounters, ThriftBounds}
import io.pmeparquet.parquet.chunk.{Chunk, ChunkModules, Modules}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** Opens an encrypted file's modules: holds its keys, AAD, algorithm and provider. */
private[parquet] final class FileCrypto private (
    file: String,
    val footerKey: AesKey,
    val keys: FileKeys,
    fileAad: Array[Byte],
    ctr: Boolean,
    val footerEncrypted: Boolean,
    provider: CryptoProvider,
    isRefusal: Condition => Boolean,
    footerMasterKey: => Option[String]
) {
  val footer: FooterModule = new FooterModule(file, footerKey, fileAad, footerEncrypted, provider)

  /** The master key of the footer's key, if the file or the options name one. */
  def masterKeyOfFooter: Option[String] = footerMasterKey
  private val columnKeys = new ConcurrentHashMap[ByteBuffer, AesKey]

  /** The key of a column that has its own. Asks for each key once. */
  def columnKey(
      chunk: ColumnChunk,
      name: String,
      counters: ReadCounters
  ): AesKey = {
    val metadata = chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata
    if (metadata == null) throw PmeErrors.noColumnKeyMetadata(s"$file, column '$name'")
    columnKeys.computeIfAbsent(
      ByteBuffer.wrap(metadata),
      _ => {
        counters.keys.increment()
        keys.keyOf(metadata, Some(name))
      }
    )
  }

  /** Why this reader does not get a column's own key; none if it gets the key, or the column has none. */
  def refusal(chunk: ColumnChunk, name: String, counters: ReadCounters): Option[Refusal] =
    keyMetadataOf(chunk).flatMap { metadata =>
      try {
        columnKey(chunk, name, counters)
        None
      } catch {
        case denied: PmeException if isRefusal(denied.condition) =>
          Some(Refusal(keys.masterKeyOf(metadata, Some(name)), denied))
      }
    }

  /** The id of the master key of a column's own key; none if the column has none. */
  def masterKeyOf(chunk: ColumnChunk, name: String): Option[String] =
    keyMetadataOf(chunk).map(keys.masterKeyOf(_, Some(name)))

  /** Checks that columns are protected as a policy asks. */
  def check(policy: ColumnPolicy): ColumnCheck =
    new ColumnCheck(policy, file, footerMasterKey, (metadata, name) => keys.masterKeyOf(metadata, Some(name)))

  /** The key metadata of a column's own key. */
  private def keyMetadataOf(chunk: ColumnChunk): Option[Array[Byte]] =
    Option(chunk.getCrypto_metadata)
      .filter(_.isSetENCRYPTION_WITH_COLUMN_KEY)
      .flatMap(crypto => Option(crypto.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata))

  /** Unwraps the keys of columns that have their own, all at once; `chunks` come with their columns' names. */
  def prepare(chunks: Seq[(String, ColumnChunk)]): Unit = {
    val wanted = for {
      (name, chunk) <- chunks
      metadata <- keyMetadataOf(chunk).toSeq
      if !columnKeys.containsKey(ByteBuffer.wrap(metadata))
    } yield name -> metadata
    if (wanted.size > 1) keys.prepare(wanted)
  }

  /** A chunk's metadata, decrypted. */
  def columnMetadata(
      key: AesKey,
      chunk: ColumnChunk,
      rowGroupOrdinal: Int,
      ordinal: Int,
      where: String,
      counters: ReadCounters
  ): ColumnMetaData = {
    val bytes = chunk.getEncrypted_column_metadata
    if (bytes == null) throw PmeErrors.damaged(where, "it has no encrypted metadata")
    val aad = new ModuleAad(fileAad, rowGroupOrdinal, ordinal)
    val modules = new Modules(new AesGcm(key, provider), aad, where, counters)
    val kind = ModuleKind.ColumnMetaData
    val end = modules.end(bytes, 0, bytes.length, Limits.FooterLength, kind)
    if (end != bytes.length)
      throw PmeErrors.damaged(where, "there are bytes after the end of its encrypted metadata")
    val length = modules.open(bytes, 0, end, kind, 0)
    FileTail.parse(where, "its metadata") {
      val struct = ThriftBounds.end(modules.plaintext, 0, length)
      Util.readColumnMetaData(new ByteArrayInputStream(modules.plaintext, 0, struct), null, null)
    }
  }

  /** The ciphers of a chunk's modules. */
  def modules(chunk: Chunk, key: AesKey, counters: ReadCounters): ChunkModules = {
    val where = s"$file, column '${chunk.display}'"
    val gcm = new AesGcm(key, provider)
    val pages = if (ctr) new AesCtr(key, provider) else gcm
    def aad = new ModuleAad(fileAad, chunk.rowGroupOrdinal, chunk.ordinal)
    new ChunkModules(new Modules(gcm, aad, where, counters), new Modules(pages, aad, where, counters))
  }
}

/** @param denied the KMS's refusal of the master key */
private[parquet] final case class Refusal(masterKeyId: String, denied: PmeException)

private[parquet] object FileCrypto {

  /** @throws io.pmeparquet.PmeException if the policy refuses the file, or its footer key is not available */
  def of(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      tail: FileTail.Encrypted,
      counters: ReadCounters
  ): FileCrypto = {
    val prefix = FooterPolicy.check(version.place, tail, scope.settings).orElse(tail.aadPrefix)
    val keys = new FileKeys(version.path, conf, scope, prefix)
    def masterKey = tail.footerKeyMetadata
      .map(keys.masterKeyOf(_, None))
      .orElse(scope.settings.keyOfFilesWithoutMetadata)
    if (tail.footerKeyMetadata.isEmpty && scope.settings.keyOfFilesWithoutMetadata.isEmpty)
      throw PmeErrors.noKeyMetadata(version.path.toString)
    // Before any call to the KMS.
    scope.settings.columns.foreach(ColumnCheck.footer(_, version.path.toString, masterKey))
    counters.keys.increment()
    val footerKey = tail.footerKeyMetadata match {
      case Some(metadata) => keys.keyOf(metadata, None)
      case None => FileKeys.footerKeyWithoutMetadata(scope, version.path, conf)
    }
    new FileCrypto(
      version.path.toString,
      footerKey,
      keys,
      prefix.getOrElse(Array.emptyByteArray) ++ tail.aadFileUnique,
      tail.ctr,
      footerEncrypted = !tail.plaintextFooter,
      CryptoProvider.of(scope.settings.cryptoProvider),
      scope.settings.isRefusal,
      masterKey
    )
  }
}
