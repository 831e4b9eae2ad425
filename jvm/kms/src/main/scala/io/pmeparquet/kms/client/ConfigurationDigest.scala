package io.pmeparquet.kms.client

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.Base64

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

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
    val entries = mutable.ArrayBuffer.empty[(String, String)]
    val iterator = conf.iterator()
    while (iterator.hasNext) {
      val entry = iterator.next()
      if (!isSparks(entry.getKey) && !isLeftOut(entry.getKey))
        // With the settings that its value refers to in their places.
        entries += entry.getKey -> String.valueOf(conf.get(entry.getKey))
    }
    more.foreach(name => entries += name -> String.valueOf(conf.get(name)))
    val digest = MessageDigest.getInstance("SHA-256")
    // A length before each text, so that no text can look like another entry.
    def add(text: String): Unit = {
      val bytes = text.getBytes(UTF_8)
      digest.update(s"${bytes.length}:".getBytes(UTF_8))
      digest.update(bytes)
    }
    add(UserGroupInformation.getCurrentUser.toString)
    entries.sorted.foreach { case (name, value) =>
      add(name)
      add(value)
    }
    Base64.getEncoder.encodeToString(digest.digest())
  }

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
