package io.pmeparquet.parquet.chunk

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.PmeErrors

/** Decrypts and decompresses the bodies of one chunk's pages, except V2 data pages ([[V2Parts]]). For one thread. */
private[chunk] final class PageContent(source: ChunkSource, codec: Codec) {
  import source.{modules, where}

  /** Puts a page's body into `out`, which has room for `size` bytes. */
  def into(
      place: PagePlace,
      body: Int,
      end: Int,
      kind: ModuleKind,
      size: Int,
      out: Array[Byte]
  ): Unit = {
    val array = place.segment.array
    modules match {
      case None => Codecs.run(where, codec, array, body, end - body, out, 0, size)
      case Some(ciphers) =>
        val module = ciphers.pages.pageEnd(array, body, end, kind)
        if (codec.isNone) {
          if (end - body - ciphers.pages.overheadBytes != size)
            throw PmeErrors.damaged(
              where,
              s"a page has ${end - body - ciphers.pages.overheadBytes} bytes, but its header states $size"
            )
          ciphers.pages.open(array, body, module, kind, place.ordinal, out, 0)
        } else {
          val length = ciphers.pages.open(array, body, module, kind, place.ordinal)
          Codecs.run(where, codec, ciphers.pages.plaintext, 0, length, out, 0, size)
        }
    }
    ()
  }
}
