package io.pmeparquet.parquet.bytes

/**
 * The largest values that a file may claim. Code checks a length from a file against one of these, and against what is
 * left of the place where the length was read, before it allocates that much.
 */
private[parquet] object Limits {
  private val Mebibyte = 1024 * 1024

  /** `FileCryptoMetaData` holds an algorithm and key metadata. */
  val CryptoMetadataBytes: Int = Mebibyte

  /**
   * A footer of a table with ten thousand columns and a thousand row groups stays below 512 MiB. Thrift's objects take
   * about thirty times the size of the footer, so a small heap allows less.
   */
  val FooterLength: Int = fraction(32, 512 * Mebibyte)

  /** A page header may hold the smallest and largest value of its page. */
  val PageHeaderBytes: Int = 16 * Mebibyte

  /** The most that a page may claim to decompress to. */
  val PageBytes: Int = fraction(4, Int.MaxValue - 8)

  /** The most memory that the open pages of a row group's columns take at the same time. */
  val OpenPagesBytes: Long = Runtime.getRuntime.maxMemory / 2

  /** Each value of a dictionary becomes an object; writers give up dictionaries of more than a few MiB. */
  val DictionaryBytes: Int = fraction(16, 256 * Mebibyte)

  /** Index and Bloom filter modules. */
  val IndexBytes: Int = fraction(8, 256 * Mebibyte)

  /** Nesting of structs; Parquet's own structs nest eight deep. */
  val ThriftDepth = 32

  /** Structs, lists, list elements and strings of a Thrift structure. Each takes about a hundred bytes. */
  val ThriftObjects: Int = fraction(800, Int.MaxValue)

  private def fraction(of: Int, most: Int): Int = (Runtime.getRuntime.maxMemory / of).min(most.toLong).toInt
}
