package io.pmeparquet.kms.client

import java.util
import java.util.Base64

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

import io.pmeparquet.{RecentValues, Sha256}

/** Digests of Hadoop configurations, by which those with the same keys are recognized. */
private[pmeparquet] object ConfigurationDigest {

  /** A digest of the user and of all settings that a KMS could look at. */
  def of(conf: Configuration): String = digestOf(conf, Nil)(_ => false)

  /**
   * The same without settings that differ from task to task of one job.
   *
   * @param more names of settings that count whatever they are
   */
  def ofJob(conf: Configuration, more: Seq[String]): String = digestOf(conf, more)(isOfTask)

  private def digestOf(conf: Configuration, more: Seq[String])(isLeftOut: String => Boolean) = {
    val settings = new util.HashMap[String, String]
    conf.iterator().forEachRemaining { setting =>
      val name = setting.getKey
      if (!isSparks(name) && !isLeftOut(name)) settings.put(name, resolved(conf, setting))
    }
    more.foreach(name => Option(conf.get(name)).foreach(settings.put(name, _)))
    val user = UserGroupInformation.getCurrentUser.toString
    last.get(user -> settings) {
      val texts = settings.asScala.toSeq.sorted.flatMap { case (name, value) => Seq(name, value) }
      Base64.getEncoder.encodeToString(Sha256.ofTexts(user +: texts))
    }
  }

  // The reads of a query have the same settings, two thousand of them, which are quicker to compare than to hash. The last
  // ones, which may contain secrets, are kept until others are asked for.
  private val last = new RecentValues[(String, util.Map[String, String]), String](1, Long.MaxValue)

  // With the settings that its value refers to in their places. Few values refer to any, and looking one up is slow.
  private def resolved(conf: Configuration, setting: util.Map.Entry[String, String]) =
    if (setting.getValue.indexOf('$') < 0) setting.getValue else String.valueOf(conf.get(setting.getKey))

  // Spark's own settings change between steps of a query, and do not concern a KMS.
  private def isSparks(name: String) = name.startsWith("spark.sql.") || name == "returning_batch"

  private def isOfTask(name: String) =
    OfTasks.contains(name) || BeginningsOfTasks.exists(name.startsWith) || isOfHiveTable(name)

  private val OfTasks = Set(
    "mapreduce.job.id",
    "mapreduce.job.application.attempt.id",
    // Spark reads each partition of a Hive table from another directory.
    "mapreduce.input.fileinputformat.inputdir",
    "mapreduce.output.fileoutputformat.outputdir",
    "mapred.input.dir",
    "mapred.job.id",
    "mapred.output.dir",
    "mapred.tip.id",
    "parquet.read.filter",
    "parquet.private.read.filter.predicate",
    "parquet.private.read.filter.predicate.human.readable"
  )
  private val BeginningsOfTasks =
    Seq("mapreduce.task.", "mapred.task.", "org.apache.spark.sql.parquet.", "parquet.read.")

  /**
   * Whether Hive's SerDe adds this setting to the configuration of each read and write: what the metastore says of the
   * table, and what is read of it. Other properties of a table count, since a client could look at them.
   */
  def isOfHiveTable(name: String): Boolean = OfTables.contains(name) || name.startsWith("hive.io.")

  private val OfTables = Set(
    "EXTERNAL",
    "__hive_compatible_bucketed_table_insertion__",
    "bucket_count",
    "bucket_field_name",
    "bucketing_version",
    "column.name.delimiter",
    "columns",
    "columns.comments",
    "columns.types",
    "comment",
    "file.inputformat",
    "file.outputformat",
    "hive.parquet.timestamp.skip.conversion",
    "last_modified_by",
    "last_modified_time",
    "location",
    "name",
    "numFiles",
    "numPartitions",
    "numRows",
    "partition_columns",
    "partition_columns.types",
    "rawDataSize",
    "serialization.ddl",
    "serialization.format",
    "serialization.lib",
    "totalSize",
    "transient_lastDdlTime"
  )
}
