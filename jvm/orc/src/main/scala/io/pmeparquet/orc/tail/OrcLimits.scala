package io.pmeparquet.orc.tail

/**
 * The largest values that an ORC file may claim. Code checks a length from a file against one of these, and against what
 * is left of the place where the length was read, before it allocates that much.
 */
private[tail] object OrcLimits {
  private val Mebibyte = 1024 * 1024

  /** The headers of compressed chunks have 23 bits for a length. */
  val BlockBytes: Int = 8 * Mebibyte

  /** A footer, stored and decompressed. One of ten thousand columns and a thousand stripes stays below it. */
  val FooterBytes: Int = fraction(16, 64 * Mebibyte)

  /** A stripe footer, stored and decompressed. */
  val StripeFooterBytes: Int = fraction(32, 16 * Mebibyte)

  /** Everything after the last stripe, which ORC's reader holds in memory: also statistics of stripes. */
  val TailBytes: Int = fraction(4, 1024 * Mebibyte)

  /** The encrypted statistics of a file, decompressed. */
  val StatisticsBytes: Int = fraction(32, 16 * Mebibyte)

  /** Writers fill each compressed chunk of a footer, so many chunks mean that somebody wants to keep a reader busy. */
  val Chunks: Int = 64 * 1024

  /** Messages, texts, byte strings and unknown fields of a structure. Each takes about a hundred bytes. */
  val Objects: Int = fraction(800, Int.MaxValue)

  /** A table of ten thousand columns is very wide. `inspect` has the same limit. */
  val Columns = 50 * 1000

  /** For each column of a file. Mostly a column has one, and its parents have none. */
  val VariantsOfColumn = 2

  /** The columns of all encryption variants together. Each variant has those in its root as well. */
  val VariantColumns: Int = 20 * Columns

  /** The nesting of types; ORC's reader calls itself for each level. */
  val TypeDepth = 100

  /** The ids of columns and stripes are part of the initialization vector, where each has 24 bits. */
  val Id = 0xffffff

  /** Our own provider keeps the key material of a local key in it. */
  val LocalKeyBytes: Int = 4 * 1024

  val NameBytes: Int = 64 * 1024

  val TimeZoneBytes = 256

  /** Spark parses the attribute with its type by a parser that calls itself for each level. */
  val SparkTypeChars = 1024

  /** ORC's reader has an entry for each row group of a stripe. */
  val RowGroups: Int = fraction(1024, 1024 * 1024)

  /** ORC's reader has an array of as many offsets as a dictionary states entries. */
  val DictionaryEntries: Int = fraction(64, Int.MaxValue - 8)

  private def fraction(of: Int, most: Int): Int = (Runtime.getRuntime.maxMemory / of).min(most.toLong).toInt
}
