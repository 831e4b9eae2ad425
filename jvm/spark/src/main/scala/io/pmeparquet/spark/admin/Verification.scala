package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.types.{IntegerType, StringType}

import io.pmeparquet.{Condition, PmeErrors}
import io.pmeparquet.keys.KeyPurpose
import io.pmeparquet.orc.{OrcUsage, OrcVerification}
import io.pmeparquet.orc.keys.{OrcProviders, OrcScope}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.parquet.verify.{FileVerification, Finding, Opened, Sample, Unprotected, Verified}
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress, ResultRows}
import io.pmeparquet.spark.admin.seal.SealedGuard
import io.pmeparquet.spark.options.{OrcResolver, ResolvedOptions}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}

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
      live: Option[LiveFiles]
  ): VerifiedTable = PmeSparkException.translated {
    val done = run(session, path, options, sample, allFiles, live)
    new VerifiedTable(
      results.frame(session, done.findings),
      done.opened,
      done.skipped,
      done.readable,
      done.tables.map(new DeltaSeen(_)).toArray,
      done.policies.toArray
    )
  }

  /**
   * For Python.
   *
   * @param live from [[LiveFiles.reported]], or null
   */
  def verify(
      session: SparkSession,
      path: String,
      options: java.util.Map[String, String],
      files: Double,
      pages: Double,
      seed: Long,
      allFiles: Boolean,
      live: AnyRef
  ): VerifiedTable = Progress.unwatching(PmeSparkException.translated {
    verify(
      session,
      path,
      options.asScala.toMap,
      Sample(files, pages, seed),
      allFiles,
      LiveFiles.ofPython(live)
    )
  })

  private[admin] def findings(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample,
      allFiles: Boolean
  ): Seq[Finding] = run(session, path, options, sample, allFiles, None).findings

  /**
   * @param skipped how many files the sample left out
   * @param policies that the keys of Parquet files had to follow
   */
  private final case class Run(
      findings: Seq[Finding],
      opened: Opened,
      skipped: Long,
      readable: ReadableColumns,
      tables: Seq[DeltaContents],
      policies: Seq[String]
  )

  private def run(
      session: SparkSession,
      path: String,
      options: Map[String, String],
      sample: Sample,
      allFiles: Boolean,
      live: Option[LiveFiles]
  ): Run = {
    val conf = SparkAccess.hadoopConf(session, options)
    val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Verify)
    val scope = resolved.readScope
    val contents = TableContents.of(session, new Path(path), conf, options, live)
    val all = (contents.live ++ (if (allFiles) contents.others else Nil)).sortBy(_.path)
    val checkpoints = contents.tables.flatMap(_.checkpoints).sortBy(_.path)
    val chosen = sample.of(all) ++ sample.of(checkpoints)
    val orcKeys = if (resolved.namesKms) Some(new OrcResolver(resolved, None).withoutColumns()) else None
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
    val (sealing, opening) =
      new SealedGuard(resolved).findings(new Path(path), all, chosen, done.flatMap(_.findings))
    val logged = contents.tables.flatMap(ofLog)
    // If options say how each column must be protected, each file has its own findings for columns that differ.
    val differing = if (scope.settings.columns.isDefined) Nil else readable.findings
    val findings = sealing ++ logged ++ differing ++ opening
    val skipped = all.size + checkpoints.size - chosen.size
    val followed = resolved.policies.map(_.forReads).filter(_.bindsKeys).map(_.describe)
    Run(findings, opened, skipped, readable, contents.tables, followed)
  }

  /** Live files that are not as the log says. */
  private def ofLog(table: DeltaContents): Seq[Finding] = {
    val version = table.log.version
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

  private[admin] val results: ResultRows[Finding] = ResultRows
    .of[Finding]
    .required("file", StringType)(_.file)
    .optional("row_group", IntegerType)(_.rowGroup)
    .optional("column", StringType)(_.column)
    .optional("page", IntegerType)(_.page)
    .optional("module", StringType)(_.module)
    .required("condition", StringType)(_.condition)
    .required("message", StringType)(_.message)
}

