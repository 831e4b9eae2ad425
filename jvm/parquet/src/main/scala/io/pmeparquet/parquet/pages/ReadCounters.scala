package io.pmeparquet.parquet.pages

import java.util.concurrent.atomic.LongAdder

/** What reading costs, counted: unlike times, these numbers are the same in every run. */
final class ReadCounters {

  /** Requests to the file system for bytes, and the bytes they brought. */
  val reads = new LongAdder
  val bytes = new LongAdder

  /** Modules decrypted, by GCM or CTR. */
  val modules = new LongAdder
  val footers = new LongAdder

  /** Data keys got from key metadata. */
  val keys = new LongAdder

  override def toString: String =
    s"reads=${reads.sum} bytes=${bytes.sum} modules=${modules.sum} footers=${footers.sum} keys=${keys.sum}"
}
