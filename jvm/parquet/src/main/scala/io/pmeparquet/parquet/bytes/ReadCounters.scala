package io.pmeparquet.parquet.bytes

import java.util.concurrent.atomic.LongAdder

/**
 * Counts what reading costs: unlike times, these numbers are the same in every run.
 *
 * @param all counts everything that this one counts: a task's counters add to its scope's
 */
final class ReadCounters private (all: Option[ReadCounters]) {
  def this() = this(Some(ReadCounters.ofProcess))
  def this(all: ReadCounters) = this(Some(all))

  /** Read requests to the file system, and the bytes that they returned. */
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

object ReadCounters {

  /** Of all that this process reads, for the metrics of its engine. */
  val ofProcess: ReadCounters = new ReadCounters(None)
}

/** Any thread may add to it or read it. */
final class ReadCounter private[parquet] (all: Option[ReadCounter]) {
  private val counted = new LongAdder

  def add(more: Long): Unit = {
    counted.add(more)
    all.foreach(_.add(more))
  }

  def increment(): Unit = add(1)

  def sum: Long = counted.sum
}
