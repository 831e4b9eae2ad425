package io.pmeparquet.parquet.admission

import scala.collection.JavaConverters._

import org.apache.parquet.format.{FileMetaData, SchemaElement}

import io.pmeparquet.parquet.bytes.{FileTail, Segment, ThriftBounds, ThriftFields, UnknownField}
import io.pmeparquet.PmeErrors

/**
 * All fields of a footer whose meaning we know, from `parquet.thrift` of parquet-format 2.14, whatever fields the
 * cluster's parquet-java knows. A later field may hold statistics, keys, or offsets of bytes that are in no module, so
 * code that rewrites a footer must not guess.
 */
private[parquet] object FooterFields {

  /**
   * The field of `FileMetaData` for extensions that writers and readers agree on, for example whole footers in other
   * forms.
   */
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

  /**
   * The same without extensions and without bytes after the struct, since code that rewrites a footer leaves both out.
   */
  def unknownToCopies(content: Segment, file: String): Seq[String] =
    parse(file)(fields(content, content.until)).filterNot(_ == UnknownField(OfFile, Extension)).map(described)

  private def fields(content: Segment, until: Int) =
    ThriftBounds.unknown(content.array, content.at, until, ofFooter).distinct

  /**
   * @param metadata the parsed footer; a logical type that this parquet-java does not know has no field set in it
   * @throws io.pmeparquet.PmeException if a column has a logical type that parquet-format 2.12 does not define: values
   *   of `FILE`, for example, could name bytes of the file that are in no module
   */
  def requireKnownTypes(metadata: FileMetaData, file: String): Unit =
    metadata.getSchema.asScala.foreach { element =>
      if (element.isSetLogicalType && !hasKnownType(element))
        throw PmeErrors.unsupported(
          s"$file, column '${element.getName}'",
          "writing a column of this logical type",
          "this version, or its parquet-java, does not know the type, and its values may be stored outside the column",
          "Use a later version, or Spark 4.1 or newer."
        )
    }

  private def hasKnownType(element: SchemaElement) =
    Option(element.getLogicalType.getSetField).exists(field =>
      LogicalTypes.contains(field.getThriftFieldId.toInt)
    )

  /** From `STRING` to `GEOGRAPHY`; the format never assigned 9. */
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

  // `requireKnownTypes` checks which member of the union is set: in the parsed footer, which names the column.
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
