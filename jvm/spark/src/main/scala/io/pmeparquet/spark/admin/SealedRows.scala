package io.pmeparquet.spark.admin

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.summary.WantedSummary
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.spark.admin.job.ProgressStep
import io.pmeparquet.spark.session.PmeSparkException

/** Makes the rows of a snapshot from what tasks found in files. ''Driver only.'' */
private[admin] object SealedRows {

  /** @param path relative to the table's directory */
  def of(path: String, file: ListedFile, facts: FileFacts): SealedFile = SealedFile(
    path,
    facts.length,
    file.modified,
    facts.footerSha256,
    facts.aadFileUnique,
    facts.sha256,
    facts.rows,
    partition(path)
  )

  /** The values of partition columns, from the directories of a path. */
  private def partition(path: String): Seq[(String, Option[String])] =
    path.split('/').toSeq.dropRight(1).filter(_.contains('=')).map { directory =>
      val value = ExternalCatalogUtils.unescapePathName(directory.substring(directory.indexOf('=') + 1))
      ExternalCatalogUtils.unescapePathName(directory.takeWhile(_ != '=')) ->
        Some(value).filter(_ != ExternalCatalogUtils.DEFAULT_PARTITION_NAME)
    }
}

/** Looks at files. ''Crosses the wire'', with the scope. */
private[admin] final class SealingTask(scope: ReadScope, wanted: List[WantedSummary], step: ProgressStep)
    extends Serializable {

  /** What is found in each file. */
  def apply(files: Iterator[ListedFile], conf: Configuration): Iterator[(ListedFile, FileFacts)] = {
    val shared = new SharedFacts
    files.map(file => file -> shared.in(of(file, conf)))
  }

  private def of(file: ListedFile, conf: Configuration): FileFacts = PmeSparkException.translated {
    step.counting(file.length)(FileFacts.of(scope, file, wanted, conf))
  }
}

/**
 * Makes equal descriptions of columns one object: a table of many files has few, and they are most of what is known of a
 * file. They stay one object on their way to the driver.
 */
private[admin] final class SharedFacts {
  private val known = mutable.HashMap.empty[AnyRef, AnyRef]

  def in(facts: FileFacts): FileFacts = facts.copy(types = one(facts.types), columns = one(facts.columns))

  private def one[A <: AnyRef](value: A): A = known.getOrElseUpdate(value, value).asInstanceOf[A]
}
