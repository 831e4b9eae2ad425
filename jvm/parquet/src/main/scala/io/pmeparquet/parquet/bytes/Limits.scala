package io.pmeparquet.parquet.bytes

/**
 * What a file may claim before we believe it. A length read from a file is checked against one of these and against what
 * is left of the place it was read in, before anything of that length is allocated.
 */
private[parquet] object Limits {
  private val Mebibyte = 1024 * 1024

  /** `FileCryptoMetaData` holds an algorithm and key metadata. */
  val CryptoMetadataBytes: Int = Mebibyte

  /**
   * A footer of a table of ten thousand columns and a thousand row groups stays below 512 MiB. Thrift makes objects of
   * some thirty times its size of a footer, so in a small heap less is allowed.
   */
  val FooterLength: Int = fraction(32, 512 * Mebibyte)

  /** A page header may hold the smallest and largest value of its page. */
  val PageHeaderBytes: Int = 16 * Mebibyte

  /** What a page may say it decompresses to. */
  val PageBytes: Int = fraction(4, Int.MaxValue - 8)

  /** What the pages of a row group's columns take that are open at the same time. */
  val OpenPagesBytes: Long = Runtime.getRuntime.maxMemory / 2

  /** A dictionary's values become an object each; writers give up dictionaries of more than some MiB. */
  val DictionaryBytes: Int = fraction(16, 256 * Mebibyte)

  /** Index and Bloom filter modules. */
  val IndexBytes: Int = fraction(8, 256 * Mebibyte)

  /** Structs within structs; Parquet's own go eight deep. */
  val ThriftDepth = 32

  /** Structs, lists, their elements and strings of a Thrift structure, which take some hundred bytes each. */
  val ThriftObjects: Int = fraction(800, Int.MaxValue)

  private def fraction(of: Int, most: Int): Int = (Runtime.getRuntime.maxMemory / of).min(most.toLong).toInt
}
