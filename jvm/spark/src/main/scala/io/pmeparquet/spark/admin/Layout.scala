package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.types.{IntegerType, LongType, StringType}

import io.pmeparquet.parquet.inspect.{FileLayout, LaidOut}
import io.pmeparquet.spark.admin.job.{FileJob, ResultRows, TableFiles}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

/** Finds where the modules of one file lie and what opens them, for `pme.report` to draw. ''Driver only.'' */
object Layout {

  /**
   * For Python.
   *
   * @param most how many pages to list one by one
   */
  def of(
      session: SparkSession,
      file: String,
      options: java.util.Map[String, String],
      most: Int
  ): FileModules = PmeSparkException.translated {
    val wanted = options.asScala.toMap
    val conf = SparkAccess.hadoopConf(session, wanted)
    val layout = new FileLayout(new FooterReading(session, wanted).scope, most)
    val looked = FileJob.each(session, conf, TableFiles.list(new Path(file), conf).files) { (one, conf) =>
      layout.of(one, conf, () => FileJob.goOn("the layout"))
    }
    val modules = for ((_, found) <- looked; modules <- found.toSeq; one <- modules) yield one
    val failure = looked.flatMap(_._2.left.toOption).headOption
    new FileModules(results.frame(session, modules), failure.map(_.message).orNull)
  }

  private val results = ResultRows
    .of[LaidOut]
    .required("kind", StringType)(_.kind)
    .required("row_group", IntegerType)(_.rowGroup)
    .required("column", StringType)(_.column)
    .optional("page", IntegerType)(_.page)
    .required("offset", LongType)(_.offset)
    .required("length", LongType)(_.length)
    .optional("key", StringType)(_.key)
    .optional("master_key", StringType)(_.masterKey)
}

/** @param failure why the file does not open; null if it does */
final class FileModules(val modules: DataFrame, val failure: String)
