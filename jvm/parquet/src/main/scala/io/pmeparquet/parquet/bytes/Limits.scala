package io.pmeparquet.parquet.bytes

/**
 * The most that a file may claim before we trust it. A length from a file is checked against one of these and against
 * the bytes that are left, before anything of that length is allocated.
 */
private[parquet] object Limits {
  private val Mebibyte = 1024 * 1024

  /** `FileCryptoMetaData` holds an algorithm and key metadata. */
  val CryptoMetadataBytes: Int = Mebibyte

  /**
   * The footer of a table with ten thousand columns and a thousand row groups stays below 512 MiB. Thrift makes objects
   * of some thirty times the size of a footer, so a small heap allows less.
   */
  val FooterLength: Int = fraction(32, 512 * Mebibyte)

  /** A page header may contain the minimum and maximum of its page. */
  val PageHeaderBytes: Int = 16 * Mebibyte

  /** The decompressed size that a page may state. */
  val PageBytes: Int = fraction(4, Int.MaxValue - 8)

  /** The total size of the open pages of a row group's columns. */
  val OpenPagesBytes: Long = Runtime.getRuntime.maxMemory / 2

  /** Each value of a dictionary becomes an object; writers give up dictionaries of more than a few MiB. */
  val DictionaryBytes: Int = fraction(16, 256 * Mebibyte)

  /** Index and Bloom filter modules. */
  val IndexBytes: Int = fraction(8, 256 * Mebibyte)

  /** Structs within structs; Parquet's own go eight deep. */
  val ThriftDepth = 32

  /** Structs, lists, their elements and strings of a Thrift structure; each takes some hundred bytes. */
  val ThriftObjects: Int = fraction(800, Int.MaxValue)

  private def fraction(of: Int, most: Int): Int = (Runtime.getRuntime.maxMemory / of).min(most.toLong).toInt
}
