package io.pmeparquet.snapshot.xskipper

import java.nio.{ByteBuffer, ByteOrder}

/** As `BloomFilter.create` of Spark's sketches makes it, up to Spark 4.0. */
private[xskipper] final class SparkSketch(ndv: Long, fpp: Double) {
  private val stated = (-ndv * Math.log(fpp) / (Math.log(2) * Math.log(2))).toLong
  private val functions = Math.max(1L, Math.round(stated.toDouble / ndv * Math.log(2))).toInt
  private val words = new Array[Long](Math.max(1, Math.ceil(stated / 64.0).toInt))

  /** @param hash as [[SparkSketch.hash]] makes it */
  def put(hash: Long): Unit = {
    val bits = words.length * 64L
    val first = (hash >>> 32).toInt
    val second = hash.toInt
    var at = 1
    while (at <= functions) {
      val sum = first + at * second
      val bit = (if (sum < 0) ~sum else sum) % bits
      words((bit >>> 6).toInt) |= 1L << bit
      at += 1
    }
  }

  /** As `writeTo` writes it: format version, number of hash functions, number of words, words. */
  def bytes: Array[Byte] = {
    val out = ByteBuffer.allocate(12 + 8 * words.length).putInt(1).putInt(functions).putInt(words.length)
    words.foreach(out.putLong(_))
    out.array
  }
}

/** What goes into a [[SparkSketch]]: two hashes of a value by Murmur3 of 32 bits, the second with the first as its seed. */
private[pmeparquet] object SparkSketch {

  /** How many values a filter can have that is not longer than an index of a class of the user's. */
  def mostValues(fpp: Double): Long =
    ((MostBytes - 12) * 8L * (Math.log(2) * Math.log(2)) / -Math.log(fpp)).toLong - 64

  private val MostBytes = 128 * 1024

  /** None for a text that is not UTF-8. */
  private[xskipper] def hash(value: Any): Option[Long] = value match {
    case number: Integer => Some(both(ofLong(number.toLong, _)))
    case number: java.lang.Long => Some(both(ofLong(number, _)))
    case text: Array[Byte] => StoredSummary.text(text).map(_ => both(ofBytes(text, _)))
    case other => throw new IllegalStateException(s"internal error: a sketch of ${other.getClass.getName}")
  }

  private def both(hash: Int => Int): Long = {
    val first = hash(0)
    (first.toLong << 32) | (hash(first) & 0xffffffffL)
  }

  private def ofLong(value: Long, seed: Int): Int =
    ended(added(added(seed, value.toInt), (value >>> 32).toInt), 8)

  /** Each byte after the last whole word is a word of its own. */
  private def ofBytes(bytes: Array[Byte], seed: Int): Int = {
    val words = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)
    var hash = seed
    while (words.remaining >= Integer.BYTES) hash = added(hash, words.getInt())
    while (words.hasRemaining) hash = added(hash, words.get().toInt)
    ended(hash, bytes.length)
  }

  private def added(hash: Int, word: Int): Int =
    Integer.rotateLeft(hash ^ (Integer.rotateLeft(word * 0xcc9e2d51, 15) * 0x1b873593), 13) * 5 + 0xe6546b64

  private def ended(hash: Int, length: Int): Int = {
    val first = (hash ^ length) ^ ((hash ^ length) >>> 16)
    val second = first * 0x85ebca6b
    val third = (second ^ (second >>> 13)) * 0xc2b2ae35
    third ^ (third >>> 16)
  }
}
