package io.pmeparquet.spark.rules

import org.apache.spark.sql.{DataFrame, Dataset, SparkSession}

import io.pmeparquet.spark.admin.LoggedFiles
import io.pmeparquet.PmeErrors

/**
 * The files of a version of a Delta table that a statement makes part of a table again. A version may have a table's keys,
 * and files from before they were set. ''Driver only.''
 */
private[rules] final class DeltaFiles(session: SparkSession, settings: DeltaSettings) {
  import DeltaFiles._

  /**
   * Refuses files that are plaintext, and those whose statistics in the log show protected columns.
   *
   * @param table as that version has it
   * @param added the version's `add` actions, in a Dataset of Delta's own
   * @param path of the table, which paths of files may be relative to
   */
  def requireEncrypted(table: DeltaTable, added: => AnyRef, path: String, statement: String): Unit =
    if (settings.namesKeys(table)) {
      val files = added.asInstanceOf[Dataset[_]].toDF()
      val shown = shownIn(files, table)
      if (shown.nonEmpty) throw PmeErrors.deltaOldStatistics(table.name, statement, shown.toSeq.sorted)
      LoggedFiles.firstReadable(session, path, files).foreach { file =>
        throw PmeErrors.deltaOldFiles(table.name, statement, file)
      }
    }

  /** The columns with statistics that are protected, or that the table does not have. */
  private def shownIn(files: DataFrame, table: DeltaTable): Set[String] = {
    val hidden = settings.protectedOf(table)
    val silent = table.stored(table.schema.fieldNames.map(DeltaTable.lower).toSet -- hidden)
    val keys =
      Bounds.map(bound => s"coalesce(json_object_keys(get_json_object(stats, '$$.$bound')), array())")
    val names = files
      .where("length(stats) > 0")
      // What is not JSON may show anything.
      .selectExpr(
        s"explode(if(json_object_keys(stats) IS NULL, array('?'), concat(${keys.mkString(", ")}))) AS name"
      )
      .distinct()
      .collect()
      .map(row => DeltaTable.lower(row.getString(0)))
      .toSet
    names -- silent
  }
}

private object DeltaFiles {
  private val Bounds = Seq("minValues", "maxValues", "nullCount")
}
