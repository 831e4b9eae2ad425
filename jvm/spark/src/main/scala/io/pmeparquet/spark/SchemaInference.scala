package io.pmeparquet.spark

import java.util.Collections

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.Footer
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFileFormat,
  ParquetOptions,
  ParquetToSparkSchemaConverter
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.pages.PagedFile
import io.pmeparquet.parquet.ReadScope

/**
 * The schema of a set of files, from their footers. Spark's own inference would lose the scope on its way to executors,
 * and would trust summary files, which nothing authenticates.
 */
private[spark] object SchemaInference {

  def infer(
      session: SparkSession,
      options: Map[String, String],
      files: Seq[FileStatus],
      scope: ReadScope
  ): Option[StructType] = {
    val sqlConf = SparkAccess.sqlConf(session)
    val data = files.map(_.getPath).filterNot(path => SummaryFiles.contains(path.getName)).sortBy(_.toString)
    val merge = new ParquetOptions(options, sqlConf).mergeSchema
    val conf = SparkAccess.hadoopConf(session, options)
    SparkAccess.setSchemaFlags(conf, sqlConf)
    val schemas =
      if (merge && data.size > 1) readOnExecutors(session, data, conf, scope)
      else data.headOption.map(readSchema(_, conf, scope)).toSeq
    schemas.reduceOption(SchemaMerge.merge(_, _, sqlConf.caseSensitiveAnalysis))
  }

  private val SummaryFiles = Set("_metadata", "_common_metadata")

  private def readOnExecutors(
      session: SparkSession,
      files: Seq[Path],
      conf: Configuration,
      scope: ReadScope
  ): Seq[StructType] = {
    val broadcast = session.sparkContext.broadcast(new SerializableConfiguration(conf))
    val slices = files.size.min(session.sparkContext.defaultParallelism)
    val read = new ReadSchemas(broadcast.value, scope)
    session.sparkContext
      .parallelize(files.map(_.toString), slices)
      .map(file => read(new Path(file)).json)
      .collect()
      .toSeq
      .distinct
      .map(json => org.apache.spark.sql.types.DataType.fromJson(json).asInstanceOf[StructType])
  }

  /** ''Crosses the wire'', with the scope. */
  private final class ReadSchemas(conf: SerializableConfiguration, scope: ReadScope)
      extends (Path => StructType)
      with Serializable {
    override def apply(file: Path): StructType = PmeSparkException.translated {
      readSchema(file, conf.value, scope)
    }
  }

  private def readSchema(file: Path, conf: Configuration, scope: ReadScope): StructType = {
    val opened = new PagedFile(scope, file, conf)
    try {
      val metadata = new ParquetMetadata(opened.metadata, Collections.emptyList[BlockMetaData])
      ParquetFileFormat.readSchemaFromFooter(
        new Footer(file, metadata),
        new ParquetToSparkSchemaConverter(conf)
      )
    } finally opened.close()
  }
}
