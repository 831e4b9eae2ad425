package io.pmeparquet.spark.admin.erase

import scala.collection.JavaConverters._

import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.admin.job.{Progress, TableFiles}
import io.pmeparquet.spark.admin.LiveFiles
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

/**
 * Makes rows unreadable by destroying the keys of their files, and proves it.
 * {{{
 * Erasure.run(spark, "s3a://…/orders", keys, Seq("t-acme"), Map("tenant" -> "acme"), dryRun = false)
 * }}}
 * Nothing is destroyed unless every file under the keys is one that is to be erased. What will be destroyed is noted
 * first, so whenever a run is killed, the next one completes it. ''Driver only.''
 */
object Erasure {

  /**
   * @param options of the KMS, and of a read
   * @param partitions values of columns that directories have, or that files state: no other file may be under the keys
   * @param also further tables to erase rows of
   * @param others tables that must have nothing under the keys
   * @return the certificate, or with `dryRun` what it would say, in JSON
   */
  def run(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      keys: Seq[String],
      partitions: Map[String, String] = Map.empty,
      also: Seq[String] = Nil,
      others: Seq[String] = Nil,
      dryRun: Boolean = true,
      by: Option[String] = None,
      live: Seq[LiveFiles] = Nil
  ): String = PmeSparkException.translated {
    val conf = SparkAccess.hadoopConf(session, options)
    def qualified(path: String) = TableFiles.qualified(path, conf)
    val request = ErasureRequest(
      qualified(path),
      keys,
      partitions,
      also.map(qualified),
      others.map(qualified),
      live,
      by.getOrElse(session.sparkContext.sparkUser)
    )
    new ErasureRun(session, options, request, conf).run(dryRun).toString
  }

  /** For Python. */
  def run(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      keys: java.util.List[String],
      partitions: java.util.Map[String, String],
      also: java.util.List[String],
      others: java.util.List[String],
      dryRun: Boolean,
      by: String,
      live: java.util.List[AnyRef]
  ): String = Progress.unwatching {
    run(
      session,
      path,
      options.asScala.toMap,
      keys.asScala.toSeq,
      partitions.asScala.toMap,
      also.asScala.toSeq,
      others.asScala.toSeq,
      dryRun,
      Option(by),
      live.asScala.toSeq.flatMap(LiveFiles.ofPython(_))
    )
  }
}