/**
 * @param findings empty if every module in the sample opens, and no column is readable in only some of the files
 * @param skippedFiles how many files the sample left out
 * @param readable what has no key, so that there was nothing to open
 * @param tables the Delta tables at or below the path, or the one that the path is a part of
 * @param policies those that the keys of Parquet files must follow: name, number and place of each
 */
final class VerifiedTable(
    val findings: DataFrame,
    val opened: Opened,
    val skippedFiles: Long,
    val readable: ReadableColumns,
    val tables: Array[DeltaSeen],
    val policies: Array[String]
)

/**
 * Verifies the files of a table. Some may be ORC files. ''Crosses the wire.''
 *
 * @param keys of ORC files, of a read that accepts refusals; none if the options name no KMS
 */
private final class OrcVerifying(parquet: FileVerification, keys: Option[OrcScope]) extends Serializable {

  /** @param goOn called often; throws if the work is no longer wanted */
  def of(file: ListedFile, conf: Configuration, goOn: () => Unit): Verified = {
    val verified = parquet.of(file, conf, goOn)
    val isNoParquet = verified.findings.exists(_.condition == Condition.DamagedFile.name)
    val path = new Path(file.path)
    if (isNoParquet && OrcUsage.isOrc(path, conf)) ofOrc(path, file.length, conf, goOn) else verified
  }

  private def ofOrc(path: Path, length: Long, conf: Configuration, goOn: () => Unit): Verified = {
    val name = path.toString
    val done = OrcVerification.of(path, length, conf, keys.map(OrcProviders.of).orNull, goOn)
    val findings = done.findings.map { one =>
      Finding(name, one.stripe, one.column, condition = one.condition, message = one.problem)
    }
    val closed = done.masked.map { column =>
      val failed = PmeErrors.orcNotVerified(name, column)
      Finding(name, column = Some(column), condition = failed.condition.name, message = failed.problem)
    }
    // Nothing in ORC has a tag.
    Verified(findings ++ closed, Opened(files = 1, untaggedPages = done.stripes.toLong, bytes = length))
  }
}

/**
 * The parts of a table without modules that a verification could open. A writer may leave columns in plaintext. A
 * column that other files encrypt is a finding. ''Driver only.''
 *
 * @param plaintextFiles how many plaintext files there are, which the options allow
 * @param files for each column, in how many encrypted files it is readable
 */
final class ReadableColumns private (
    val plaintextFiles: Long,
    files: Map[String, Long],
    private[admin] val findings: Seq[Finding]
) {

  /** For Python. */
  def columns: java.util.Map[String, java.lang.Long] = {
    val sorted = new java.util.LinkedHashMap[String, java.lang.Long]
    files.toSeq.sorted.foreach { case (column, count) => sorted.put(column, count) }
    sorted
  }
}

private[admin] object ReadableColumns {

  /** @param looked what each file has without protection, by its path */
  def of(looked: Seq[(String, Unprotected)], caseSensitive: Boolean): ReadableColumns = {
    val names = looked.flatMap { case (_, one) => (one.readable ++ one.encrypted).toSeq.sorted }
    val spelling = new Spellings(names, caseSensitive)
    val readable = filesBy(looked)(_.readable.map(spelling(_)))
    val encrypted = filesBy(looked)(_.encrypted.map(spelling(_)))
    new ReadableColumns(
      looked.map(_._2.files).sum,
      readable.map { case (column, files) => column -> files.size.toLong },
      for {
        (column, files) <- readable.toSeq.sortBy(_._1)
        protectedIn <- encrypted.get(column).toSeq
      } yield {
        val failed = PmeErrors.readableColumn(files, column, protectedIn.size)
        Finding(
          files.head,
          column = Some(column),
          condition = failed.condition.name,
          message = failed.problem
        )
      }
    )
  }

  private def filesBy(looked: Seq[(String, Unprotected)])(
      columns: Unprotected => Set[String]
  ): Map[String, Seq[String]] =
    looked
      .flatMap { case (file, one) => columns(one).toSeq.map(_ -> file) }
      .groupBy(_._1)
      .map { case (column, files) => column -> files.map(_._2) }
}
