package io.pmeparquet.spark.orc

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.FileStatus
import org.apache.spark.sql.execution.datasources.orc.OrcOptions
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.options.Masking
import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.orc.tail.OrcTail
import io.pmeparquet.orc.OrcAdmission
import io.pmeparquet.spark.session.SparkAccess

/** Infers the schema of ORC files, after a look at each file that Spark opens for it. ''Driver only.'' */
private[orc] object OrcSchema {

  /** @param spark Spark's own inference */
  def infer(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus],
      scope: OrcScope
  )(spark: Seq[FileStatus] => Option[StructType]): Option[StructType] = {
    val conf = SparkAccess.hadoopConf(session, options)
    scope.prepareProvider(conf)
    val sqlConf = SparkAccess.sqlConf(session)
    val merges = new OrcOptions(options, sqlConf).mergeSchema
    val opened = if (merges) files else files.find(_.getLen > 0).toSeq
    if (merges) lookAtAll(session, opened, conf)
    else opened.foreach(file => OrcTail.read(file.getPath, file.getLen, conf))
    spark(opened).map { schema =>
      scope.settings.masking
        .filter(_.leavesOutSome)
        .fold(schema)(withoutRefused(schema, opened, scope, _, conf, sqlConf.caseSensitiveAnalysis))
    }
  }

  private def lookAtAll(session: SparkSession, files: Seq[FileStatus], conf: Configuration): Unit = {
    val context = session.sparkContext
    val shared = context.broadcast(new SerializableConfiguration(conf))
    val named = files.map(file => file.getPath.toString -> file.getLen)
    context.parallelize(named, named.size.min(context.defaultParallelism * 4).max(1)).foreach {
      case (path, length) => OrcTail.read(new org.apache.hadoop.fs.Path(path), length, shared.value.value)
    }
  }

  /** `deniedColumns=drop` and `missingKeys=drop`: without the columns whose keys this reader is refused in the files that show the schema. */
  private def withoutRefused(
      schema: StructType,
      files: Seq[FileStatus],
      scope: OrcScope,
      masking: Masking,
      conf: Configuration,
      caseSensitive: Boolean
  ): StructType = {
    val wanted = schema.fields.toSeq.zipWithIndex.map { case (field, position) =>
      OrcAdmission.Wanted(field.name, position)
    }
    val gate = new OrcAdmission(scope, wanted, caseSensitive)
    val refused = files.flatMap { file =>
      gate.refused(OrcTail.read(file.getPath, file.getLen, conf), file.getPath.toString)
    }
    val names = refused.filter(one => masking.leavesOut(one.denied.condition)).map(_.wanted).toSet
    StructType(schema.filterNot(field => names(field.name)))
  }
}
