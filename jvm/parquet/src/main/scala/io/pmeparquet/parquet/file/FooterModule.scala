package io.pmeparquet.parquet.file

import java.security.SecureRandom
import java.util.Arrays

import org.apache.parquet.format.FileMetaData

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.cipher.{AesGcm, CryptoProvider, ModuleAad, ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileTail, ReadCounters, Segment}
import io.pmeparquet.parquet.chunk.Modules

/**
 * The footer of an encrypted file: a module (specification §5.4), or plaintext and its signature (§5.5). Authenticates
 * it before anything parses it, and seals a new one.
 *
 * @param file its path, for messages
 */
private[parquet] final class FooterModule(
    file: String,
    key: AesKey,
    fileAad: Array[Byte],
    isEncrypted: Boolean,
    provider: CryptoProvider
) {

  /**
   * The footer, parsed once it is authenticated.
   *
   * @throws io.pmeparquet.PmeException if it is not authentic
   */
  def metadata(bytes: Segment, counters: ReadCounters): FileMetaData =
    FileTail.metadata(content(bytes, counters), file)

  /** The footer's bytes, and any that follow them in its module, once they are authenticated. */
  def content(bytes: Segment, counters: ReadCounters): Segment =
    if (isEncrypted) {
      val modules = new Modules(new AesGcm(key, provider), ModuleAad.ofFooter(fileAad), file, counters)
      val at = FileTail.cryptoMetadataEnd(bytes, file)
      val length = modules.open(bytes.array, at, bytes.until, ModuleKind.Footer, 0)
      new Segment(modules.plaintext, 0, 0, length)
    } else signed(bytes, counters)

  private def signed(bytes: Segment, counters: ReadCounters): Segment = {
    val signatureAt = bytes.until - ModuleFrame.SignatureBytes
    if (FileTail.structEnd(bytes, file) > signatureAt)
      throw PmeErrors.notAuthentic(file, "its footer, which has no signature,")
    val length = signatureAt - bytes.at
    val signature = Arrays.copyOfRange(bytes.array, signatureAt, bytes.until)
    val aad = ModuleAad.ofFooter(fileAad)
    val aadLength = aad.select(ModuleKind.Footer, 0)
    counters.modules.increment()
    val gcm = new AesGcm(key, provider)
    if (!gcm.signs(bytes.array, bytes.at, length, aad.bytes, aadLength, signature))
      throw PmeErrors.notAuthentic(file, "its footer")
    new Segment(bytes.array, bytes.at, bytes.offset, length)
  }

  /** A footer as the file stores it: its module, or the footer itself and its signature. */
  def seal(content: Array[Byte]): Array[Byte] = {
    val aad = ModuleAad.ofFooter(fileAad)
    val aadLength = aad.select(ModuleKind.Footer, 0)
    val module = new AesGcm(key, provider).seal(content, aad.bytes, aadLength, new SecureRandom)
    if (isEncrypted) ModuleFrame.lengthOf(module.length) ++ module
    else content ++ module.take(ModuleFrame.NonceBytes) ++ module.takeRight(ModuleFrame.TagBytes)
  }
}
