package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.keys.NoKms
import io.pmeparquet.parquet.rotation.{FileUsage, KeyUse, ListedFile, RotationKeys}
import io.pmeparquet.parquet.ReadScope
import io.pmeparquet.spark.{ConfResolver, PmeSparkException, SparkAccess}
import io.pmeparquet.spark.keys.DriverRoute

/**
 * Which master keys protect what of a table, and what could no longer be read if one were destroyed. Executors look into
 * footers; no page is read. ''Driver only.''
 */
object KeyUsage {

  /** @param options of the KMS; without one, what files tell without keys */
  def of(session: SparkSession, path: String, options: Map[String, String]): DataFrame =
    PmeSparkException.translated(session.createDataFrame(rows(session, path, options).asJava, schema))

  private[admin] def rows(session: SparkSession, path: String, options: Map[String, String]): Seq[Row] = {
    val conf = SparkAccess.hadoopConf(session, options)
    val usage = new FileUsage(scope(session, options))
    val all = TableFiles.list(new Path(path), conf).files
    val step = Progress.step(session, "looking into footers", all.size)
    step.begin()
    val looked = all.grouped(AtOnce).flatMap { files =>
      FileJob.each(session, conf, files)((file, conf) => step.counting(0)(usage.of(file, conf)))
    }
    rows(looked.toSeq)
  }

  /** Opens what the options have the keys of, whatever they refuse: no row is read with it. */
  private[admin] def scope(session: SparkSession, options: Map[String, String]): ReadScope = {
    val resolver = new ConfResolver(session)
    val kms = if (resolver.namesKms(options)) resolver.kms(options) else NoKms
    DriverRoute.warnWhereReadable(session)
    RotationKeys.open(kms, None, resolver.readSettings(options), DriverRoute.open()).scope
  }

  /** As Python calls it. */
  def of(session: SparkSession, path: String, options: java.util.Map[String, String]): DataFrame =
    Progress.unwatching(of(session, path, options.asScala.toMap))

  private val AtOnce = 1000

  private[admin] val schema: StructType = {
    val names = ArrayType(StringType, containsNull = false)
    StructType(
      Seq(
        StructField("master_key", StringType),
        StructField("version", IntegerType),
        StructField("kind", StringType),
        StructField("wrapping", StringType),
        StructField("material", StringType),
        StructField("files", LongType, nullable = false),
        StructField("columns", names, nullable = false),
        StructField("bytes", LongType),
        StructField("rows", LongType),
        StructField("unreadable_files", LongType, nullable = false),
        StructField("unreadable_columns", names, nullable = false),
        StructField("problems", names, nullable = false)
      )
    )
  }

  private def rows(looked: Seq[(ListedFile, Either[FileFailure, Seq[KeyUse]])]): Seq[Row] = {
    val uses = for {
      (file, found) <- looked
      use <- found.fold(failed => Seq(unknown(failed)), identity)
    } yield file.path -> use
    val plaintext = looked.count { case (_, found) => found.exists(_.isEmpty) }
    val grouped = uses.groupBy { case (_, use) =>
      (use.masterKeyId, use.version, use.kind, use.wrapping, use.material)
    }
    val sorted = grouped.values.toSeq.map(row).sortBy(row => row.toSeq.take(5).mkString(" "))
    if (plaintext == 0) sorted else sorted :+ plain(plaintext)
  }

  private def unknown(failed: FileFailure) =
    KeyUse(None, None, "unknown", None, None, Nil, None, None, Nil, Some(failed.condition))

  private def plain(files: Int) =
    Row(null, null, "plaintext", null, null, files.toLong, Nil, null, null, 0L, Nil, Nil)

  private def row(uses: Seq[(String, KeyUse)]): Row = {
    val (files, all) = uses.unzip
    val one = all.head
    val perFile = uses.groupBy(_._1).values.map(_.head._2)
    Row(
      one.masterKeyId.orNull,
      one.version.map(Int.box).orNull,
      one.kind,
      one.wrapping.orNull,
      one.material.orNull,
      files.distinct.size.toLong,
      all.flatMap(_.columns).distinct.sorted,
      sum(all.map(_.bytes)),
      sum(perFile.map(_.rows)),
      uses.collect { case (file, use) if use.opensFile => file }.distinct.size.toLong,
      all.flatMap(_.unreadable).distinct.sorted,
      all.flatMap(_.problem).distinct.sorted
    )
  }

  /** Of what is known; none where some is not. */
  private def sum(values: Iterable[Option[Long]]): Any =
    if (values.forall(_.isDefined)) values.flatten.sum else null
}
