package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.summary.{ColumnSummary, FoundSummary, WantedSummary}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.parts.{SealedFile, SealedRange}
import io.pmeparquet.spark.admin.job.ProgressStep
import io.pmeparquet.spark.session.PmeSparkException

/** Makes the rows of a snapshot from what tasks found in files. ''Driver only.'' */
private[admin] object SealedRows {

  /**
   * @param path relative to the table's directory
   * @param facts with a summary for each of the indexes
   */
  def of(path: String, file: ListedFile, facts: FileFacts, indexes: Seq[IndexEntry]): SealedFile = {
    // Bounds of another type say nothing.
    val ranges = indexes.zip(facts.summaries).collect {
      case (index, Some(FoundSummary(columnType, ColumnSummary.Range(bounds, nulls))))
          if columnType == index.columnType =>
        index.field -> SealedRange(bounds, nulls)
    }
    SealedFile(
      path,
      facts.length,
      file.modified,
      facts.footerSha256,
      facts.aadFileUnique,
      facts.sha256,
      facts.rows,
      partition(path),
      ranges.toMap
    )
  }

  /** A file of the version before, with the fields that the indexes have now. */
  def renumbered(file: SealedFile, before: Seq[IndexEntry], now: Seq[IndexEntry]): SealedFile = {
    val fieldOf = before.map(index => index.column -> index.field).toMap
    val ranges = for {
      index <- now
      field <- fieldOf.get(index.column)
      range <- file.ranges.get(field)
    } yield index.field -> range
    file.copy(ranges = ranges.toMap)
  }

  /** The values of partition columns, from the directories of a path. */
  private def partition(path: String): Seq[(String, Option[String])] =
    path.split('/').toSeq.dropRight(1).filter(_.contains('=')).map { directory =>
      val value = ExternalCatalogUtils.unescapePathName(directory.substring(directory.indexOf('=') + 1))
      ExternalCatalogUtils.unescapePathName(directory.takeWhile(_ != '=')) ->
        Some(value).filter(_ != ExternalCatalogUtils.DEFAULT_PARTITION_NAME)
    }
}

/** Looks at one file. ''Crosses the wire'', with the scope. */
private[admin] final class SealingTask(scope: ReadScope, wanted: List[WantedSummary], step: ProgressStep)
    extends Serializable {
  def apply(file: ListedFile, conf: Configuration): FileFacts = PmeSparkException.translated {
    step.counting(file.length)(FileFacts.of(scope, file, wanted, conf))
  }
}
