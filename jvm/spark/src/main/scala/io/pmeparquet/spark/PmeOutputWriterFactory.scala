package io.pmeparquet.spark

import org.apache.hadoop.fs.Path
import org.apache.hadoop.mapreduce.TaskAttemptContext
import org.apache.spark.sql.execution.datasources.{OutputWriter, OutputWriterFactory}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.parquet.{WriteRules, WriteScope}

/** Spark's writer factory, which brings the write's scope to executors. ''Crosses the wire.'' */
private[spark] final class PmeOutputWriterFactory(factory: OutputWriterFactory, scope: WriteScope)
    extends OutputWriterFactory {

  override def getFileExtension(context: TaskAttemptContext): String = factory.getFileExtension(context)

  override def newInstance(path: String, dataSchema: StructType, context: TaskAttemptContext): OutputWriter =
    PmeSparkException.translated {
      WriteRules.checkPath(new Path(path), scope.settings)
      factory.newInstance(path, dataSchema, context)
    }

  override def toString: String = s"PmeOutputWriterFactory($scope)"
}
