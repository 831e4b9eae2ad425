package io.pmeparquet.parquet.file

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.ByteBuffer
import java.security.SecureRandom
import java.util.concurrent.ConcurrentHashMap
import java.util.Arrays

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, ColumnMetaData, Util}

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{AesCtr, AesGcm, CryptoProvider, ModuleAad, ModuleFrame, ModuleKind}
import io.pmeparquet.columns.ColumnPolicy
import io.pmeparquet.parquet.admission.{ColumnCheck, FooterPolicy}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion, Limits, ReadCounters, Segment, ThriftBounds}
import io.pmeparquet.parquet.chunk.{Chunk, ChunkModules, Modules}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope}

/**
 * Opens an encrypted file's modules, and seals a new footer: holds its keys, AAD, algorithm and provider.
 *
 * @param prefix the AAD prefix, from the options or the file
 */
private[parquet] final class FileCrypto private (
    scope: ReadScope,
    file: String,
    tail: FileTail.Encrypted,
    prefix: Option[Array[Byte]],
    val keys: FileKeys,
    val footerKey: AesKey
) {
  private val provider = CryptoProvider.of(scope.settings.cryptoProvider)
  private val fileAad = prefix.getOrElse(Array.emptyByteArray) ++ tail.aadFileUnique

  def footerEncrypted: Boolean = !tail.plaintextFooter

  /** The master key of the footer's key, if the file or the options name one. */
  def masterKeyOfFooter: Option[String] = FileCrypto.masterKeyOfFooter(scope, tail, keys)

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

  /**
   * The master key that the KMS denies to this reader for a column's own key, and how; none if it gets the key, or the
   * column has none.
   */
  def refusal(chunk: ColumnChunk, name: String, counters: ReadCounters): Option[(String, PmeException)] =
    keyMetadataOf(chunk).flatMap { metadata =>
      try {
        columnKey(chunk, name, counters)
        None
      } catch {
        case denied: PmeException if scope.settings.isRefusal(denied.condition) =>
          Some(keys.masterKeyOf(metadata, Some(name)) -> denied)
      }
    }

  /** The id of the master key of a column's own key; none if the column has none. */
  def masterKeyOf(chunk: ColumnChunk, name: String): Option[String] =
    keyMetadataOf(chunk).map(keys.masterKeyOf(_, Some(name)))

  /** Checks that columns are protected as a policy asks. */
  def check(policy: ColumnPolicy): ColumnCheck =
    new ColumnCheck(
      policy,
      file,
      masterKeyOfFooter,
      (metadata, name) => keys.masterKeyOf(metadata, Some(name))
    )

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

  /** A chunk's metadata as the footer has it, under a key of the column's own. */
  def sealMetadata(metadata: ColumnMetaData, key: AesKey, rowGroupOrdinal: Int, ordinal: Int): Array[Byte] = {
    val content = new ByteArrayOutputStream
    Util.writeColumnMetaData(metadata, content, null, null)
    val aad = new ModuleAad(fileAad, rowGroupOrdinal, ordinal)
    val aadLength = aad.select(ModuleKind.ColumnMetaData, 0)
    new AesGcm(key, provider).seal(content.toByteArray, aad.bytes, aadLength, new SecureRandom)
  }

  /** The ciphers of a chunk's modules. */
  def modules(chunk: Chunk, key: AesKey, counters: ReadCounters): ChunkModules =
    modules(chunk.display, chunk.rowGroupOrdinal, chunk.ordinal, key, counters)

  /** The ciphers of the modules of a column, by its name and place in a row group. */
  def modules(
      name: String,
      rowGroupOrdinal: Int,
      ordinal: Int,
      key: AesKey,
      counters: ReadCounters
  ): ChunkModules = {
    val where = s"$file, column '$name'"
    val gcm = new AesGcm(key, provider)
    val pages = if (tail.ctr) new AesCtr(key, provider) else gcm
    def aad = new ModuleAad(fileAad, rowGroupOrdinal, ordinal)
    new ChunkModules(new Modules(gcm, aad, where, counters), new Modules(pages, aad, where, counters))
  }

  /**
   * The footer's bytes, and any that follow them in its module (specification §5.4), or before its signature (§5.5),
   * once they are authenticated.
   *
   * @throws io.pmeparquet.PmeException if it is not authentic
   */
  def openFooter(bytes: Segment, counters: ReadCounters): Segment =
    if (footerEncrypted) {
      val modules = new Modules(new AesGcm(footerKey, provider), ModuleAad.ofFooter(fileAad), file, counters)
      val at = FileTail.cryptoMetadataEnd(bytes, file)
      val length = modules.open(bytes.array, at, bytes.until, ModuleKind.Footer, 0)
      new Segment(modules.plaintext, 0, 0, length)
    } else {
      val signatureAt = bytes.until - ModuleFrame.SignatureBytes
      if (FileTail.structEnd(bytes, file) > signatureAt)
        throw PmeErrors.notAuthentic(file, "its footer, which has no signature,")
      val length = signatureAt - bytes.at
      val signature = Arrays.copyOfRange(bytes.array, signatureAt, bytes.until)
      val aad = ModuleAad.ofFooter(fileAad)
      val aadLength = aad.select(ModuleKind.Footer, 0)
      counters.modules.increment()
      val gcm = new AesGcm(footerKey, provider)
      if (!gcm.signs(bytes.array, bytes.at, length, aad.bytes, aadLength, signature))
        throw PmeErrors.notAuthentic(file, "its footer")
      new Segment(bytes.array, bytes.at, bytes.offset, length)
    }

  /** A footer as the file stores it: its module, or the footer itself and its signature. */
  def sealFooter(content: Array[Byte]): Array[Byte] = {
    val aad = ModuleAad.ofFooter(fileAad)
    val aadLength = aad.select(ModuleKind.Footer, 0)
    val module = new AesGcm(footerKey, provider).seal(content, aad.bytes, aadLength, new SecureRandom)
    if (footerEncrypted) module else content ++ ModuleFrame.signatureOf(module)
  }
}

