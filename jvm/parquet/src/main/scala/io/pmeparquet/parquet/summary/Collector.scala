package io.pmeparquet.parquet.summary

import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable

import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter
import org.apache.parquet.io.api.Binary

import io.pmeparquet.parquet.schema.Comparison

/** Summarizes the values of a column of one file, one after the other. */
private[summary] trait Collector {

  /** @param value not null */
  def add(value: AnyRef): Unit

  /** Whether there will be no summary, whatever comes. */
  def gaveUp: Boolean

  /** After all values. */
  def result(nulls: Long): Option[ColumnSummary]
}

/** The distinct values, unless they are more than `max`, or long. */
private[summary] final class ListCollector(max: Int) extends Collector {
  import ListCollector._

  private val values = mutable.LinkedHashMap.empty[AnyRef, Array[Byte]]
  private var bytes = 0
  private var isOver = false

  override def gaveUp: Boolean = isOver

  override def add(value: AnyRef): Unit = if (!isOver && !values.contains(value)) {
    val plain = plainOf(value)
    bytes += plain.length
    isOver = values.size == max || plain.length > MaxValueBytes || bytes > MaxBytes || Comparison.isNaN(value)
    value match {
      // A value of the reader holds its whole page.
      case _: Binary => values(Binary.fromConstantByteArray(plain)) = plain
      case other => values(other) = plain
    }
  }

  override def result(nulls: Long): Option[ColumnSummary] =
    if (isOver) None else Some(ColumnSummary.ValueList(values.values.toList, nulls))
}

private[summary] object ListCollector {
  val MaxValueBytes: Int = 1024
  val MaxBytes: Int = 64 * 1024

  private def plainOf(value: AnyRef): Array[Byte] = value match {
    case int: Integer => little(Integer.BYTES).putInt(int).array
    case long: java.lang.Long => little(java.lang.Long.BYTES).putLong(long).array
    case float: java.lang.Float => little(java.lang.Float.BYTES).putFloat(float).array
    case double: java.lang.Double => little(java.lang.Double.BYTES).putDouble(double).array
    case boolean: java.lang.Boolean => Array((if (boolean) 1 else 0).toByte)
    case binary: Binary => binary.getBytes
    case other => throw new IllegalStateException(s"internal error: a value is a ${other.getClass.getName}")
  }

  private def little(bytes: Int) = ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN)
}

/** A filter of all values, as large as the number of distinct ones requires: stated, or else counted. */
private[summary] final class BloomCollector(fpp: Double, ndv: Option[Long]) extends Collector {
  private val hasher = new BlockSplitBloomFilter(new Array[Byte](SplitBlocks.BlockBytes))
  private val most = SplitBlocks.mostValues(fpp)
  private val counted = new DistinctHashes
  // Made when its size is known. With more distinct values than `most` that is the largest.
  private var made: Option[Filter] = ndv.map(stated => new Filter(SplitBlocks.bytesFor(stated, fpp)))
  private var hasNaN = false

  override def gaveUp: Boolean = hasNaN

  override def add(value: AnyRef): Unit =
    if (Comparison.isNaN(value)) hasNaN = true
    else {
      val hash = hasher.hash(value)
      made match {
        case Some(filter) => filter.insert(hash)
        case None =>
          counted.add(hash)
          if (counted.size > most) made = Some(ofCounted(SplitBlocks.MaxBytes))
      }
    }

  private def ofCounted(bytes: Int) = {
    val filter = new Filter(bytes)
    counted.foreach(filter.insert)
    filter
  }

  override def result(nulls: Long): Option[ColumnSummary] = {
    val filter = made.getOrElse(ofCounted(SplitBlocks.bytesFor(counted.size.toLong, fpp)))
    if (hasNaN || SplitBlocks.falsePositives(filter.bits) > SplitBlocks.MostFalsePositives) None
    else Some(ColumnSummary.Bloom(filter.bits, nulls))
  }

  private final class Filter(bytes: Int) {
    val bits = new Array[Byte](bytes)
    private val filter = new BlockSplitBloomFilter(bits)
    def insert(hash: Long): Unit = filter.insertHash(hash)
  }
}

/** A set of hashes, without an object for each. */
private[pmeparquet] final class DistinctHashes {
  private var slots = new Array[Long](1024)
  private var hasZero = false
  private var used = 0

  def size: Int = used + (if (hasZero) 1 else 0)

  def add(hash: Long): Unit =
    // An empty slot is zero.
    if (hash == 0) hasZero = true
    else if (insert(slots, hash)) {
      used += 1
      if (used * 2 > slots.length) grow()
    }

  def foreach(use: Long => Unit): Unit = {
    if (hasZero) use(0)
    slots.foreach(hash => if (hash != 0) use(hash))
  }

  private def grow(): Unit = {
    val larger = new Array[Long](slots.length * 2)
    slots.foreach(hash => if (hash != 0) insert(larger, hash))
    slots = larger
  }

  private def insert(into: Array[Long], hash: Long): Boolean = {
    val mask = into.length - 1
    var at = hash.toInt & mask
    while (into(at) != 0 && into(at) != hash) at = (at + 1) & mask
    val isNew = into(at) == 0
    into(at) = hash
    isNew
  }
}
