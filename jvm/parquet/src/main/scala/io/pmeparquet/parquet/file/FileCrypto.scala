package io.pmeparquet.parquet.file

import java.io.ByteArrayInputStream
import java.nio.ByteBuffer
import java.security.SecureRandom
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, FileMetaData, Util}

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{AesCtr, AesGcm, CryptoProvider, ModuleAad, ModuleFrame, ModuleKind}
import io.pmeparquet.columns.ColumnPolicy
import io.pmeparquet.parquet.admission.{ColumnCheck, FooterPolicy}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, Limits, ReadCounters, Segment, ThriftBounds}
import io.pmeparquet.parquet.chunk.{Chunk, ChunkModules, Modules}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/** What opens the modules of an encrypted file: keys, the file's AAD, algorithm and provider. */
private[parquet] final class FileCrypto private (
    file: String,
    val footerKey: AesKey,
    val keys: FileKeys,
    fileAad: Array[Byte],
    ctr: Boolean,
    val footerEncrypted: Boolean,
    provider: CryptoProvider,
    footerMasterKey: => Option[String]
) {
  private val columnKeys = new ConcurrentHashMap[ByteBuffer, AesKey]

  /** The key of a column that has its own; requested once. */
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

  /** Why the KMS refuses a column's own key to this reader; none if it does not, or if the column has none. */
  def refusal(chunk: ColumnChunk, name: String, counters: ReadCounters): Option[Refusal] =
    keyMetadataOf(chunk).flatMap { metadata =>
      try {
        columnKey(chunk, name, counters)
        None
      } catch {
        case denied: PmeException if denied.condition == Condition.KeyDenied =>
          Some(Refusal(keys.masterKeyOf(metadata, Some(name)), denied))
      }
    }

  /** The id of the master key of a column's own key; none if it has no key of its own. */
  def masterKeyOf(chunk: ColumnChunk, name: String): Option[String] =
    keyMetadataOf(chunk).map(keys.masterKeyOf(_, Some(name)))

  /** Checks whether columns are protected as a policy asks. */
  def check(policy: ColumnPolicy): ColumnCheck =
    new ColumnCheck(policy, file, footerMasterKey, (metadata, name) => keys.masterKeyOf(metadata, Some(name)))

  /** The key metadata of a column's own key. */
  private def keyMetadataOf(chunk: ColumnChunk): Option[Array[Byte]] =
    Option(chunk.getCrypto_metadata)
      .filter(_.isSetENCRYPTION_WITH_COLUMN_KEY)
      .flatMap(crypto => Option(crypto.getENCRYPTION_WITH_COLUMN_KEY.getKey_metadata))

  /** Unwraps the keys of columns that have their own at once; `chunks` by the columns' names. */
  def prepare(chunks: Seq[(String, ColumnChunk)]): Unit = {
    val wanted = for {
      (name, chunk) <- chunks
      metadata <- keyMetadataOf(chunk).toSeq
      if !columnKeys.containsKey(ByteBuffer.wrap(metadata))
    } yield name -> metadata
    if (wanted.size > 1) keys.prepare(wanted)
  }

  /** The decrypted metadata of a chunk. */
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

  /**
   * The footer, after its authentication.
   *
   * @throws io.pmeparquet.PmeException if it is not authentic
   */
  def footer(bytes: Segment, counters: ReadCounters): FileMetaData =
    FileTail.metadata(footerContent(bytes, counters), file)

  /** The footer's own bytes, and the other bytes of its module, after their authentication. */
  def footerContent(bytes: Segment, counters: ReadCounters): Segment = {
    val aad = ModuleAad.ofFooter(fileAad)
    val gcm = new AesGcm(footerKey, provider)
    if (footerEncrypted) {
      val modules = new Modules(gcm, aad, file, counters)
      val at = FileTail.cryptoMetadataEnd(bytes, file)
      val length = modules.open(bytes.array, at, bytes.until, ModuleKind.Footer, 0)
      new Segment(modules.plaintext, 0, 0, length)
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
      new Segment(bytes.array, bytes.at, bytes.offset, signatureAt - bytes.at)
    }
  }

  /** A footer as stored: its module, or the footer itself and its signature (specification §5.4, §5.5). */
  def sealedFooter(content: Array[Byte]): Array[Byte] = {
    val aad = ModuleAad.ofFooter(fileAad)
    val aadLength = aad.select(ModuleKind.Footer, 0)
    val module = new AesGcm(footerKey, provider).seal(content, aad.bytes, aadLength, new SecureRandom)
    if (footerEncrypted) ModuleFrame.lengthOf(module.length) ++ module
    else content ++ module.take(ModuleFrame.NonceBytes) ++ module.takeRight(ModuleFrame.TagBytes)
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
    // Before any call of the KMS.
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
      masterKey
    )
  }
}
