package io.pmeparquet.spark.read

import java.util.Collections

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.hadoop.api.InitContext
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.StructType

import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.spark.decode.RowPredicate

/**
 * What a scan reads from each of its splits. ''Crosses the wire.''
 *
 * @param required the columns to read from the files
 * @param partitions the columns whose values are names of directories
 * @param filters the filters that parquet-java can apply to row groups and pages
 * @param rowPredicate selects rows before the scan reads the columns that it does not look at
 * @param nullChecks the columns, and fields of structs, of which the query asks only whether they are NULL
 */
private[spark] final case class PagedScan(
    rules: SparkReadRules,
    required: StructType,
    partitions: StructType,
    filters: Seq[Filter],
    rowPredicate: Option[RowPredicate],
    nullChecks: Set[Seq[String]]
)

/**
 * The columns that Spark asks a file for, as Spark's schema and in the configuration for Spark's read support.
 * ''Executor only.''
 */
private[spark] final case class AskedColumns(conf: Configuration, schema: StructType) {

  /** What Spark's read support needs to find these columns in a file. */
  def of(file: SplitReader): InitContext = of(file, file.metadata.getSchema)

  /** The same, if the file had this schema. */
  def of(file: SplitReader, schema: MessageType): InitContext = {
    val metadata = file.metadata.getKeyValueMetaData.asScala
    val sets = metadata.map { case (key, value) => key -> Collections.singleton(value) }.toMap.asJava
    new InitContext(conf, sets, schema)
  }
}
