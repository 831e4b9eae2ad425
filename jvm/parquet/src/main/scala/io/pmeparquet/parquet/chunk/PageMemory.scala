package io.pmeparquet.parquet.chunk

import io.pmeparquet.parquet.bytes.Limits
import io.pmeparquet.PmeErrors

/** Counts the memory of the open pages of one row group's columns together. For one thread. */
private[parquet] final class PageMemory {
  private var taken = 0L

  /** @throws io.pmeparquet.PmeException if a page is larger than what the others leave */
  def exchange(before: Long, after: Long, where: String): Unit = {
    taken += after - before
    if (taken > Limits.OpenPagesBytes)
      throw PmeErrors.damaged(
        where,
        s"a page states a decompressed size with which the open pages of the row group take $taken bytes; with this heap size at most ${Limits.OpenPagesBytes} are accepted"
      )
  }
}
