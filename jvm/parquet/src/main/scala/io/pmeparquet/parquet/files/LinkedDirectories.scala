package io.pmeparquet.parquet.files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * Finds links among the directories of a table. Listings follow them, which is right for readers, but a run that
 * changes files would change those of another place.
 */
object LinkedDirectories {

  /**
   * @param table the table as the user named it: a directory, which may be a link, or one file. The path above it is
   *   not checked
   * @param files the files below it
   */
  def first(table: Path, files: Seq[Path], conf: Configuration): Option[Path] = {
    // Compares depths: a file is not above itself, and the walk ends however a listing spells the table's name.
    def upTo(directory: Path) =
      Iterator.iterate(directory)(_.getParent).takeWhile(one => one != null && one.depth > table.depth)
    files.map(_.getParent).distinct.flatMap(upTo).distinct.find(OwnFiles.find(_, conf) == Found.Other)
  }
}
