package io.pmeparquet.spark.admin

import java.net.URI

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.parquet.inspect.FileUse
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.{Progress, ResultRows}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.Condition

/** What protects each column of files that a log lists, such as the live files of a Delta table. ''Driver only.'' */
object LoggedFiles {

  /**
   * For Python: what a footer that anyone cannot read says of a file's columns.
   *
   * @param paths of files, absolute
   * @param options the options of the KMS
   * @return a row for each file: its path, whether its footer opened, its encrypted columns, and its plaintext ones
   */
  def columns(
      session: SparkSession,
      paths: java.util.List[String],
      lengths: java.util.List[_ <: Number],
      options: java.util.Map[String, String]
  ): DataFrame = Progress.unwatching(PmeSparkException.translated {
    val files = paths.asScala.toSeq.zip(lengths.asScala.map(_.longValue)).map { case (path, length) =>
      ListedFile(path, length, modified = 0, hasExternalMaterial = false)
    }
    val rows = looked(session, files, options.asScala.toMap).map {
      case (file, Right(FileUse(_, true, Some(columns), _))) =>
        val (readable, hidden) = columns.partition(_.isReadable)
        Row(file.path, "", hidden.map(_.column), readable.map(_.column))
      case (file, Right(use)) =>
        val why = use.uses.flatMap(_.problem).headOption.getOrElse(Condition.DamagedFile.name)
        Row(file.path, why, Nil, Nil)
      case (file, Left(failed)) => Row(file.path, failed.condition, Nil, Nil)
    }
    session.createDataFrame(rows.asJava, columnsSchema)
  })

  /** @param options of the KMS */
  private[pmeparquet] def looked(
      session: SparkSession,
      files: Seq[ListedFile],
      options: Map[String, String]
  ): FooterReading.Looked = {
    val reading = new FooterReading(session, options)
    reading.look(Seq(files)).flatMap(reading.spelt)
  }

  private val columnsSchema =
    StructType(
      Seq(
        StructField("path", StringType, nullable = false),
        StructField("problem", StringType, nullable = false),
        StructField("encrypted", ResultRows.Names, nullable = false),
        StructField("plaintext", ResultRows.Names, nullable = false)
      )
    )

  /** @param path as a log has it: a URI, absolute or below the table */
  private[pmeparquet] def at(table: String, path: String): String = {
    val named = new Path(new URI(path))
    (if (named.isAbsolute) named else new Path(table, named)).toString
  }
}
