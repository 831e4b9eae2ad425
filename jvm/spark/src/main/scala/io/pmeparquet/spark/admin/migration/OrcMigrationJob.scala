package io.pmeparquet.spark.admin.migration

import java.util.Locale

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.FileFormat
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.copy.InPlaceManifest
import io.pmeparquet.parquet.files.ResumableTable
import io.pmeparquet.spark.admin.job.{FileFailure, FileJob, Progress}
import io.pmeparquet.spark.options.ConfResolver
import io.pmeparquet.spark.orc.OrcFormat
import io.pmeparquet.spark.session.{FormatName, SparkAccess}

/**
 * Writes, verifies and publishes the files of a migration that nothing speaks against. ''Driver only.''
 *
 * @param schema of the source
 * @param writeOptions with the keys of columns
 */
private[migration] final class OrcMigrationJob(
    session: SparkSession,
    looked: LookedAt,
    schema: StructType,
    orc: OrcFormat,
    readOptions: Map[String, String],
    writeOptions: Map[String, String],
    to: Path
) {
  private val readConf = SparkAccess.hadoopConf(session, readOptions)
  private val written = FileRows.withoutChars(schema)
  private def parquet: FileFormat = OrcMigrationRun.instance(FormatName.FileFormatClass)

  def run(): MigratedTable = {
    val job = Job.getInstance(SparkAccess.hadoopConf(session, writeOptions))
    FileOutputFormat.setOutputPath(job, to)
    job.setOutputKeyClass(classOf[Void])
    job.setOutputValueClass(classOf[InternalRow])
    val writer = parquet.prepareWrite(session, job, writeOptions, written)
    val conf = job.getConfiguration
    val source = FileRows.reader(session, orc, schema, readOptions, readConf)
    val target =
      FileRows.reader(session, parquet, written, checkOptions, SparkAccess.hadoopConf(session, checkOptions))
    val shared = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    val extension = writer.getFileExtension(OrcFileCopy.context(conf))
    val files = looked.opened.map { case (file, facts) =>
      WantedFile(file, file.target(extension), facts.rows)
    }.toList
    val table = ResumableTable.begin(to, purpose, conf)
    try {
      val copy = new OrcFileCopy(source, target, writer, shared, written, sql, table)
      val done = copied(files, copy)
      requireSameSource()
      table.publish(files.map(_.to).toSet, conf)
      MigratedTable(
        done.size.toLong,
        done.map(_.rows).sum,
        done.map(_.bytes).sum,
        done.count(_.already).toLong
      )
    } finally table.end(conf)
  }

  private def copied(files: Seq[WantedFile], copy: OrcFileCopy): Seq[MigratedFile] = {
    val step = Progress.step(session, "migrating", files.size, files.map(_.from.length).sum)
    step.begin()
    val done = FileJob.eachWhole(session, readConf, files)(_.from.length) { (file, conf) =>
      step.counting(file.from.length)(copy.migrate(file, conf))
    }
    done.collectFirst { case (_, Left(failure)) => throw OrcMigrationJob.raised(failure) }
    done.collect { case (_, Right(one)) => one }
  }

  /** A file that was added after the listing would be missing in the target. */
  private def requireSameSource(): Unit = {
    val now = looked.source.listAgain().files.toSet
    val before = looked.source.files.toSet
    ((now -- before) ++ (before -- now)).headOption.foreach(file =>
      throw PmeErrors.changedMeanwhile(file.path)
    )
  }

  /** Those of a read of what is written, which stands elsewhere until it is published. */
  private def checkOptions: Map[String, String] = {
    val own = writeOptions.map { case (name, value) =>
      if (!name.equalsIgnoreCase(PmeOptions.AadPrefix.name)) name -> value
      else name -> value.replace("{path}", to.toUri.getPath).replace("{table}", to.getName)
    }
    own.filterNot(_._1.equalsIgnoreCase(PmeOptions.Snapshot.name)) + (PmeOptions.Snapshot.name -> "off")
  }

  /** Dates before 1582 are the same days in both formats. */
  private def sql: Map[String, String] = {
    val own = SparkAccess.sqlConf(session).getAllConfs.filter(_._1.startsWith("spark.sql."))
    own.toList.toMap ++ Seq(SQLConf.PARQUET_REBASE_MODE_IN_WRITE, SQLConf.PARQUET_INT96_REBASE_MODE_IN_WRITE)
      .map(
        _.key -> "CORRECTED"
      )
  }

  /** Runs that would write other files have other staged tables: what a file has must not depend on the run. */
  private def purpose: String = {
    val settings =
      new ConfResolver(session).writeSettings(writeOptions, SparkAccess.hadoopConf(session, writeOptions))
    val ofSpark = sql.filter(_._1.startsWith("spark.sql.parquet."))
    val all =
      InPlaceManifest.described(settings.files) ++ ofSpark ++ OrcMigrationJob.ofContent(writeOptions) ++
        Map("source" -> looked.source.name, "schema" -> written.json)
    all.toSeq.sorted.mkString("\n")
  }
}

private[migration] object OrcMigrationJob {

  // These decide which keys wrap, and what is written of them.
  private val OfKeys = Seq(PmeOptions.Kms, PmeOptions.AwsEncryptionContext).map(_.name)

  /** Each process has another one. */
  private val PythonId = "pme.python.kms"

  private val OfConnection: Set[String] =
    (PmeOptions.kmsOptions.map(_.name).filterNot(OfKeys.contains) :+ PythonId)
      .map(_.toLowerCase(Locale.ROOT))
      .toSet

  /**
   * Options without those that say how to reach a KMS. Files under other keys are written again in any case: they do not
   * open.
   */
  def ofContent(options: Map[String, String]): Map[String, String] =
    options.filterNot { case (name, _) => OfConnection(name.toLowerCase(Locale.ROOT)) }

  /** The failure of a file, to throw. */
  def raised(failure: FileFailure): Throwable =
    Condition.all.find(_.name == failure.condition) match {
      case Some(condition) =>
        new PmeException(condition, failure.message.stripPrefix(s"[${condition.name}] "))
      case None => new java.io.IOException(s"${failure.condition}: ${failure.message}")
    }
}
