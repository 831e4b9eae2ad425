package io.pmeparquet.spark.options

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession

import io.pmeparquet.columns.{FilePlace, LeafColumn}
import io.pmeparquet.options.WriteSettings
import io.pmeparquet.parquet.scope.{Expiring, ScopeRegistry, Scopes, WriteScope}
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.Handover

/**
 * The scope of a write, made before its job begins, so that the job need not call the KMS again. One job takes it. After a
 * minute nobody can take it, because the KMS may answer differently by then. It holds keys and settings no longer than
 * that. ''Driver only.''
 *
 * @param columns the leaf columns that `columnKeys` was checked against
 * @param places where its files will be, if names of keys depend on it
 */
private[spark] final class PreparedWrite private (
    handed: Handover[(WriteSettings, String), WriteScope],
    columns: Seq[LeafColumn],
    val places: Option[Seq[FilePlace]]
) extends Expiring {

  /** Whether it waits for a write with these settings to this directory. */
  def waitsFor(settings: WriteSettings, outputPath: Path): Boolean =
    handed.waitsFor(settings -> WriteRules.tableDirectory(outputPath))

  /** Whether it waits for this write, and `columnKeys` was checked against these columns. */
  def hasChecked(settings: WriteSettings, outputPath: Path, leaves: Seq[LeafColumn]): Boolean =
    leaves == columns && waitsFor(settings, outputPath)

  /** None if the job has other settings or another directory, or if the scope was taken or is too old. */
  private def take(settings: WriteSettings, tableDirectory: String): Option[WriteScope] =
    handed.take(settings -> tableDirectory)

  override def sweep(): Unit = handed.sweep()
}

/** What Spark says to the threads that run a stream. ''Driver only.'' */
private[spark] object StreamBatch {

  /** The id of the query that this thread runs a batch of, which its checkpoint keeps. */
  def query(session: SparkSession): Option[String] =
    Option(session.sparkContext.getLocalProperty("sql.streaming.queryId"))
}

private[spark] object PreparedWrite {
  private val MaxMillis = 60000L

  /**
   * Asks the KMS for all that the job will need, so that a write that cannot succeed fails before it begins.
   *
   * @param columns the leaf columns that `columnKeys` was checked against
   * @param places where the files of the job will be, if names of keys depend on it
   */
  def of(
      settings: WriteSettings,
      conf: Configuration,
      outputPath: Path,
      columns: Seq[LeafColumn],
      places: Option[Seq[FilePlace]]
  ): PreparedWrite = {
    val directory = WriteRules.tableDirectory(outputPath)
    val scope = Scopes.forWrite(settings, directory, conf, places)
    val made = new PreparedWrite(new Handover(settings -> directory, scope, MaxMillis), columns, places)
    ScopeRegistry.own(made)
    made
  }

  /**
   * The scope of a job: the prepared one if it waits for this write, otherwise a new one.
   *
   * @param conf the job's
   * @param isBatch whether a stream may be writing it, of whose rows no rule has looked at the partitions
   */
  def scope(
      settings: WriteSettings,
      conf: Configuration,
      outputPath: Path,
      prepared: Option[PreparedWrite],
      isBatch: Boolean
  ): WriteScope = {
    val directory = WriteRules.tableDirectory(outputPath)
    prepared
      .flatMap(_.take(settings, directory))
      .getOrElse {
        if (isBatch && prepared.isEmpty && settings.files.keyColumns.nonEmpty)
          Scopes.forBatch(settings, directory, conf)
        else Scopes.forWrite(settings, directory, conf, prepared.flatMap(_.places))
      }
  }
}
