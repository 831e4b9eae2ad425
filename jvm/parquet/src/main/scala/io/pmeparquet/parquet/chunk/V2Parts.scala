package io.pmeparquet.parquet.chunk

import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.PmeErrors

/**
 * The parts of a V2 data page: its levels, which are not compressed, and its values, which may be.
 *
 * @param levels the array that holds the levels from `levelsAt` on, repetition levels first
 * @param values the array that holds the values from `valuesAt` on, still compressed
 */
private[parquet] final class V2Parts(
    val levels: Array[Byte],
    val levelsAt: Int,
    val values: Array[Byte],
    val valuesAt: Int,
    val valuesLength: Int
)

/**
 * The two layouts of encrypted V2 pages. Arrow encrypts levels and values as one module; parquet-java leaves the levels
 * before the module, readable and unauthenticated. The place of a module whose length fits shows which layout a page
 * has.
 */
private[parquet] object V2Parts {
  def of(
      source: ChunkSource,
      place: PagePlace,
      body: Int,
      end: Int,
      levelBytes: Int,
      allowClearLevels: Boolean
  ): V2Parts = {
    val bytes = place.segment.array
    val page = place.ordinal
    def tooShort = PmeErrors.damaged(source.where, s"its page $page is shorter than its levels")
    source.modules match {
      case None =>
        if (end - body < levelBytes) throw tooShort
        new V2Parts(bytes, body, bytes, body + levelBytes, end - body - levelBytes)
      case Some(ciphers) if isInside(bytes, body, end) =>
        val modules = ciphers.pages
        modules.pageEnd(bytes, body, end, ModuleKind.DataPage)
        val length = modules.open(bytes, body, end, ModuleKind.DataPage, page)
        if (length < levelBytes) throw tooShort
        // Copied, since the next page is decrypted into the same array while a reader may still use these levels.
        val plain = java.util.Arrays.copyOf(modules.plaintext, length)
        new V2Parts(plain, 0, plain, levelBytes, length - levelBytes)
      case Some(ciphers) =>
        val modules = ciphers.pages
        if (levelBytes > 0 && !allowClearLevels)
          throw PmeErrors.clearLevels(source.file, source.chunk.display)
        if (end - body < levelBytes) throw tooShort
        val module = body + levelBytes
        modules.pageEnd(bytes, module, end, ModuleKind.DataPage)
        val length = modules.open(bytes, module, end, ModuleKind.DataPage, page)
        new V2Parts(bytes, body, modules.plaintext, 0, length)
    }
  }

  /**
   * Whether a module begins where the page does and takes all of it: then the levels are inside, as Arrow writes them.
   */
  def isInside(bytes: Array[Byte], at: Int, end: Int): Boolean =
    end - at >= ModuleFrame.LengthBytes && ModuleFrame.lengthAt(
      bytes,
      at
    ) == end - at - ModuleFrame.LengthBytes
}
