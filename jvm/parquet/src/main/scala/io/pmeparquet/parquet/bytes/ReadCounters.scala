package io.pmeparquet.parquet.bytes

import java.util.concurrent.atomic.LongAdder

/**
 * Counts the cost of reading: unlike times, these numbers are the same in every run.
 *
 * @param all counts the same events for a larger unit: a task's counters add to the scope's
 */
final class ReadCounters(all: Option[ReadCounters]) {
  def this() = this(None)

  /** Requests to the file system for bytes, and the bytes read. */
  val reads: ReadCounter = new ReadCounter(all.map(_.reads))
  val bytes: ReadCounter = new ReadCounter(all.map(_.bytes))

  /** Modules decrypted, by GCM or CTR. */
  val modules: ReadCounter = new ReadCounter(all.map(_.modules))
  val footers: ReadCounter = new ReadCounter(all.map(_.footers))

  /** Data keys obtained from key metadata. */
  val keys: ReadCounter = new ReadCounter(all.map(_.keys))

  override def toString: String =
    s"reads=${reads.sum} bytes=${bytes.sum} modules=${modules.sum} footers=${footers.sum} keys=${keys.sum}"
}

/** Any thread may count and read. */
final class ReadCounter private[parquet] (all: Option[ReadCounter]) {
  private val counted = new LongAdder

  def add(more: Long): Unit = {
    counted.add(more)
    all.foreach(_.add(more))
  }

  def increment(): Unit = add(1)

  def sum: Long = counted.sum
}
