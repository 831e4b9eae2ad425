package io.pmeparquet.parquet.chunk

import java.security.GeneralSecurityException
import javax.crypto.AEADBadTagException

import io.pmeparquet.cipher.{ModuleAad, ModuleCipher, ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{Limits, ReadCounters}
import io.pmeparquet.PmeErrors

/**
 * Opens the modules of one column chunk or footer, one after the other, into a scratch array that grows to the largest.
 * For one thread.
 *
 * @param where file and column, for messages
 */
private[parquet] final class Modules(
    cipher: ModuleCipher,
    aad: ModuleAad,
    where: String,
    counters: ReadCounters
) {
  private var scratch = Array.emptyByteArray

  /** The plaintext of the last opened module, from index 0 on. */
  def plaintext: Array[Byte] = scratch

  def overheadBytes: Int = cipher.overheadBytes

  /**
   * The end of the module that begins at `at`. Checks its length field against what is left and against a limit.
   *
   * @param until the end of the place that the module must fit into
   * @param limit the longest plaintext allowed
   */
  def end(bytes: Array[Byte], at: Int, until: Int, limit: Int, kind: ModuleKind): Int = {
    def damaged(why: String) = PmeErrors.damaged(where, s"its ${kind.name} $why")
    if (until - at < cipher.overheadBytes) throw damaged(s"has only ${until - at} bytes left")
    val length = ModuleFrame.lengthAt(bytes, at)
    val left = until - at - ModuleFrame.LengthBytes
    val overhead = cipher.overheadBytes - ModuleFrame.LengthBytes
    if (length < overhead || length > left)
      throw damaged(s"has a length of $length bytes, but $left bytes are left")
    if (length - overhead > limit)
      throw damaged(s"has a length of $length bytes, above the maximum of $limit")
    at + ModuleFrame.LengthBytes + length
  }

  /**
   * Nothing authenticates a page's length field; it must match the page header, which is authenticated (specification
   * §5.1).
   */
  def requirePage(bytes: Array[Byte], body: Int, expected: Int, kind: ModuleKind): Unit = {
    val found = end(bytes, body, expected, Limits.PageBytes, kind)
    if (found != expected)
      throw PmeErrors.damaged(
        where,
        s"the length of a ${kind.name} is ${found - body - ModuleFrame.LengthBytes} bytes, but its header states ${expected - body - ModuleFrame.LengthBytes}"
      )
  }

  /** As [[open]], for the page whose header states that its body reaches from `body` to `end`. */
  def openPage(bytes: Array[Byte], body: Int, end: Int, kind: ModuleKind, page: Int): Int = {
    requirePage(bytes, body, end, kind)
    open(bytes, body, end, kind, page)
  }

  /**
   * Opens the module from `at` to `end`, including its length field.
   *
   * @return the length of [[plaintext]]
   */
  def open(bytes: Array[Byte], at: Int, end: Int, kind: ModuleKind, page: Int): Int = {
    val size = end - at - cipher.overheadBytes
    if (scratch.length < size) scratch = new Array[Byte](Modules.roomFor(size))
    open(bytes, at, end, kind, page, scratch, 0)
  }

  /** As [[open]], into an array of the caller that has room for the plaintext. */
  def open(
      bytes: Array[Byte],
      at: Int,
      end: Int,
      kind: ModuleKind,
      page: Int,
      out: Array[Byte],
      outOffset: Int
  ): Int = {
    if (page > ModuleAad.MaxOrdinal)
      throw PmeErrors.damaged(
        where,
        s"it has more pages than an encrypted file can have (${ModuleAad.MaxOrdinal})"
      )
    val aadLength = aad.select(kind, page)
    counters.modules.increment()
    val start = at + ModuleFrame.LengthBytes
    try cipher.open(bytes, start, end - start, aad.bytes, aadLength, out, outOffset)
    catch {
      case failed: AEADBadTagException =>
        val which = if (kind == ModuleKind.DataPage || kind == ModuleKind.DataPageHeader) s" $page" else ""
        throw PmeErrors.notAuthentic(where, s"its ${kind.name}$which", failed)
      case failed: GeneralSecurityException =>
        throw PmeErrors.damaged(where, s"its ${kind.name} cannot be decrypted", failed)
    }
  }
}

private[parquet] object Modules {

  /** Leaves room to grow, so that a page a little larger than the last needs no new array. */
  def roomFor(size: Int): Int = (size.toLong + size / 4 + 64).min((Int.MaxValue - 8).toLong).toInt.max(size)
}
