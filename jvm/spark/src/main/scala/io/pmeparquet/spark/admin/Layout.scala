package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.parquet.inspect.{FileLayout, LaidOut}
import io.pmeparquet.spark.admin.job.FileJob
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
    val layout = new FileLayout(KeyUsage.scope(session, wanted), most)
    val looked = FileJob.each(session, conf, TableFiles.list(new Path(file), conf).files) { (one, conf) =>
      layout.of(one, conf, () => FileJob.goOn("the layout"))
    }
    val rows = for ((_, found) <- looked; modules <- found.toSeq; one <- modules) yield row(one)
    val failure = looked.flatMap(_._2.left.toOption).headOption
    new FileModules(session.createDataFrame(rows.asJava, schema), failure.map(_.message).orNull)
  }

  private val schema: StructType = StructType(
    Seq(
      StructField("kind", StringType, nullable = false),
      StructField("row_group", IntegerType, nullable = false),
      StructField("column", StringType, nullable = false),
      StructField("page", IntegerType),
      StructField("offset", LongType, nullable = false),
      StructField("length", LongType, nullable = false),
      StructField("key", StringType),
      StructField("master_key", StringType)
    )
  )

  private def row(one: LaidOut) = Row(
    one.kind,
    one.rowGroup,
    one.column,
    one.page.map(Int.box).orNull,
    one.offset,
    one.length,
    one.key.orNull,
    one.masterKey.orNull
  )
}

/** @param failure why the file does not open; null if it does */
final class FileModules(val modules: DataFrame, val failure: String)
