package io.pmeparquet.parquet.chunk

import org.apache.parquet.format.{PageHeader, PageType}

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.Segment

/**
 * A page whose header is decrypted and parsed.
 *
 * @param body the index at which its body begins in the array of its place
 */
private[parquet] final class OpenedHeader(val header: PageHeader, val place: PagePlace, val body: Int) {
  def headerBytes: Int = body - place.index

  /** The same page, in a segment that has more of its bytes. */
  def in(segment: Segment): OpenedHeader = {
    val moved = place.copy(segment = segment)
    new OpenedHeader(header, moved, moved.index + headerBytes)
  }

  def isDictionary: Boolean =
    header.getType == PageType.DICTIONARY_PAGE && header.isSetDictionary_page_header

  def kind: ModuleKind = if (isDictionary) ModuleKind.DictionaryPage else ModuleKind.DataPage

  def isV1: Boolean = header.getType == PageType.DATA_PAGE && header.isSetData_page_header
  def isV2: Boolean = header.getType == PageType.DATA_PAGE_V2 && header.isSetData_page_header_v2

  /** The number of values in a data page's header. */
  def values: Int =
    if (isV2) header.getData_page_header_v2.getNum_values else header.getData_page_header.getNum_values
}
