package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.schema.WantedColumns
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.RecentValues

/**
 * Opens a file's footer, the metadata of the columns that a query wants, and their page headers, before Spark's own
 * reader does. A missing or wrong key, an unsafe page layout or an impossible length then fails with the names of file
 * and column, before the query begins. parquet-java allocates as much as a module's length claims, which nothing
 * authenticates.
 */
final class FileGate(scope: ReadScope, columns: WantedColumns, seal: Option[FileSeal] = None) {
  private val passed = new RecentValues[FileGate.Split, Unit](FileGate.MaxSplits, FileGate.LifetimeMillis)

  /**
   * @param start where the split begins, in bytes from the start of the file
   * @param length length of the split in bytes
   * @param listed length of the file when Spark planned the splits; 0 if unknown
   * @throws io.pmeparquet.PmeException if the query cannot read this part of the file, for any reason
   */
  def check(path: Path, start: Long, length: Long, listed: Long, conf: Configuration): Unit = {
    val version = FileVersion.of(path, conf)
    passed.get(FileGate.Split(version, start, length, listed)) {
      val file = new SplitReader(scope, version, conf, scope.counters, seal)
      try file.check(start, length, listed, columns)
      finally file.close()
    }
  }
}

object FileGate {
  private final case class Split(file: FileVersion, start: Long, length: Long, listed: Long)

  private val MaxSplits = 1000

  /** As long as a query runs: parquet-java authenticates again whatever it reads. */
  private val LifetimeMillis = Long.MaxValue
}
