package io.pmeparquet

/** A file on which readers fail, as long as a copy of a table has not ended. */
private[pmeparquet] object UnfinishedFile {
  val Prefix = "unfinished-copy-"

  def is(path: String): Boolean = path.substring(path.lastIndexOf('/') + 1).startsWith(Prefix)
}
