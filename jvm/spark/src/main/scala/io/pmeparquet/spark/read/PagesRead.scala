package io.pmeparquet.spark.read

import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.file.{FileSeal, SplitReader}
import io.pmeparquet.parquet.scope.ReadScope

/**
 * The function that reads a split of a file through the page pipeline, into the same rows and batches as Spark's own
 * reader. [[SplitRows]] reads one split.
 *
 * ''Crosses the wire'', with the scope.
 *
 * @param conf prepared by Spark for its own readers; Spark's schema converter and read support take their settings from
 *   it
 * @param seal what snapshots say of the files
 * @param masked set if the scan reads columns whose keys the KMS refuses as NULL
 */
private[spark] final class PagesRead(
    conf: Broadcast[SerializableConfiguration],
    scope: ReadScope,
    scan: PagedScan,
    masked: Option[MaskedScan],
    seal: Option[Broadcast[FileSeal]]
) extends (PartitionedFile => Iterator[InternalRow])
    with Serializable {

  override def apply(split: PartitionedFile): Iterator[InternalRow] = apply(split, scope.counters)

  /** @param counters the counters of the task */
  def apply(split: PartitionedFile, counters: ReadCounters): Iterator[InternalRow] = {
    val hadoop = conf.value.value
    val file = new SplitReader(scope, split.toPath, hadoop, counters, seal.map(_.value))
    try {
      new StructNulls(file, hadoop, scan.required, scan.nullChecks, masked.isDefined).choose()
      val asked =
        masked.fold(AskedColumns(hadoop, scan.required))(
          RefusedColumns.hide(file, hadoop, scan.required, _)
        )
      new SplitRows(file, split, scan, asked).rows()
    } catch {
      case failed: Throwable =>
        file.close()
        throw failed
    }
  }

  /** Counters for one task; the scope counts the same. ''Executor only.'' */
  def countersOfTask(): ReadCounters = new ReadCounters(Some(scope.counters))

  override def toString: String = s"PagesRead($scope)"
}
