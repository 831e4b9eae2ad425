package io.pmeparquet.parquet.files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * Links among the directories of a table. Listings follow them, which is right for readers; an operation that changes
 * files would change those of another place.
 */
object LinkedDirectories {

  /**
   * @param table as the user named it: a directory, which may be a link, or one file; what is above it is not examined
   * @param files found below it
   */
  def first(table: Path, files: Seq[Path], conf: Configuration): Option[Path] = {
    // Compared by depth: a file is not above itself, and the walk ends whatever a listing made of the table's name.
    def upTo(directory: Path) =
      Iterator.iterate(directory)(_.getParent).takeWhile(one => one != null && one.depth > table.depth)
    files.map(_.getParent).distinct.flatMap(upTo).distinct.find(OwnFiles.find(_, conf) == Found.Other)
  }
}
