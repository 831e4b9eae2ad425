package io.pmeparquet.spark.admin

import java.net.URI

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.spark.admin.job.Progress
import io.pmeparquet.spark.session.PmeSparkException

/** What protects each column of files that a log lists, such as the live files of a Delta table. ''Driver only.'' */
object LoggedFiles {

  /**
   * For Python.
   *
   * @param table the directory that the paths are relative to
   * @param files with the columns `path` (a URI, as Delta's protocol has it), `size` and `modificationTime`
   * @param options the options of the KMS
   * @return rows as of [[FilesAlike]], also for footers; a file of another length than its log says is unknown
   */
  def alike(
      session: SparkSession,
      table: String,
      files: DataFrame,
      options: java.util.Map[String, String]
  ): DataFrame = Progress.unwatching(PmeSparkException.translated {
    val listed = files.select("path", "size", "modificationTime").collect().toSeq.map { row =>
      ListedFile(at(table, row.getString(0)), row.getLong(1), row.getLong(2), hasMaterialBeside = false)
    }
    val looked = KeyUsage.looked(session, listed, options.asScala.toMap)
    session.createDataFrame(FilesAlike.rowsWithFooters(looked).asJava, FilesAlike.schema)
  })

  private def at(table: String, path: String) = {
    val named = new Path(new URI(path))
    (if (named.isAbsolute) named else new Path(table, named)).toString
  }
}
