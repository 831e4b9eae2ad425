package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{ObjectMapper, PropertyNamingStrategies}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeException

/**
 * What a write would do: which leaf column would get which key, what would stay readable, and why the write would fail.
 * The same code decides as in a write. It calls no KMS, runs no job and writes nothing: `pme.plan`, and in Scala
 * {{{
 *   WritePlan.of(spark, frame.schema, Seq("day"), Map("kms.keystore.path" -> …, "footerKey" -> …)).columns
 * }}}
 * ''Driver only.''
 *
 * @param columns the leaf columns in the order of the file, then the partition columns
 * @param unmatched entries of `columnKeys` that match no column
 * @param refusals why the write would fail, first the error that it would raise; they do not cover whether the KMS has
 *   the keys
 * @param exposed in sentences, what anybody with access to the files can read
 */
final case class WritePlan(
    columns: Seq[PlannedColumn],
    unmatched: Seq[UnmatchedPattern],
    refusals: Seq[Refusal],
    files: PlannedFiles,
    exposed: Seq[String]
) {

  /** For Python. */
  def json: String = WritePlan.mapper.writeValueAsString(this)
}

/**
 * A leaf column of the files, or a partition column.
 *
 * @param path its path in the Parquet schema, with dots
 * @param name its name for `columnKeys`
 * @param type its type in Spark's words
 * @param key the id of its master key
 * @param by what decides its protection: a value of [[PlannedColumn]]
 * @param pattern the pattern in `columnKeys` that gives it its key
 */
final case class PlannedColumn(
    path: String,
    name: String,
    `type`: String,
    key: Option[String],
    by: String,
    pattern: Option[String]
)

object PlannedColumn {
  val ColumnKey = "column key"
  val FooterKey = "footer key"
  val UniformKey = "uniform key"
  val Plaintext = "plaintext"

  /** The column's values become names of directories. */
  val Partition = "partition column"

  /** The write would fail because of this column. */
  val Refused = "refused"
}

/** @param nearest columns, structs, lists and maps that the pattern most likely means */
final case class UnmatchedPattern(pattern: String, key: String, nearest: Seq[String])

final case class Refusal(condition: String, message: String)

object Refusal {
  def of(failure: PmeException): Refusal = Refusal(failure.condition.name, failure.getMessage)
}

/**
 * How the write would encrypt files, by the effective values of options, including defaults.
 *
 * @param footer `encrypted`, or `signed` and readable
 * @param kms the value of the option: a KMS's short name, or its class
 * @param dataKeyBits none with direct keys, if the named key determines the length
 * @param kekBits none if there are no key-encryption keys
 * @param keyMaterial none with direct keys
 */
final case class PlannedFiles(
    footer: String,
    footerKey: String,
    kms: String,
    algorithm: String,
    keyManagement: String,
    dataKeyBits: Option[Int],
    kekBits: Option[Int],
    keyMaterial: Option[String],
    aadPrefix: Option[String],
    storeAadPrefix: Boolean,
    unlistedColumns: String
)

object WritePlan {

  /**
   * @param partitionBy the columns for `DataFrameWriter.partitionBy`
   * @param options the options of the write
   * @throws io.pmeparquet.PmeException if the write could not use the options
   */
  def of(
      session: SparkSession,
      schema: StructType,
      partitionBy: Seq[String],
      options: Map[String, String]
  ): WritePlan = PmeSparkException.translated(new WritePlanning(session, options).of(schema, partitionBy))

  /** For Python. */
  def of(
      session: SparkSession,
      schema: StructType,
      partitionBy: java.util.List[String],
      options: java.util.Map[String, String]
  ): WritePlan = of(session, schema, partitionBy.asScala.toList, options.asScala.toMap)

  private val mapper =
    new ObjectMapper()
      .registerModule(DefaultScalaModule)
      .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
}
