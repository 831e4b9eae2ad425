package io.pmeparquet.parquet.storage

import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.FileVersion

/** A file from a listing, and whether there is key material next to it. */
final case class ListedFile(path: String, length: Long, modified: Long, hasExternalMaterial: Boolean) {
  private[parquet] def version: FileVersion = FileVersion(new Path(path), length, modified)()
}
