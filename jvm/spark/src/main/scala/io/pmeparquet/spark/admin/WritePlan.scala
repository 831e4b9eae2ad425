package io.pmeparquet.spark.admin

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.{ObjectMapper, PropertyNamingStrategies}
import com.fasterxml.jackson.module.scala.DefaultScalaModule
import org.apache.parquet.hadoop.ParquetOutputFormat
import org.apache.parquet.schema.MessageType
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.PartitioningUtils
import org.apache.spark.sql.types._
import org.apache.spark.sql.SparkSession

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnProtection, KeyDraft, LeafColumn}
import io.pmeparquet.keys.{KeyPurpose, KmsSettings}
import io.pmeparquet.options.FileSettings
import io.pmeparquet.parquet.schema.SchemaColumns
import io.pmeparquet.parquet.write.WriteRules
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.spark.write.{ColumnPlan, KeyPlaces}

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
 * @param policies that the options follow, as messages name them
 */
final case class WritePlan(
    columns: Seq[PlannedColumn],
    unmatched: Seq[UnmatchedPattern],
    refusals: Seq[Refusal],
    files: PlannedFiles,
    exposed: Seq[String],
    policies: Seq[String]
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
 * @param pattern the pattern in `columnKeys`, or of a policy, that gives it its key
 * @param bloomFilter whether row groups have a Bloom filter of it, unless a dictionary of all its values serves as one
 * @param tag the tag of a policy that gives it its key
 */
final case class PlannedColumn(
    path: String,
    name: String,
    `type`: String,
    key: Option[String],
    by: String,
    pattern: Option[String],
    bloomFilter: Boolean,
    tag: Option[String]
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
  ): WritePlan = PmeSparkException.translated(new WritePlanning(session, options, schema).of(partitionBy))

  /** For Python. */
  def of(
      session: SparkSession,
      schema: StructType,
      partitionBy: java.util.List[String],
      options: java.util.Map[String, String]
  ): WritePlan = of(session, schema, partitionBy.asScala.toList, options.asScala.toMap)

  private[admin] val mapper =
    new ObjectMapper()
      .registerModule(DefaultScalaModule)
      .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
}

