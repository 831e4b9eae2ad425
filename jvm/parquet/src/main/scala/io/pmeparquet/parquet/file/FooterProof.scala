package io.pmeparquet.parquet.file

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, Limits, ReadCounters, Segment}
import io.pmeparquet.parquet.chunk.Chunk

/**
 * Proves that an encrypted footer is a footer if only the file states its AAD prefix: another module must open under
 * the same AAD. If `FooterPolicy.isUnproven`, this comes before anything that the footer states is believed.
 */
private[parquet] object FooterProof {

  /** @throws io.pmeparquet.PmeException if no module can prove it, or one does not open */
  def require(file: OpenFile, bytes: FileBytes, counters: ReadCounters): Unit =
    (0 until file.rowGroupCount).find(file.rowCount(_) > 0).foreach { group =>
      val shown =
        file.sealedColumns(group, withFooterKey = true).exists(opensPage(file, bytes, group, _, counters)) ||
          file.sealedColumns(group, withFooterKey = false).exists(opensMetadata(file, group, _, counters))
      if (!shown) throw PmeErrors.unprovenPrefix(file.version.path.toString)
    }

  /** Whether the column has a page in this row group; its header then has opened. */
  private def opensPage(
      file: OpenFile,
      bytes: FileBytes,
      group: Int,
      column: Seq[String],
      counters: ReadCounters
  ): Boolean = {
    val chunk = file.chunks(group, Seq(column), counters).chunks.head
    chunk.meta.getValueCount > 0 && file.modules(chunk, counters).exists { modules =>
      val segment = firstModule(file, bytes, chunk)
      val kind =
        if (chunk.mayHaveDictionary) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader
      val headers = modules.headers
      headers.open(
        segment.array,
        segment.at,
        headers.end(segment.array, segment.at, segment.until, Limits.PageHeaderBytes, kind),
        kind,
        page = 0
      )
      true
    }
  }

  private def firstModule(file: OpenFile, bytes: FileBytes, chunk: Chunk): Segment = {
    val all = file.rangeOf(chunk)
    def first(length: Long) = bytes.read(all.copy(length = length.min(all.length.toLong).toInt))
    val usual = first(UsualBytes)
    val frame =
      if (usual.length < ModuleFrame.LengthBytes) 0L
      else ModuleFrame.LengthBytes + ModuleFrame.lengthAt(usual.array, usual.at).toLong
    if (frame <= usual.length) usual
    else first(frame.min(Limits.PageHeaderBytes.toLong + ModuleFrame.GcmOverheadBytes))
  }

  /** Whether the column's key is available; its metadata then has opened. */
  private def opensMetadata(
      file: OpenFile,
      group: Int,
      column: Seq[String],
      counters: ReadCounters
  ): Boolean =
    try {
      file.chunks(group, Seq(column), counters)
      true
    } catch { case failed: PmeException if NoKey.contains(failed.condition) => false }

  private val NoKey = Set[Condition](Condition.KeyDenied, Condition.KeyNotFound, Condition.KmsUnavailable)

  /** Page headers are short, unless they have long statistics. */
  private val UsualBytes = 1024L
}
