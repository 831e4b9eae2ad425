package io.pmeparquet.snapshot.xskipper

import java.nio.ByteBuffer

import org.apache.parquet.io.api.Binary

/** Spark's sketches of format version 1, from their description: 32-bit Murmur3, twice, and `i`-fold sums of both. */
object TestSketches extends SketchLookup {
  override def open(filter: Array[Byte]): Any => Boolean = {
    val in = ByteBuffer.wrap(filter)
    require(in.getInt() == 1)
    val functions = in.getInt()
    val words = Array.fill(in.getInt())(in.getLong())
    value => {
      def hash(seed: Int) = value match {
        case text: Binary => ofBytes(text.getBytes, seed)
        case number: Long => ofLong(number, seed)
        case other => throw new IllegalArgumentException(other.toString)
      }
      val first = hash(0)
      val second = hash(first)
      (1 to functions).forall { step =>
        val sum = first + step * second
        val bit = (if (sum < 0) ~sum else sum) % (words.length.toLong * 64)
        (words((bit >>> 6).toInt) & (1L << bit)) != 0
      }
    }
  }

  private def mixed(word: Int): Int = Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593
  private def added(hash: Int, word: Int): Int = Integer.rotateLeft(hash ^ mixed(word), 13) * 5 + 0xe6546b64

  private def ended(hash: Int, length: Int): Int = {
    val first = (hash ^ length) ^ ((hash ^ length) >>> 16)
    val second = first * 0x85ebca6b
    val third = (second ^ (second >>> 13)) * 0xc2b2ae35
    third ^ (third >>> 16)
  }

  private def ofLong(value: Long, seed: Int): Int =
    ended(added(added(seed, value.toInt), (value >>> 32).toInt), 8)

  /** Each byte after the last whole word is a word of its own. */
  private def ofBytes(bytes: Array[Byte], seed: Int): Int = {
    val whole = bytes.length - bytes.length % 4
    val words = ByteBuffer.wrap(bytes, 0, whole).order(java.nio.ByteOrder.LITTLE_ENDIAN)
    val hash = (0 until whole / 4).foldLeft(seed)((hash, _) => added(hash, words.getInt()))
    ended(bytes.drop(whole).foldLeft(hash)((hash, byte) => added(hash, byte.toInt)), bytes.length)
  }
}
