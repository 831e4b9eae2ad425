package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.types._

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.verify.{FileVerification, Finding, Opened, Sample, Verified}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Opens every module of every file of a table with its keys, one file per task, and reports all that do not open:
 * `pme.verify`, and in Scala
 * {{{
 *   Verification.verify(spark, "s3a://…/table", Map("kms" -> "vault", …)).findings.show()
 * }}}
 * ''Driver only.''
 */
object Verification {

  /**
   * In a Delta table, it opens the live files and the checkpoints.
   *
   * @param options the options of a read: whatever they refuse is a finding
   * @param allFiles whether to open files of a Delta table that are not live, too, and its change data
   */
  def verify(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample = Sample(),
      allFiles: Boolean = false
  ): VerifiedTable = verify(session, path, options, sample, allFiles, None)

  private def verify(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample,
      allFiles: Boolean,
      told: Option[LiveFiles]
  ): VerifiedTable = PmeSparkException.translated {
    val done = run(session, path, options, sample, allFiles, told)
    new VerifiedTable(
      session.createDataFrame(done.rows.asJava, schema),
      done.opened,
      done.skipped,
      done.readable,
      done.tables.map(new DeltaSeen(_)).toArray
    )
  }

  /**
   * For Python.
   *
   * @param told from [[LiveFiles.told]], or null
   */
  def verify(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      files: Double,
      pages: Double,
      seed: Long,
      allFiles: Boolean,
      told: AnyRef
  ): VerifiedTable = Progress.unwatching(PmeSparkException.translated {
    verify(
      session,
      path,
      options.asScala.toMap,
      Sample(files, pages, seed),
      allFiles,
      LiveFiles.ofPython(told)
    )
  })

  private[admin] def rows(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample,
      allFiles: Boolean
  ): Seq[Row] = run(session, path, options, sample, allFiles, None).rows

  /** @param skipped how many files the sample left out */
  private final case class Run(
      rows: Seq[Row],
      opened: Opened,
      skipped: Long,
      readable: ReadableColumns,
      tables: Seq[DeltaContents]
  )

  private def run(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample,
      allFiles: Boolean,
      told: Option[LiveFiles]
  ): Run = {
    val conf = SparkAccess.hadoopConf(session, options)
    val resolver = new ConfResolver(session)
    val scope = resolver.read(options)
    val contents = TableContents.of(session, new Path(path), conf, options, told)
    val all = (contents.live ++ (if (allFiles) contents.others else Nil)).sortBy(_.path)
    val checkpoints = contents.tables.flatMap(_.checkpoints).sortBy(_.path)
    val chosen = sample.of(all) ++ sample.of(checkpoints)
    val orcKeys = if (resolver.namesKms(options)) Some(resolver.orc(options).unjudged()) else None
    val verification = new OrcVerifying(new FileVerification(scope, sample), orcKeys)
    val step = Progress.step(session, "verifying", chosen.size, chosen.map(_.length).sum)
    step.begin()
    val done = FileJob
      .eachWhole(session, conf, chosen)(_.length) { (file, conf) =>
        step.counting(file.length)(verification.of(file, conf, () => FileJob.goOn("the verification")))
      }
      .map { case (file, outcome) => outcome.fold(failed(file, _), identity) }
    val opened = done.map(_.opened).fold(Opened())(_ + _)
    val caseSensitive = SparkAccess.sqlConf(session).caseSensitiveAnalysis
    val readable = ReadableColumns.of(chosen.map(_.path).zip(done.map(_.unprotected)), caseSensitive)
    val sealing = new SnapshotFindings(session, options).of(new Path(path), all, chosen)
    val logged = contents.tables.flatMap(ofLog)
    // If options say how each column must be protected, each file has its own findings for columns that differ.
    val differing = if (scope.settings.columns.isDefined) Nil else readable.findings
    val findings = sealing ++ logged ++ differing ++ done.flatMap(_.findings)
    val skipped = all.size + checkpoints.size - chosen.size
    Run(findings.map(row), opened, skipped, readable, contents.tables)
  }

  /** Live files that are not as the log says. */
  private def ofLog(table: DeltaContents): Seq[Finding] = {
    val version = table.said.version
    val missing =
      table.missing.map(file => PmeErrors.liveFileMissing(file.toString, version) -> file.toString)
    val differing = table.otherLengths.map { case (file, logged) =>
      PmeErrors.liveFileLength(file.path, version, logged, file.length) -> file.path
    }
    (missing ++ differing).map { case (failed, file) =>
      Finding(file, condition = failed.condition.name, message = failed.problem)
    }
  }

  private def failed(file: ListedFile, failure: FileFailure) = Verified(
    List(Finding(file.path, condition = failure.condition, message = failure.message)),
    Opened(files = 1)
  )

  private[admin] val schema: StructType = StructType(
    Seq(
      StructField("file", StringType, nullable = false),
      StructField("row_group", IntegerType),
      StructField("column", StringType),
      StructField("page", IntegerType),
      StructField("module", StringType),
      StructField("condition", StringType, nullable = false),
      StructField("message", StringType, nullable = false)
    )
  )

  private def row(one: Finding) = Row(
    one.file,
    one.rowGroup.map(Int.box).orNull,
    one.column.orNull,
    one.page.map(Int.box).orNull,
    one.module.orNull,
    one.condition,
    one.message
  )
}

/**
 * @param findings empty if every module in the sample opens, and no column is readable in only some of the files
 * @param skippedFiles how many files the sample left out
 * @param readable what has no key, so that there was nothing to open
 * @param tables the Delta tables at or below the path, or the one that the path is a part of
 */
final class VerifiedTable(
    val findings: DataFrame,
    val opened: Opened,
    val skippedFiles: Long,
    val readable: ReadableColumns,
    val tables: Array[DeltaSeen]
)
