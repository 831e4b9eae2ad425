package io.pmeparquet.cipher

/**
 * The AAD of the modules of one column chunk, or of the footer (specification §4.4): file AAD ‖ kind ‖ row group ordinal ‖
 * column ordinal ‖ page ordinal, ordinals as two bytes, little endian. One array is reused for all modules of the chunk.
 *
 * @param fileAad AAD prefix ‖ aad_file_unique
 */
final class ModuleAad(fileAad: Array[Byte], rowGroup: Int, column: Int) {
  import ModuleAad._

  private val array = java.util.Arrays.copyOf(fileAad, fileAad.length + SuffixBytes)
  putShort(fileAad.length + RowGroupAt, rowGroup)
  putShort(fileAad.length + ColumnAt, column)

  /** The array that [[select]] fills; valid up to the length that it returns. */
  def bytes: Array[Byte] = array

  /** @return how many bytes of [[bytes]] are the AAD of this module */
  def select(kind: ModuleKind, page: Int): Int = {
    array(fileAad.length) = kind.code
    kind match {
      case ModuleKind.Footer => fileAad.length + RowGroupAt
      case _ if kind.hasPageOrdinal =>
        putShort(fileAad.length + PageAt, page)
        fileAad.length + SuffixBytes
      case _ => fileAad.length + PageAt
    }
  }

  private def putShort(at: Int, value: Int): Unit = {
    array(at) = value.toByte
    array(at + 1) = (value >> 8).toByte
  }
}

object ModuleAad {
  private val RowGroupAt = 1
  private val ColumnAt = 3
  private val PageAt = 5
  private val SuffixBytes = 7

  /** `aad_file_unique` follows the prefix in the file AAD (specification §4.4.1); its fixed length separates them. */
  val FileUniqueBytes = 8

  /** Whether the AAD of some module has this length in a file with a prefix of that length. */
  def canBe(aadBytes: Int, prefixBytes: Int): Boolean =
    Seq(RowGroupAt, PageAt, SuffixBytes).exists(prefixBytes + FileUniqueBytes + _ == aadBytes)

  /** Ordinals are signed 16-bit numbers (specification §4.4.2). */
  val MaxOrdinal: Int = Short.MaxValue

  def ofFooter(fileAad: Array[Byte]): ModuleAad = new ModuleAad(fileAad, 0, 0)
}

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
