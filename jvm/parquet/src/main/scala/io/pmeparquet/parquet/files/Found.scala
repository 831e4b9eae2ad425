package io.pmeparquet.parquet.files

/** What exists at a path. */
private[pmeparquet] sealed trait Found

private[pmeparquet] object Found {
  case object Nothing extends Found
  case object Directory extends Found
  final case class File(length: Long) extends Found

  /** A link, or anything else that is neither a file nor a directory. */
  case object Other extends Found
}
