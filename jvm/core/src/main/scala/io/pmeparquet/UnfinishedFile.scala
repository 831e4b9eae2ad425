package io.pmeparquet

import java.util.UUID

/** A file on which readers fail, as long as a copy of a table has not ended. */
private[pmeparquet] object UnfinishedFile {

  /** Sorts before the names of data files, so a listing that comes in pages has it on the first one. */
  val Prefix = "0-unfinished-copy-"
  private val Name = s"${Prefix}[0-9a-f-]{36}\\.parquet"

  def fresh(): String = s"$Prefix${UUID.randomUUID()}.parquet"

  def is(path: String): Boolean = path.substring(path.lastIndexOf('/') + 1).matches(Name)
}
