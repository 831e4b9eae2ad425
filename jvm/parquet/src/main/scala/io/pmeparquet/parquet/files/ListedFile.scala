package io.pmeparquet.parquet.files

import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.FileVersion

/** A file from a listing, and whether there is key material beside it. */
final case class ListedFile(path: String, length: Long, modified: Long, hasMaterialBeside: Boolean) {
  private[parquet] def version: FileVersion = FileVersion(new Path(path), length, modified)()
}
