package io.pmeparquet.parquet.chunk

import scala.collection.mutable

import org.apache.parquet.column.page.DictionaryPage
import org.apache.parquet.hadoop.metadata.ColumnPath

/**
 * The dictionaries of one row group. It decrypts each once, though filters, the columns of a condition and the scan
 * each ask for it. For one thread.
 */
private[parquet] final class Dictionaries {
  private val opened = mutable.Map.empty[ColumnPath, Dictionaries.Opened]

  def find(column: ColumnPath): Option[Dictionaries.Opened] = opened.get(column)

  def keep(column: ColumnPath, page: DictionaryPage, length: Int): Unit =
    opened(column) = Dictionaries.Opened(page, length)
}

private[parquet] object Dictionaries {

  /** @param length the length of the page in the file, with its header */
  final case class Opened(page: DictionaryPage, length: Int)
}