private[parquet] object FileCrypto {

  /**
   * @param seal what a snapshot says of the file
   * @throws io.pmeparquet.PmeException if the policy refuses the file, or its footer key is not available
   */
  def of(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      tail: FileTail.Encrypted,
      counters: ReadCounters,
      seal: Option[FileSeal] = None
  ): FileCrypto = {
    val file = version.path.toString
    val prefix = FooterPolicy.check(version.place, tail, scope.settings).orElse(tail.aadPrefix)
    val keys = new FileKeys(version.path, conf, scope, prefix)
    if (tail.footerKeyMetadata.isEmpty && scope.settings.keyOfFilesWithoutMetadata.isEmpty)
      throw PmeErrors.noKeyMetadata(file)
    // Before any call to the KMS.
    scope.settings.columns
      .foreach(ColumnCheck.beforeFooter(_, version.inTable, file, masterKeyOfFooter(scope, tail, keys)))
    counters.keys.increment()
    val footerKey =
      try tail.footerKeyMetadata.fold(keys.footerKeyWithoutMetadata)(keys.keyOf(_, None))
      catch {
        case failed: PmeException
            if scope.settings.leavesOutFile(failed.condition) || failed.condition == Condition.KeyNotFound =>
          val masterKey = masterKeyOfFooter(scope, tail, keys)
          val refused = erased(version, masterKey, seal, failed)
          if (!scope.settings.leavesOutFile(refused.condition)) throw refused
          throw new FooterKeyRefused(refused, masterKey, tail.footerKeyMetadata.forall(keys.isInFooter))
      }
    new FileCrypto(scope, file, tail, prefix, keys, footerKey)
  }

  /** Some KMSs forget what they have destroyed; a snapshot does not. */
  private def erased(
      version: FileVersion,
      masterKey: Option[String],
      seal: Option[FileSeal],
      failed: PmeException
  ): PmeException =
    seal.filter(_ => failed.condition == Condition.KeyNotFound).flatMap(_.erased(version.path)) match {
      case Some((key, when)) if masterKey.contains(key) =>
        PmeErrors.keyErased(version.path.toString, key, when, failed)
      case _ => failed
    }

  private def masterKeyOfFooter(scope: ReadScope, tail: FileTail.Encrypted, keys: FileKeys): Option[String] =
    tail.footerKeyMetadata.map(keys.masterKeyOf(_, None)).orElse(scope.settings.keyOfFilesWithoutMetadata)
}
