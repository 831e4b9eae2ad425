package io.pmeparquet.spark.write

import scala.collection.mutable

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{SaveMode, SparkSession}
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast}
import org.apache.spark.sql.catalyst.plans.logical.{Distinct, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.execution.datasources.{InsertIntoHadoopFsRelationCommand, WriteFiles}
import org.apache.spark.sql.types.{StringType, StructType}

import io.pmeparquet.columns.{ColumnNames, FilePlace}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.session.SparkAccess
import io.pmeparquet.PmeErrors

/**
 * Where the files of a write will be, as far as names of keys depend on it: the values of some columns. The query
 * of the write runs once for them before it runs for its rows, so that a key that is missing costs neither the files of an
 * overwrite nor a half-written table. ''Driver only.''
 */
private[spark] object KeyPlaces {

  /** Readers keep the name of each key, and a task gets those of the whole job. */
  private val Most = 100000

  /**
   * The columns that names of keys depend on: partition columns, and others.
   *
   * @param partitions the columns by which the write is partitioned
   * @param data the columns of its files
   * @param directory of the table, which may be a partition itself
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION` if the write has no such column
   */
  def columns[A](
      settings: FileSettings,
      partitions: Seq[A],
      data: StructType,
      directory: String
  )(nameOf: A => String): (Seq[A], CutColumns) = {
    val place = FilePlace.of(directory)
    def isSame(one: String, other: String) = ColumnNames.isSame(one, other, settings.caseSensitive)
    val open = settings.keyColumns.filter(place.value(_, settings.caseSensitive).isEmpty)
    val (named, others) = open.partition(column => partitions.exists(one => isSame(column, nameOf(one))))
    settings.keyColumns.diff(open).find(column => data.exists(field => isSame(column, field.name))).foreach {
      column =>
        throw CutCommit.unsupported(
          directory,
          s"rows have the column '$column', and the directory has one value of it",
          "Write to the table's directory, partitioned by this column."
        )
    }
    (
      partitions.filter(partition => named.exists(isSame(_, nameOf(partition)))),
      CutColumns.of(settings, others, data, directory)
    )
  }

  /**
   * @param data the columns of its files
   * @return none if names of keys do not depend on it
   */
  def of(
      session: SparkSession,
      write: InsertIntoHadoopFsRelationCommand,
      data: StructType,
      settings: FileSettings
  ): Option[KeyPlaces] = if (settings.keyColumns.isEmpty) None
  else {
    val directory = WriteRules.tableDirectory(write.outputPath)
    val (named, cut) = columns(settings, write.partitionColumns, data, directory)(_.name)
    val query = queryOf(write)
    if (write.mode == SaveMode.Overwrite && !query.deterministic)
      throw PmeErrors.unsupported(
        s"overwrite of ${new Path(directory)}",
        "a key by partition for rows that are not the same in each run of the query",
        "a value that has no key yet would be met after the old files are deleted",
        "Write the rows to a table first, or append."
      )
    val ofCut = columnOf(write, settings.caseSensitive) _
    val places =
      if (named.isEmpty && cut.isEmpty) Iterator(FilePlace.of(directory))
      else valuesOf(session, named, cut, ofCut, query, zoneOf(session, write), directory)
    Some(new KeyPlaces(distinct(settings, places, directory), cut, ofCut))
  }

  /** The column of the query that files have by a name. */
  private def columnOf(write: InsertIntoHadoopFsRelationCommand, caseSensitive: Boolean)(
      name: String
  ): Attribute = {
    val partitions = write.partitionColumns.map(_.exprId).toSet
    write.outputColumnNames
      .zip(write.query.output)
      .collectFirst {
        case (written, column)
            if !partitions(column.exprId) && ColumnNames.isSame(written, name, caseSensitive) =>
          column
      }
      .get
  }

  /** One place for each of the names that they have. */
  private def distinct(
      settings: FileSettings,
      places: Iterator[FilePlace],
      directory: String
  ): Seq[FilePlace] = {
    val names = mutable.HashSet.empty[String]
    val found = places.filter { place =>
      settings.at(place, s"write to $directory, ${place.display}").masterKeys.count(names.add) > 0
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

  /** The directories that Spark makes for the values of some columns, and what files state of others. */
  private def valuesOf(
      session: SparkSession,
      partitions: Seq[Attribute],
      cut: CutColumns,
      columnOf: String => Attribute,
      query: LogicalPlan,
      zone: String,
      directory: String
  ): Iterator[FilePlace] = {
    val spelled = partitions.map(column => Alias(Cast(column, StringType, Some(zone)), column.name)())
    val texts = spelled ++ cut.texts(columnOf).map(Alias(_, "text")())
    val plan = session.sessionState.executePlan(Distinct(Project(texts, query))).executedPlan
    plan.executeToIterator().map { row =>
      val values = texts.indices.map(at => if (row.isNullAt(at)) null else row.getUTF8String(at))
      val (ofPartitions, ofCut) = values.splitAt(partitions.size)
      val spelled = partitions.zip(ofPartitions).map { case (column, value) =>
        ExternalCatalogUtils.getPartitionPathString(column.name, if (value == null) null else value.toString)
      }
      val place = FilePlace.of((directory +: spelled).mkString("/"))
      if (cut.isEmpty) place else place.stating(cut.stated(ofCut, s"write to $directory"))
    }
  }
}

/**
 * ''Driver only.''
 *
 * @param all one place for each of the names that keys have
 * @param cut the columns at whose values files are cut
 * @param columnOf the column of the query by its name in files
 */
private[spark] final class KeyPlaces private (
    val all: Seq[FilePlace],
    val cut: CutColumns,
    val columnOf: String => Attribute
)
