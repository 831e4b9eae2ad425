package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{ObjectMapper, PropertyNamingStrategies}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeException

/**
 * What a write would do, told before it is done: which leaf column gets which key, what stays readable, and why the write
 * would be refused. It is decided by what decides in a write; no KMS is called, no job is run and nothing is written.
 * `pme.plan`, and for Scala
 * {{{
 *   WritePlan.of(spark, frame.schema, Seq("day"), Map("kms.keystore.path" -> …, "footerKey" -> …)).columns
 * }}}
 * ''Driver only.''
 *
 * @param columns the leaf columns in the order of the file, then the partition columns
 * @param unmatched entries of `columnKeys` that match no column
 * @param refusals why the write would be refused, what it says before the others; whether the KMS has the keys is not among it
 * @param exposed in sentences, what anybody can read who gets at the files
 */
final case class WritePlan(
    columns: Seq[PlannedColumn],
    unmatched: Seq[UnmatchedPattern],
    refusals: Seq[Refusal],
    files: PlannedFiles,
    exposed: Seq[String]
) {

  /** As Python takes it. */
  def json: String = WritePlan.mapper.writeValueAsString(this)
}

/**
 * A leaf column of the files, or a partition column.
 *
 * @param path in the Parquet schema, with dots
 * @param name as `columnKeys` takes it
 * @param type as Spark names it
 * @param key the id of its master key
 * @param by what decides about it: a value of [[PlannedColumn]]
 * @param pattern in `columnKeys`, by which it has its key
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

  /** Its values become names of directories. */
  val Partition = "partition column"

  /** The write does not take place. */
  val Refused = "refused"
}

/** @param nearest columns, and structs, lists and maps, that it was most likely meant to name */
final case class UnmatchedPattern(pattern: String, key: String, nearest: Seq[String])

final case class Refusal(condition: String, message: String)

object Refusal {
  def of(failure: PmeException): Refusal = Refusal(failure.condition.name, failure.getMessage)
}

/**
 * How files would be encrypted, by the values of options that hold, defaults among them.
 *
 * @param footer `encrypted`, or `signed` and readable
 * @param kms the value of the option: a KMS's short name, or its class
 * @param dataKeyBits none where it is the length of the key that is named, with direct keys
 * @param kekBits none where no key-encryption key comes between
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
   * @param partitionBy as `DataFrameWriter.partitionBy` takes it
   * @param options of the write
   * @throws io.pmeparquet.PmeException as a write does, where options cannot be used
   */
  def of(
      session: SparkSession,
      schema: StructType,
      partitionBy: Seq[String],
      options: Map[String, String]
  ): WritePlan = PmeSparkException.translated(new WritePlanning(session, options).of(schema, partitionBy))

  /** As Python calls it. */
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
