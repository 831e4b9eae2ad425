package io.pmeparquet.spark.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter
import org.apache.parquet.hadoop.ParquetOutputCommitter
import org.apache.spark.sql.catalyst.dsl.plans.DslLogicalPlan
import org.apache.spark.sql.catalyst.expressions.{Alias, Ascending, Attribute, Expression, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Sort}
import org.apache.spark.sql.execution.datasources.{
  InsertIntoHadoopFsRelationCommand,
  V1WritesUtils,
  WriteFiles
}
import org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol
import org.apache.spark.sql.internal.SQLConf

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * Prepares a write that cuts its files at values ([[CutColumns]]): it sorts the rows of each task, so that a task makes one
 * file for each, and refuses writes that may not publish files which Spark does not name. ''Driver
 * only.''
 */
private[spark] object CutCommit {

  /**
   * @param columnOf the column of a name
   * @return the write of sorted rows
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED`
   */
  def sorted(
      write: InsertIntoHadoopFsRelationCommand,
      cut: CutColumns,
      columnOf: String => Attribute
  ): LogicalPlan = write.query match {
    case files: WriteFiles =>
      val partitions = files.partitionColumns.drop(files.staticPartitions.size)
      write.withNewChildren(Seq(files.withNewChildren(Seq(sorted(files.child, partitions, cut, columnOf)))))
    case query if write.partitionColumns.isEmpty =>
      write.withNewChildren(Seq(sorted(query, Nil, cut, columnOf)))
    case _ =>
      throw unsupported(
        write.outputPath.toString,
        s"Spark sorts the rows of a task itself, by partitions alone (${SQLConf.PLANNED_WRITE_ENABLED.key}=false)",
        s"Set ${SQLConf.PLANNED_WRITE_ENABLED.key}=true."
      )
  }

  private def sorted(
      query: LogicalPlan,
      partitions: Seq[Attribute],
      cut: CutColumns,
      columnOf: String => Attribute
  ): LogicalPlan = {
    val rows = query match {
      // What Spark has put there for the partitions alone.
      case sort: Sort
          if !sort.global && sort.order.map(_.child.canonicalized) == partitions.map(_.canonicalized) =>
        sort.child
      case other => other
    }
    val columns = cut.names.map(columnOf)
    // Texts of values are in the same groups as values, and a bucket is costly to compute for each comparison.
    val buckets = cut.values.zip(cut.texts(columnOf)).collect {
      case (value, text) if value.buckets.isDefined =>
        Alias(text, value.column)()
    }
    if (buckets.isEmpty && V1WritesUtils.isOrderingMatched(partitions ++ columns, rows.outputOrdering)) rows
    else {
      val withBuckets = if (buckets.isEmpty) rows else Project(rows.output ++ buckets, rows)
      val by: Seq[Expression] = partitions ++ buckets.map(_.toAttribute) ++ columns
      val order = by.map(SortOrder(_, Ascending)) ++ rows.outputOrdering
      val made = new DslLogicalPlan(withBuckets).sortBy(order: _*)
      if (buckets.isEmpty) made else Project(rows.output, made)
    }
  }

  /**
   * Requires what publishes whole directories of files.
   *
   * @param conf Hadoop's configuration of the write
   */
  def require(write: InsertIntoHadoopFsRelationCommand, session: SQLConf, conf: Configuration): Unit = {
    def refuse(what: String, name: String, setting: String) = throw unsupported(
      write.outputPath.toString,
      s"$what $name may leave out files that Spark does not know of",
      s"Do not set $setting, or partition the table by these columns."
    )
    if (write.bucketSpec.isDefined)
      throw unsupported(
        write.outputPath.toString,
        "the table has buckets",
        "Use a table without CLUSTERED BY."
      )
    val writers = SQLConf.MAX_CONCURRENT_OUTPUT_FILE_WRITERS
    if (session.getConf(writers) > 0)
      throw unsupported(
        write.outputPath.toString,
        s"with ${writers.key} Spark sorts some rows of a task by partitions alone",
        s"Remove ${writers.key}."
      )
    if (session.fileCommitProtocolClass != classOf[SQLHadoopMapReduceCommitProtocol].getName)
      refuse("the commit protocol", session.fileCommitProtocolClass, SQLConf.FILE_COMMIT_PROTOCOL_CLASS.key)
    for {
      setting <- Seq(SQLConf.OUTPUT_COMMITTER_CLASS.key, SQLConf.PARQUET_OUTPUT_COMMITTER_CLASS.key)
      name <- Option(conf.get(setting)).orElse(Option(session.getConfString(setting, null)))
      if !Committers(name)
    } refuse("the committer", name, setting)
  }

  private val Committers = Set(classOf[ParquetOutputCommitter], classOf[FileOutputCommitter]).map(_.getName)

  /** @param why a clause */
  def unsupported(where: String, why: String, remedy: String): PmeException =
    PmeErrors.unsupported(where, "a key by a column that is no partition column", why, remedy)
}
