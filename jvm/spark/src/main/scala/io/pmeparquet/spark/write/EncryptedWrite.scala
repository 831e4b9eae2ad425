package io.pmeparquet.spark.write

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat
import org.apache.hadoop.mapreduce.Job
import org.apache.spark.sql.execution.datasources.OutputWriterFactory
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.options.{ConfResolver, OptionOrigin, PreparedWrite}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.snapshots.WriteSeal
import io.pmeparquet.PmeErrors

/** The start of a write job: it resolves and checks the settings, and makes the keys. ''Driver only.'' */
private[spark] object EncryptedWrite {

  /**
   * @param origin where the options come from
   * @param prepared the scope of this write, if a rule has made it
   * @param seal whether the caller seals the table after its commit
   * @param spark Spark's own preparation of the job, which reads the job's configuration
   */
  def prepare(
      session: SparkSession,
      origin: OptionOrigin,
      prepared: Option[PreparedWrite],
      seal: WriteSeal,
      job: Job,
      options: Map[String, String],
      dataSchema: StructType
  )(spark: => OutputWriterFactory): OutputWriterFactory = PmeSparkException.translated {
    val conf = job.getConfiguration
    val spelled = ConfResolver.spelled(options)
    // Streaming sinks pass a configuration without the options. Spark's own source then ignores them.
    SparkAccess.setOptions(conf, spelled)
    WriteRules.check(conf)
    val resolver = new ConfResolver(session, origin)
    val settings = resolver.writeSettings(spelled, conf)
    val output = FileOutputFormat.getOutputPath(job)
    val written = seal match {
      case WriteSeal.AfterCommit(files) =>
        files.begin()
        Some(files)
      case WriteSeal.Unsealed => None
      // A streaming sink commits without a command that could seal.
      case WriteSeal.NotEvaluated =>
        if (WriteSeal.isNeeded(session, resolver, spelled, new Path(WriteRules.tableDirectory(output))))
          throw PmeErrors.cannotSealWrite
        None
    }
    val leaves = ColumnPlan.leaves(session, dataSchema)
    if (!prepared.exists(_.hasChecked(settings, output, leaves))) ColumnPlan.check(leaves, settings.files)
    val scope = PreparedWrite.scope(settings, conf, output, prepared)
    PmeCryptoFactory.useForWrite(conf, scope)
    new PmeOutputWriterFactory(spark, scope, written)
  }
}
