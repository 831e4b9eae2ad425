package io.pmeparquet.spark

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.{Footer, ParquetFileReader}
import org.apache.spark.sql.execution.datasources.parquet.{
  ParquetFileFormat,
  ParquetOptions,
  ParquetToSparkSchemaConverter
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.SerializableConfiguration

import io.pmeparquet.parquet.{ParquetFailures, PmeCryptoFactory, ReadScope}

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
    PmeCryptoFactory.useForRead(conf, scope)
    val schemas =
      if (merge && data.size > 1) readOnExecutors(session, data, conf, scope)
      else data.headOption.map(readSchema(_, conf)).toSeq
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
      // The scope is named so that it comes along; the configuration leads to it by its id.
      require(conf.value.get(io.pmeparquet.parquet.Scopes.ReadId) == scope.id)
      readSchema(file, conf.value)
    }
  }

  private def readSchema(file: Path, conf: Configuration): StructType = {
    val footer = ParquetFailures.naming(file, "its footer")(readFooter(file, conf))
    ParquetFileFormat.readSchemaFromFooter(footer, new ParquetToSparkSchemaConverter(conf))
  }

  private def readFooter(file: Path, conf: Configuration): Footer = {
    val options = org.apache.parquet.HadoopReadOptions
      .builder(conf, file)
      .withMetadataFilter(ParquetMetadataConverter.SKIP_ROW_GROUPS)
      .build()
    val reader =
      ParquetFileReader.open(org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(file, conf), options)
    try new Footer(file, reader.getFooter)
    finally reader.close()
  }
}
