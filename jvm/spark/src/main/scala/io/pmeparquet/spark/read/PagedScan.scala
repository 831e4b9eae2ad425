package io.pmeparquet.spark.read

import java.util.Collections

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.InitContext
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.spark.decode.RowPredicate

/**
 * What all splits of a scan are read for. ''Crosses the wire.''
 *
 * @param required columns of the files
 * @param partitions columns whose values are names of directories
 * @param filters those that parquet-java's filters for row groups and pages can make use of
 * @param rowPredicate what rows are judged by before columns that it does not look at are read
 */
private[spark] final case class PagedScan(
    rules: SparkReadRules,
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    rowPredicate: Option[RowPredicate]
)

/**
 * The columns that Spark asks a file for, as Spark's schema and in the configuration that Spark's read support goes by.
 * ''Executor only.''
 */
private[spark] final case class AskedColumns(conf: Configuration, schema: StructType) {

  /** What Spark's read support needs to find them in a file. */
  def of(file: SplitReader): InitContext = {
    val metadata = file.metadata.getKeyValueMetaData.asScala
    val sets = metadata.map { case (key, value) => key -> Collections.singleton(value) }.toMap.asJava
    new InitContext(conf, sets, file.metadata.getSchema)
  }
}
