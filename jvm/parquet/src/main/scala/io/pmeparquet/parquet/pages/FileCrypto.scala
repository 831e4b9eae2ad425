package io.pmeparquet.parquet.pages

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, FileMetaData, Util}

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.cipher._
import io.pmeparquet.parquet._

/** What an encrypted file's modules are opened with: keys, the file's AAD, algorithm and provider. */
private[parquet] final class FileCrypto private (
    file: String,
    val footerKey: AesKey,
    keys: FileKeys,
    fileAad: Array[Byte],
    ctr: Boolean,
    val footerEncrypted: Boolean,
    provider: CryptoProvider
) {
  private val columnKeys = new ConcurrentHashMap[ByteBuffer, AesKey]

  /** The key of a column that has its own; asked for once. */
  def columnKey(
      chunk: ColumnChunk,
      name: String,
      counters: ReadCounters
  ): AesKey = {
    val metadata = chunk.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata
    if (metadata == null) throw PmeErrors.noKeyMetadata(s"$file, column '$name'")
    columnKeys.computeIfAbsent(
      ByteBuffer.wrap(metadata),
      _ => {
        counters.keys.increment()
        keys.keyOf(metadata, Some(name))
      }
    )
  }

  /** Has the keys of columns that have their own unwrapped at once; `chunks` by the columns' names. */
  def prepare(chunks: Seq[(String, ColumnChunk)]): Unit = {
    val wanted = for {
      (name, chunk) <- chunks
      crypto = chunk.getCrypto_metadata if crypto != null && crypto.isSetENCRYPTION_WITH_COLUMN_KEY
      metadata = crypto.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata if metadata != null
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
    val end = modules.end(bytes, 0, bytes.length, Limits.FooterBytes, kind)
    if (end != bytes.length) throw PmeErrors.damaged(where, "its encrypted metadata has bytes after its end")
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

  /**
   * The footer, once it has proved to be authentic.
   *
   * @throws io.pmeparquet.PmeException where it is not
   */
  def footer(bytes: Segment, counters: ReadCounters): FileMetaData = {
    val aad = ModuleAad.ofFooter(fileAad)
    val gcm = new AesGcm(footerKey, provider)
    if (footerEncrypted) {
      val modules = new Modules(gcm, aad, file, counters)
      val at = FileTail.cryptoMetadataEnd(bytes, file)
      val length = modules.open(bytes.array, at, bytes.until, ModuleKind.Footer, 0)
      OpenFile.parsed(new Segment(modules.plaintext, 0, 0, length), file)
    } else {
      val signatureAt = bytes.until - ModuleFrame.SignatureBytes
      if (FileTail.structEnd(bytes, file) > signatureAt)
        throw PmeErrors.notAuthentic(file, "its footer, which has no signature,")
      val signature = java.util.Arrays.copyOfRange(bytes.array, signatureAt, bytes.until)
      counters.modules.increment()
      if (
        !gcm.signs(
          bytes.array,
          bytes.at,
          signatureAt - bytes.at,
          aad.bytes,
          aad.select(ModuleKind.Footer, 0),
          signature
        )
      )
        throw PmeErrors.notAuthentic(file, "its footer")
      OpenFile.parsed(bytes, file)
    }
  }
}

private[pages] object FileCrypto {

  /** @throws io.pmeparquet.PmeException where the policy refuses the file or its footer key is not to be had */
  def of(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      tail: FileTail.Encrypted,
      counters: ReadCounters
  ): FileCrypto = {
    val prefix = FooterPolicy.check(version.place, tail, scope.settings).orElse(tail.aadPrefix)
    val keys = new FileKeys(version.path, conf, scope)
    counters.keys.increment()
    val footerKey = tail.footerKeyMetadata match {
      case Some(metadata) => keys.keyOf(metadata, None)
      case None => FileDecryption.footerKeyWithoutMetadata(scope, version.path, conf)
    }
    new FileCrypto(
      version.path.toString,
      footerKey,
      keys,
      prefix.getOrElse(Array.emptyByteArray) ++ tail.aadFileUnique,
      tail.ctr,
      footerEncrypted = !tail.plaintextFooter,
      CryptoProvider.of(scope.settings.cryptoProvider)
    )
  }
}
