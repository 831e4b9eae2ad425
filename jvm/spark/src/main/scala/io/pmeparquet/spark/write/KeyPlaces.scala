package io.pmeparquet.spark.write

import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast}
import org.apache.spark.sql.catalyst.plans.logical.{Distinct, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, WriteFiles}
import org.apache.spark.sql.types.StringType

import io.pmeparquet.columns.FilePlace
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * Where the files of a write will be, as far as names of keys depend on it: the values of some partition columns. The query
 * of the write runs once for them before it runs for its rows, so that a key that is missing costs neither the files of an
 * overwrite nor a half-written table. ''Driver only.''
 */
private[spark] object KeyPlaces {

  /** Readers keep the name of each key, and a task gets those of the whole job. */
  private val Most = 100000

  /**
   * The partition columns that names of keys depend on.
   *
   * @param partitions the columns by which the write is partitioned
   * @param directory of the table, which may be a partition itself
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the write is not partitioned by one of them
   */
  def columns[A](
      settings: FileSettings,
      partitions: Seq[A],
      directory: String
  )(nameOf: A => String): Seq[A] = {
    val place = FilePlace.of(directory)
    val open = settings.keyColumns.filter(place.value(_, settings.caseSensitive).isEmpty)
    def isNamed(column: String, partition: A) =
      if (settings.caseSensitive) column == nameOf(partition) else column.equalsIgnoreCase(nameOf(partition))
    val missing = open.filterNot(column => partitions.exists(isNamed(column, _)))
    if (missing.nonEmpty) throw PmeErrors.keyTemplateColumns(missing, directory)
    partitions.filter(partition => open.exists(isNamed(_, partition)))
  }

  /** @return none if names of keys do not depend on it */
  def of(
      session: SparkSession,
      write: InsertIntoHadoopFsRelationCommand,
      settings: FileSettings
  ): Option[Seq[FilePlace]] = if (settings.keyColumns.isEmpty) None
  else {
    val directory = WriteRules.tableDirectory(write.outputPath)
    val named = columns(settings, write.partitionColumns, directory)(_.name)
    val query = queryOf(write)
    if (write.mode == SaveMode.Overwrite && !query.deterministic)
      throw PmeErrors.unsupported(
        s"overwrite of ${new Path(directory)}",
        "a key by partition for rows that are not the same in each run of the query",
        "a value that has no key yet would be met after the old files are deleted",
        "Write the rows to a table first, or append."
      )
    val partitions =
      if (named.isEmpty) Iterator("") else valuesOf(session, named, query, zoneOf(session, write))
    Some(distinct(settings, partitions.map(partition => FilePlace.of(s"$directory/$partition")), directory))
  }

  /** One place for each of the names that they have. */
  private def distinct(
      settings: FileSettings,
      places: Iterator[FilePlace],
      directory: String
  ): Seq[FilePlace] = {
    val names = mutable.HashSet.empty[String]
    val found = places.filter { place =>
      settings.at(place, s"write to $directory, ${place.partition}").masterKeys.count(names.add) > 0
    }.toVector
    if (names.size > Most)
      throw PmeErrors.unsupported(
        s"write to $directory",
        s"more than $Most names of keys",
        "each task gets the keys of the whole write",
        s"Use buckets, as {${settings.keyColumns.head}:bucket(64)}."
      )
    found
  }

  private def queryOf(write: InsertIntoHadoopFsRelationCommand): LogicalPlan = write.query match {
    case files: WriteFiles => files.child
    case query => query
  }

  /** The time zone in which Spark spells partitions. */
  private def zoneOf(session: SparkSession, write: InsertIntoHadoopFsRelationCommand): String =
    CaseInsensitiveMap(write.options)
      .get(DateTimeUtils.TIMEZONE_OPTION)
      .getOrElse(SparkAccess.sqlConf(session).sessionLocalTimeZone)

  /** The directories that Spark makes for the values of these columns. */
  private def valuesOf(
      session: SparkSession,
      columns: Seq[Attribute],
      query: LogicalPlan,
      zone: String
  ): Iterator[String] = {
    val texts = columns.map(column => Alias(Cast(column, StringType, Some(zone)), column.name)())
    val plan = session.sessionState.executePlan(Distinct(Project(texts, query))).executedPlan
    plan.executeToIterator().map { row =>
      columns.indices
        .map { at =>
          val value = if (row.isNullAt(at)) null else row.getUTF8String(at).toString
          ExternalCatalogUtils.getPartitionPathString(columns(at).name, value)
        }
        .mkString("/")
    }
  }
}
