package io.pmeparquet.parquet.chunk

import scala.collection.mutable

import org.apache.parquet.column.page.DictionaryPage
import org.apache.parquet.hadoop.metadata.ColumnPath

/**
 * The dictionaries of one row group. Each is decrypted once, although filters, the columns of a condition and the scan
 * ask for it one after the other. For one thread.
 */
private[parquet] final class Dictionaries {
  private val opened = mutable.Map.empty[ColumnPath, Dictionaries.Opened]

  def find(column: ColumnPath): Option[Dictionaries.Opened] = opened.get(column)

  def keep(column: ColumnPath, page: DictionaryPage, length: Int): Unit =
    opened(column) = Dictionaries.Opened(page, length)
}

private[parquet] object Dictionaries {

  /** @param length of the page in the file, including its header */
  final case class Opened(page: DictionaryPage, length: Int)
}
