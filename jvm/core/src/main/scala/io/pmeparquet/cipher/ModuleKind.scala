package io.pmeparquet.cipher

/** The kinds of encrypted modules, with the names and codes of specification §4.4.2. */
sealed abstract class ModuleKind(private[cipher] val code: Byte, val name: String) {

  /** Whether an ordinal distinguishes the pages of a chunk. */
  private[cipher] def hasPageOrdinal: Boolean = false
}

object ModuleKind {
  case object Footer extends ModuleKind(0, "footer")
  case object ColumnMetaData extends ModuleKind(1, "column metadata")
  case object DataPage extends ModuleKind(2, "data page") {
    override def hasPageOrdinal: Boolean = true
  }
  case object DictionaryPage extends ModuleKind(3, "dictionary page")
  case object DataPageHeader extends ModuleKind(4, "data page header") {
    override def hasPageOrdinal: Boolean = true
  }
  case object DictionaryPageHeader extends ModuleKind(5, "dictionary page header")
  case object ColumnIndex extends ModuleKind(6, "column index")
  case object OffsetIndex extends ModuleKind(7, "offset index")
  case object BloomFilterHeader extends ModuleKind(8, "Bloom filter header")
  case object BloomFilterBitset extends ModuleKind(9, "Bloom filter bitset")
}
