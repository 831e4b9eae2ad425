package io.pmeparquet.parquet.files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * Links among the directories of a table. Listings go through them, which is right for readers; who changes files would
 * change those of another place.
 */
object LinkedDirectories {

  /**
   * @param table as the user named it, which may be a link
   * @param files found below it
   */
  def first(table: Path, files: Seq[Path], conf: Configuration): Option[Path] = {
    def above(file: Path) =
      Iterator.iterate(file.getParent)(_.getParent).takeWhile(one => one != null && one != table)
    files.map(_.getParent).distinct.flatMap(directory => above(new Path(directory, "file"))).distinct.find {
      directory => OwnFiles.find(directory, conf) == Found.Other
    }
  }
}
