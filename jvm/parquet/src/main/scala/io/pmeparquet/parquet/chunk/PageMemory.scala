package io.pmeparquet.parquet.pages

import io.pmeparquet.PmeErrors

/** Counts what the open pages of one row group's columns take, together. For one thread. */
private[parquet] final class PageMemory {
  private var taken = 0L

  /** @throws io.pmeparquet.PmeException where a page is larger than what the others leave */
  def exchange(before: Long, after: Long, where: String): Unit = {
    taken += after - before
    if (taken > Limits.OpenPagesBytes)
      throw PmeErrors.damaged(
        where,
        s"a page says it decompresses to so much that it and those of the columns beside it take $taken bytes, where at most ${Limits.OpenPagesBytes} are believed in a heap of this size"
      )
  }
}
