package io.pmeparquet.parquet.copy

/** Counts what was written for one file, or for several. */
final case class Copied(files: Long, rows: Long, pages: Long, bytes: Long) {
  def +(other: Copied): Copied =
    Copied(files + other.files, rows + other.rows, pages + other.pages, bytes + other.bytes)
}