/** Makes a [[WritePlan]]. ''Driver only.'' */
private[admin] final class WritePlanning(
    session: SparkSession,
    options: Map[String, String],
    schema: StructType
) {
  private val sqlConf = SparkAccess.sqlConf(session)
  private val resolved = ResolvedOptions.ofOperation(session, options, KeyPurpose.Try).writing(schema)
  private lazy val hadoop = SparkAccess.hadoopConf(session, options)

  def of(partitionBy: Seq[String]): WritePlan = {
    checkAsSpark(partitionBy)
    WriteRules.check(hadoop)
    val data = StructType(schema.filterNot(field => partitionBy.exists(sqlConf.resolver(_, field.name))))
    requireTypes(data)
    val fileSchema = ColumnPlan.fileSchema(session, data)
    val leaves = SchemaColumns.leaves(fileSchema)
    val settings = resolved.writeSettings
    // The keys of a policy for other columns play no part, but for a rule that names a partition column.
    val whole = settings.files
    val files = whole.of(leaves)
    val ofKeys =
      try { KeyPlaces.columns(files, partitionBy, data, "the table")(identity); None }
      catch { case refused: PmeException => Some(refused) }
    val taken = KeyDraft.ofPartitions(partitionBy, whole.columnKeys, whole.caseSensitive)
    val all = KeyDraft.of(leaves, files.columnKeys, files.unlisted, files.caseSensitive)
    // An entry that names a partition column is refused only for that.
    val draft = all.copy(unmatched = all.unmatched.filterNot(taken.map(_._1).toSet))
    val columns = draft.columns.map(planned(_, data, files)) ++ partitionBy.map(partition)
    WritePlan(
      columns,
      draft.unmatched.map { entry =>
        UnmatchedPattern(entry.pattern.text, entry.masterKeyId, draft.nearest(entry.pattern))
      },
      (taken.map { case (entry, column) => PmeErrors.partitionColumn(entry.pattern.text, column) }
        ++ ofKeys ++ draft.refusals ++ geometry(fileSchema, files)).map(Refusal.of),
      described(files, settings.use.settings),
      Exposure.of(columns, files),
      resolved.policies.map(_.describe)
    )
  }

  /** Makes the checks that Spark makes before it calls the format. */
  private def checkAsSpark(partitionBy: Seq[String]): Unit = {
    // Spark allows duplicate names within structs, so this checks only top-level names.
    val names = StructType(schema.fields.map(field => StructField(field.name, NullType)))
    ColumnNames.requireDistinct(names, sqlConf.caseSensitiveAnalysis)
    if (partitionBy.nonEmpty)
      PartitioningUtils.validatePartitionColumn(schema, partitionBy, sqlConf.caseSensitiveAnalysis)
  }

  /** Spark's own check has other parameters in each version, and its converter does not handle these types. */
  private def requireTypes(data: StructType): Unit = {
    val format = new ParquetFileFormat
    data.find(field => !format.supportDataType(field.dataType)).foreach { field =>
      throw PmeErrors.unsupported(
        s"column '${field.name}'",
        s"writing type ${field.dataType.catalogString}",
        "Spark cannot write it to Parquet",
        "Cast the column, or remove it."
      )
    }
  }

  private def planned(column: KeyDraft.Column, data: StructType, files: FileSettings): PlannedColumn = {
    val (key, by) = column.protection match {
      case Some(ColumnProtection.ColumnKey(id)) => (Some(id), PlannedColumn.ColumnKey)
      case Some(ColumnProtection.FooterKey) => (Some(files.footerKey), keyOfRest)
      case Some(ColumnProtection.Plaintext) => (None, PlannedColumn.Plaintext)
      case None => (None, PlannedColumn.Refused)
    }
    val leaf = column.leaf
    PlannedColumn(
      leaf.path.mkString("."),
      leaf.display,
      typeAt(data, leaf.sparkPath).catalogString,
      key,
      by,
      column.by.headOption.map(_.pattern.text),
      hasFilter(leaf.path),
      column.by.headOption.flatMap(_.tag).map(_.name)
    )
  }

  /**
   * As parquet-java reads its settings: whoever says how many values to expect asks for a filter, too, and a setting of
   * one column never means a name with a dot in it.
   */
  private def hasFilter(path: Seq[String]): Boolean = {
    val enabled = s"${ParquetOutputFormat.BLOOM_FILTER_ENABLED}#${path.mkString(".")}"
    val expected = s"${ParquetOutputFormat.BLOOM_FILTER_EXPECTED_NDV}#${path.mkString(".")}"
    val isNamed = !path.exists(_.contains('.'))
    if (isNamed && hadoop.get(expected) != null) true
    else if (isNamed && hadoop.get(enabled) != null) hadoop.getBoolean(enabled, false)
    else ParquetOutputFormat.getBloomFilterEnabled(hadoop)
  }

  private lazy val keyOfRest =
    if (resolved.uniformKey.isDefined) PlannedColumn.UniformKey else PlannedColumn.FooterKey

  /** Directories get the name from `partitionBy`, not the schema's spelling. */
  private def partition(name: String) = {
    val field = schema.find(field => sqlConf.resolver(name, field.name)).get
    PlannedColumn(
      name,
      LeafColumn.quoted(name),
      field.dataType.catalogString,
      None,
      PlannedColumn.Partition,
      None,
      bloomFilter = false,
      tag = None
    )
  }

  /** The type at a path; for the parts of a variant, the variant's. */
  private def typeAt(dataType: DataType, sparkPath: Seq[String]): DataType = (dataType, sparkPath) match {
    case (udt: UserDefinedType[_], _) => typeAt(udt.sqlType, sparkPath)
    case (struct: StructType, name +: rest) => typeAt(struct(name).dataType, rest)
    case (array: ArrayType, _ +: rest) => typeAt(array.elementType, rest)
    case (map: MapType, part +: rest) => typeAt(if (part == "key") map.keyType else map.valueType, rest)
    case _ => dataType
  }

  private def geometry(schema: MessageType, files: FileSettings): Option[PmeException] =
    try {
      if (files.plaintextFooter) WriteRules.refuseGeometry(schema, "write")
      None
    } catch { case refused: PmeException => Some(refused) }

  private def described(files: FileSettings, kms: KmsSettings): PlannedFiles =
    PlannedFiles(
      if (files.plaintextFooter) "signed" else "encrypted",
      files.footerKey,
      kms.kind,
      files.algorithm.name,
      if (files.directKeys) "direct" else "envelope",
      if (files.directKeys) files.dataKeyBits else Some(files.drawnKeyBits),
      if (files.wrapsTwice) Some(files.kekBits) else None,
      if (files.directKeys) None else Some(if (files.externalMaterial) "external" else "internal"),
      files.aadPrefix.map(_.template),
      files.storeAadPrefix,
      files.unlisted.optionValue
    )
}

/** What anybody with access to the files of a write can read, in sentences. */
private[admin] object Exposure {
  def of(columns: Seq[PlannedColumn], files: FileSettings): Seq[String] = {
    val (partitions, leaves) = columns.partition(_.by == PlannedColumn.Partition)
    val open = leaves.count(_.by == PlannedColumn.Plaintext)
    Seq(
      if (partitions.isEmpty) None
      else Some(s"values of partition columns, in directory names: ${names(partitions)}"),
      if (open == 0) None else Some(s"values of columns without a key: $open of ${leaves.size}"),
      Some(if (files.plaintextFooter) readable(open) else hidden(files)),
      files.aadPrefix.filter(_ => files.storeAadPrefix).map(_ => "the AAD prefix"),
      Some("names and sizes of files")
    ).flatten
  }

  private def readable(open: Int) = {
    val statistics = if (open == 0) "" else ", and minima and maxima of columns without a key"
    "the signed footer: names and types of all columns, Spark's schema with comments, row counts, column sizes, ids of " +
      s"master keys$statistics"
  }

  private def hidden(files: FileSettings) =
    if (files.externalMaterial) "ids of master keys, in key material files"
    else "the id of the footer's master key"

  private def names(columns: Seq[PlannedColumn]) = columns.map(_.name).mkString(", ")
}
