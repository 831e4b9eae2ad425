package io.pmeparquet

import java.util.UUID

/** A file on which readers fail, as long as a copy or a compaction of a table has not ended. */
private[pmeparquet] object UnfinishedFile {

  /** Sorts before the names of data files, so a listing that comes in pages has it on the first one. */
  val Prefix = "0-unfinished-copy-"
  private val Name = s"${Prefix}[0-9a-f-]{36}\\.parquet"

  def fresh(): String = s"$Prefix${UUID.randomUUID()}.parquet"

  /** @param id of the run, a UUID */
  def ofCompaction(id: String): String = s"$CompactionPrefix$id.parquet"

  def isOfCompaction(path: String): Boolean =
    path.substring(path.lastIndexOf('/') + 1).matches(s"$CompactionPrefix[0-9a-f-]{36}\\.parquet")

  private val CompactionPrefix = "0-unfinished-compaction-"

  def is(path: String): Boolean = path.substring(path.lastIndexOf('/') + 1).matches(Name)
}
