package io.pmeparquet.parquet.file

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, Limits, ReadCounters, Segment}
import io.pmeparquet.parquet.chunk.Chunk

/**
 * Shows that an encrypted footer is a footer, where only the file says what its AAD prefix is: by another module that
 * opens under the same AAD. Where `FooterPolicy.isUnproven` this comes before anything that the footer says is believed.
 */
private[parquet] object FooterProof {

  /** @throws io.pmeparquet.PmeException where no module is found that shows it, or one that does not open */
  def require(file: OpenFile, bytes: FileBytes, counters: ReadCounters): Unit =
    (0 until file.rowGroupCount).find(file.rowCount(_) > 0).foreach { group =>
      val shown =
        file.sealedColumns(group, withFooterKey = true).exists(opensPage(file, bytes, group, _, counters)) ||
          file.sealedColumns(group, withFooterKey = false).exists(opensMetadata(file, group, _, counters))
      if (!shown) throw PmeErrors.unprovenPrefix(file.version.path.toString)
    }

  /** Whether it has a page, whose header then opened. */
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

  /** Whether its key is to be had, with which its metadata then opened. */
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

  /** Page headers are short, but for those with long statistics. */
  private val UsualBytes = 1024L
}
