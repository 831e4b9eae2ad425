package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.schema.WantedColumns
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.RecentValues

/**
 * Opens a file's footer, the metadata of the columns that a query wants, and their page headers, before Spark's own
 * reader does. So errors about missing or wrong keys, unsafe page layouts and impossible lengths name file and column,
 * and a query that cannot finish does not begin. parquet-java allocates the length that a module states, which nothing
 * authenticates.
 */
final class FileGate(scope: ReadScope, columns: WantedColumns) {
  private val passed = new RecentValues[FileGate.Split, Unit](FileGate.MaxSplits, FileGate.LifetimeMillis)

  /**
   * @param start where the split begins, in bytes from the start of the file
   * @param length of the split in bytes
   * @param listed length of the file when splits were cut; 0 if unknown
   * @throws io.pmeparquet.PmeException whatever keeps the query from reading this part of the file
   */
  def check(path: Path, start: Long, length: Long, listed: Long, conf: Configuration): Unit =
    passed.get(FileGate.Split(FileVersion.of(path, conf), start, length, listed)) {
      val file = new SplitReader(scope, path, conf)
      try file.check(start, length, listed, columns)
      finally file.close()
    }
}

object FileGate {
  private final case class Split(file: FileVersion, start: Long, length: Long, listed: Long)

  private val MaxSplits = 1000

  /** For the duration of a query: parquet-java authenticates again what it reads. */
  private val LifetimeMillis = Long.MaxValue
}
