package io.pmeparquet.parquet.chunk

import java.util.PrimitiveIterator

import scala.collection.JavaConverters._

import org.apache.parquet.internal.filter2.columnindex.RowRanges

/** Rows of one row group, as ordered ranges that do not touch: `from(i)` to `to(i)`, both included. */
final class Rows private (from: Array[Long], to: Array[Long]) {
  val count: Long = from.indices.foldLeft(0L)((sum, i) => sum + to(i) - from(i) + 1)

  def isEmpty: Boolean = from.isEmpty

  /** Whether any of the rows is between two rows, both included. */
  def overlaps(first: Long, last: Long): Boolean = {
    val found = java.util.Arrays.binarySearch(to, first)
    val at = if (found >= 0) found else -found - 1
    at < to.length && from(at) <= last
  }

  def iterator: PrimitiveIterator.OfLong = new PrimitiveIterator.OfLong {
    private var range = 0
    private var row = if (from.isEmpty) 0L else from(0)

    override def hasNext: Boolean = range < from.length

    override def nextLong(): Long = {
      if (!hasNext) throw new NoSuchElementException
      val current = row
      if (row < to(range)) row += 1
      else {
        range += 1
        if (range < from.length) row = from(range)
      }
      current
    }

    override def next(): java.lang.Long = nextLong()
  }

  override def equals(other: Any): Boolean = other match {
    case that: Rows => iterator.asScala.map(_.longValue).toSeq == that.iterator.asScala.map(_.longValue).toSeq
    case _ => false
  }

  override def hashCode(): Int = count.toInt

  override def toString: String = from.indices.map(i => s"${from(i)}-${to(i)}").mkString("Rows(", ", ", ")")
}

object Rows {
  def of(ranges: RowRanges): Rows = {
    val all = ranges.getRanges.asScala
    new Rows(all.map(_.from).toArray, all.map(_.to).toArray)
  }

  /** Collects rows that are added in order. */
  final class Builder {
    private val from = Array.newBuilder[Long]
    private val to = Array.newBuilder[Long]
    private var first = -1L
    private var last = -2L

    def add(row: Long): Unit = {
      if (row != last + 1) {
        close()
        first = row
      }
      last = row
    }

    private def close(): Unit = if (first >= 0) {
      from += first
      to += last
    }

    def result(): Rows = {
      close()
      first = -1
      new Rows(from.result(), to.result())
    }
  }
}
