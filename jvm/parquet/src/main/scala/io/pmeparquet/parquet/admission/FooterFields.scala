package io.pmeparquet.parquet.admission

import scala.collection.JavaConverters._

import org.apache.parquet.format.{FileMetaData, SchemaElement}

import io.pmeparquet.parquet.bytes.{FileTail, Segment, ThriftBounds, ThriftFields, UnknownField}
import io.pmeparquet.PmeErrors

/**
 * All footer fields whose content we know, by `parquet.thrift` of parquet-format 2.14, whatever the cluster's
 * parquet-java knows. A later field may contain statistics, keys, or places of bytes outside modules, so code that
 * rewrites a footer must not guess.
 */
private[parquet] object FooterFields {

  /** In `FileMetaData`, for extensions that writers and readers agree on: whole footers in other forms, for example. */
  val Extension = 32767L

  /**
   * The parts of a footer that are none of these fields.
   *
   * @param content the struct and the bytes after it; parquet-java pads with zeros
   */
  def unknown(content: Segment, file: String): Seq[String] = parse(file) {
    val end = ThriftBounds.end(content.array, content.at, content.until)
    val behind = (end until content.until).exists(at => content.array(at) != 0)
    fields(content, end).map(described) ++ (if (behind) Seq("bytes after its end") else Nil)
  }

  /** The same for `FileCryptoMetaData`, which precedes an encrypted footer. */
  def unknownOfCrypto(bytes: Segment, end: Int, file: String): Seq[String] =
    parse(file)(ThriftBounds.unknown(bytes.array, bytes.at, end, OfCryptoMetadata).distinct.map(described))

  /** The same without extensions and bytes after the struct, which a rewrite leaves out. */
  def unknownToCopies(content: Segment, file: String): Seq[String] =
    parse(file)(fields(content, content.until)).filterNot(_ == UnknownField(OfFile, Extension)).map(described)

  private def fields(content: Segment, until: Int) =
    ThriftBounds.unknown(content.array, content.at, until, ofFooter).distinct

  /**
   * @param metadata as parsed: of a logical type that this parquet-java does not know, no field is set
   * @throws io.pmeparquet.PmeException if a column has a logical type that parquet-format 2.12 does not have: values of
   *   `FILE`, for one, could name bytes of the file outside modules
   */
  def requireKnownTypes(metadata: FileMetaData, file: String): Unit =
    metadata.getSchema.asScala.foreach { element =>
      if (element.isSetLogicalType && !hasKnownType(element))
        throw PmeErrors.unsupported(
          s"$file, column '${element.getName}'",
          "writing a column of this logical type",
          "this version, or its parquet-java, does not know the type, and its values may be stored outside the column",
          "Use a later version, or Spark 4 in place of Spark 3.5."
        )
    }

  private def hasKnownType(element: SchemaElement) =
    Option(element.getLogicalType.getSetField).exists(field =>
      LogicalTypes.contains(field.getThriftFieldId.toInt)
    )

  /** From `STRING` to `GEOGRAPHY`; 9 was never given. */
  private val LogicalTypes = (1 to 18).toSet - 9

  private def described(one: UnknownField) = s"field ${one.number} of ${one.struct}"

  private def parse[A](file: String)(read: => A) = FileTail.parse(file, "its footer")(read)

  private val OfFile = "FileMetaData"

  private def struct(name: String, last: Int, below: (Int, ThriftFields)*): ThriftFields =
    new ThriftFields((1 to last).map(_ -> ThriftFields.none).toMap ++ below, Some(name))

  private val unit = struct("TimeUnit", 3)
  private val algorithm =
    struct("EncryptionAlgorithm", 2, 1 -> struct("AesGcmV1", 3), 2 -> struct("AesGcmCtrV1", 3))
  private val keyValue = struct("KeyValue", 2)

  // The parsed schema shows which type of the union is set, and names the column.
  private val logicalType = new ThriftFields(
    Map(
      5 -> struct("DecimalType", 2),
      7 -> struct("TimeType", 2, 2 -> unit),
      8 -> struct("TimestampType", 2, 2 -> unit),
      10 -> struct("IntType", 2),
      16 -> struct("VariantType", 1),
      17 -> struct("GeometryType", 1),
      18 -> struct("GeographyType", 2)
    )
  )

  private val columnMetadata = struct(
    "ColumnMetaData",
    last = 17,
    8 -> keyValue,
    12 -> struct("Statistics", 9),
    13 -> struct("PageEncodingStats", 3),
    16 -> struct("SizeStatistics", 3),
    17 -> struct("GeospatialStatistics", 2, 1 -> struct("BoundingBox", 8))
  )

  private val columnKey = struct("EncryptionWithColumnKey", 2)

  private val columnChunk = struct(
    "ColumnChunk",
    last = 9,
    3 -> columnMetadata,
    8 -> struct("ColumnCryptoMetaData", 2, 1 -> struct("EncryptionWithFooterKey", 0), 2 -> columnKey)
  )

  private val ofFooter = struct(
    OfFile,
    last = 9,
    2 -> struct("SchemaElement", 10, 10 -> logicalType),
    4 -> struct("RowGroup", 7, 1 -> columnChunk, 4 -> struct("SortingColumn", 3)),
    5 -> keyValue,
    7 -> struct("ColumnOrder", 3),
    8 -> algorithm
  )

  private val OfCryptoMetadata = struct("FileCryptoMetaData", 2, 1 -> algorithm)
}
