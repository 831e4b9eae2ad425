package io.pmeparquet.parquet.write

import java.io.IOException

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.ParquetProperties
import org.apache.parquet.column.ParquetProperties.WriterVersion
import org.apache.parquet.hadoop.{ParquetOutputFormat, ParquetWriter}
import org.apache.parquet.hadoop.ParquetOutputFormat.JobSummaryLevel
import org.apache.parquet.schema.{LogicalTypeAnnotation, MessageType}
import org.apache.parquet.ParquetRuntimeException

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.FilePlace
import io.pmeparquet.options.FileSettings

/** Refuses settings with which parquet-java would leave bytes of a protected column readable. */
object WriteRules {

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` */
  def check(conf: Configuration): Unit = {
    if (asksForSummary(conf)) throw summary
    if (ParquetOutputFormat.getWriterVersion(conf) != WriterVersion.PARQUET_1_0)
      throw PmeErrors.unsupported(
        s"option ${ParquetOutputFormat.WRITER_VERSION}",
        "writing V2 pages",
        "parquet-java writes their repetition and definition levels outside the ciphertext",
        "Remove the option, or set it to v1."
      )
  }

  /**
   * For a task of MapReduce, where the level is ALL unless somebody sets it.
   *
   * @throws io.pmeparquet.PmeException `PME_UNSUPPORTED`
   */
  def checkTask(conf: Configuration): Unit =
    if (conf.get("mapreduce.task.attempt.id") != null && writesSummary(conf)) throw summary

  private def summary = PmeErrors.unsupported(
    s"option ${ParquetOutputFormat.JOB_SUMMARY_LEVEL}",
    "a summary file",
    "Parquet writes _metadata and _common_metadata in plaintext, statistics included",
    "Set it to NONE."
  )

  // Spark sets the level to NONE unless somebody sets it; parquet-java's own default is ALL.
  private def asksForSummary(conf: Configuration): Boolean =
    Seq(ParquetOutputFormat.JOB_SUMMARY_LEVEL, OldJobSummary).exists(conf.get(_) != null) && writesSummary(
      conf
    )

  private def writesSummary(conf: Configuration): Boolean =
    ParquetOutputFormat.getJobSummaryLevel(conf) != JobSummaryLevel.NONE

  /**
   * parquet-java leaves the bounding boxes of geometries in a readable footer, whether or not the column is encrypted.
   */
  def refuseGeometry(schema: MessageType, where: String): Unit =
    schema.getColumns.asScala
      .find(column => Option(column.getPrimitiveType.getLogicalTypeAnnotation).exists(isGeometry))
      .foreach { column =>
        throw PmeErrors.unsupported(
          s"$where, column '${column.getPath.mkString(".")}'",
          "plaintextFooter=true with geometries",
          "parquet-java writes their bounding boxes into a readable footer",
          "Use plaintextFooter=false."
        )
      }

  /** The key-value metadata of such a footer is signed, but readable. */
  def statedInPlaintext: PmeException = PmeErrors.contradiction(
    "plaintextFooter=true and templates of keys over columns that are no partition columns",
    "footers would state their values in the clear",
    "Use plaintextFooter=false, or partition the table by these columns."
  )

  // Recognized by name: the oldest parquet-java that this compiles against has no such types.
  private def isGeometry(annotation: LogicalTypeAnnotation): Boolean =
    Seq("GEOMETRY", "GEOGRAPHY").exists(annotation.toString.startsWith)

  /** Spark moves single files to partitions that have a location of their own, under new names. */
  def checkPath(path: Path, settings: FileSettings): Unit =
    if (
      isMovedElsewhere(path) &&
      (settings.externalMaterial || settings.aadPrefix.isDefined || settings.keyColumns.nonEmpty)
    )
      throw PmeErrors.unsupported(
        path.toString,
        "keyMaterial=external, aadPrefix or a template of keys in a partition with a location of its own",
        "Spark moves and renames files there after they are written",
        "Use keyMaterial=internal, no aadPrefix and plain names of keys for this table."
      )

  /** Whether a new file is for a partition that has a location of its own. */
  def isMovedElsewhere(path: Path): Boolean = path.getParent.getName.startsWith(StagingPrefix)

  /** The directory of the table that a write targets: Spark stages dynamic overwrites in a directory within it. */
  def tableDirectory(outputPath: Path): String =
    (if (outputPath.getName.startsWith(StagingPrefix)) outputPath.getParent else outputPath).toUri.getPath

  /** The partition columns of a new file, from the directories between its table and itself. */
  def partitionColumns(file: Path, tableDirectory: String): Seq[String] =
    partitions(file, tableDirectory).reverse.map(directory =>
      FilePlace.unescaped(directory.takeWhile(_ != '='))
    )

  /** The path that a new file will have in its table: a task writes it to another directory, and the commit moves it. */
  def committedPath(file: Path, tableDirectory: String): String =
    (partitions(file, tableDirectory) :+ file.getName).mkString("/")

  /** The path of the directory where that will be. */
  def committedDirectory(file: Path, tableDirectory: String): String =
    (tableDirectory +: partitions(file, tableDirectory)).mkString("/")

  private def partitions(file: Path, tableDirectory: String): Seq[String] = {
    val below = file.getParent.toUri.getPath.stripPrefix(tableDirectory).split('/').toSeq
    below.reverse.takeWhile(_.contains('=')).reverse
  }

  /** The older name of the same setting, which parquet-java still reads. */
  private val OldJobSummary = "parquet.enable.summary-metadata"
  private val StagingPrefix = ".spark-staging-"
}

/**
 * parquet-java removes the statistics of encrypted columns from a plaintext footer, but not the size statistics that it
 * writes since 1.15: total length of values, number of nulls, lengths of lists. Only its properties can turn them off,
 * and its output format, through which Spark writes, passes no setting on to those. So this changes a writer's
 * properties before its first row.
 */
object SizeStatistics {
  private val Property = "sizeStatistics"

  /** @param spark Spark's writer of one file, which has not written anything yet */
  def turnOff(spark: AnyRef, where: String): Unit =
    if (areMade)
      NewWriter.change(spark, unsupported(where, _)) { writer =>
        val field = NewWriter.open(classOf[ParquetProperties], Property)
        field.set(writer.properties, field.get(without))
      }

  private def unsupported(where: String, why: String) = PmeErrors.unsupported(
    where,
    "plaintextFooter=true",
    "this version of parquet-java writes the sizes of protected values into a readable footer, and pme-parquet " +
      s"cannot turn that off ($why)",
    "Use plaintextFooter=false."
  )

  /** The same for a writer that is not made yet. */
  def turnOff(builder: ParquetWriter.Builder[_, _], where: String): Unit =
    if (areMade)
      try {
        builder.getClass
          .getMethod("withSizeStatisticsEnabled", java.lang.Boolean.TYPE)
          .invoke(builder, Boolean.box(false))
        ()
      } catch { case missing: ReflectiveOperationException => throw unsupported(where, missing.getMessage) }

  private def areMade: Boolean =
    classOf[ParquetProperties].getMethods.exists(_.getName == "getSizeStatisticsEnabled")

  private def without: ParquetProperties = {
    val builder = ParquetProperties.builder()
    builder.getClass
      .getMethod("withSizeStatisticsEnabled", java.lang.Boolean.TYPE)
      .invoke(builder, Boolean.box(false))
    builder.build()
  }
}

/** Explains what parquet-java refuses to write. Spark would name only the task that failed. */
object WriteFailures {

  /**
   * @param where the table and the file
   * @param isSparks whether Spark explains a cause itself
   * @return none for failures of others, such as storage
   */
  def explained(failed: Throwable, where: String)(isSparks: Throwable => Boolean): Option[PmeException] =
    PmeException.find(failed).orElse {
      val causes = PmeException.causes(failed)
      if (causes.exists(cause => isSparks(cause) || cause.isInstanceOf[IOException])) None
      else
        causes
          .find(isThrownByParquet)
          .map(cause => PmeErrors.notWritten(where, PmeException.firstLine(cause), failed))
    }

  private def isThrownByParquet(e: Throwable) = e match {
    case _: ParquetRuntimeException => true
    case _: RuntimeException =>
      e.getStackTrace.find(!_.getClassName.startsWith("java.")).exists(_.getClassName.startsWith(Parquet))
    case _ => false
  }

  private val Parquet = "org.apache.parquet."
}
