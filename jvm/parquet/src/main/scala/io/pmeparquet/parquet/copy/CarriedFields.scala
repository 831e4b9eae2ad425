package io.pmeparquet.parquet.copy

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, IOException}
import java.util.{Arrays, Collections}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{FileMetaData, SchemaElement, Util}
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.hadoop.metadata
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.schema.MessageType

import io.pmeparquet.parquet.admission.FooterFields
import io.pmeparquet.parquet.bytes.{FieldPlace, FileTail, FileVersion, FooterBytes, ThriftBounds}
import io.pmeparquet.parquet.file.{FileCrypto, OpenFile}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.PmeErrors

/**
 * The schema and the column orders of a file, as its writer encoded them. Copies keep these bytes, because the cluster's
 * parquet-java may be older or newer than the writer: it cannot write a column order that it does not know, and drops a
 * converted type that it does not know. Neither field has offsets, keys or values.
 *
 * @param places the fields' places in `content`
 * @param footerSha256 the digest of the footer that they are from
 */
private[copy] final class CarriedFields(
    content: Array[Byte],
    places: Seq[FieldPlace],
    footerSha256: Array[Byte]
) {

  /** @throws io.pmeparquet.PmeException if the file has another footer: somebody replaced it in between */
  def requireOf(file: OpenFile): Unit =
    if (!Arrays.equals(file.footerSha256, footerSha256))
      throw PmeErrors.damaged(file.version.path.toString, "its footer changed while the file was read")

  /**
   * Whether parquet-java, which writes what it has understood, would write them again. It may add to them: the newer or the
   * older name of a type, or column orders. The root of a schema has no repetition, whatever it says.
   *
   * @param schema the file's, as parquet-java understands it
   */
  def areWritten(schema: MessageType): Boolean = {
    val mine = Util.readFileMetaData(new ByteArrayInputStream(content))
    val written = CarriedFields.writtenFor(schema)
    mine.getSchema.get(0).unsetRepetition_type()
    isParsed && mine.getSchemaSize == written.getSchemaSize &&
    mine.getSchema.asScala.zip(written.getSchema.asScala).forall { case (one, other) =>
      if (!one.isSetConverted_type) other.unsetConverted_type()
      if (!one.isSetLogicalType) other.unsetLogicalType()
      if (!one.isSetScale) other.unsetScale()
      if (!one.isSetPrecision) other.unsetPrecision()
      one == other
    } && (!mine.isSetColumn_orders || mine.getColumn_orders == written.getColumn_orders)
  }

  /** Whether this parquet-java knows all of them: it parses no others, and so writes other bytes. */
  private def isParsed: Boolean =
    try {
      val out = new ByteArrayOutputStream
      Util.writeFileMetaData(Util.readFileMetaData(new ByteArrayInputStream(content)), out)
      val again = out.toByteArray
      def of(bytes: Array[Byte], all: Seq[FieldPlace]) = all.map { place =>
        place.number -> bytes.slice(place.from, place.until).toVector
      }
      val found = ThriftBounds.fields(again, 0, again.length)
      of(content, places) == of(again, found.filter(place => CarriedFields.isCarried(place.number)))
    } catch { case _: IOException => false }

  /**
   * Metadata with these fields in the place of its own.
   *
   * @param write encodes metadata
   */
  def replacing(metadata: FileMetaData)(write: FileMetaData => Array[Byte]): Array[Byte] = {
    val rest = new FileMetaData(metadata)
    rest.setSchema(Collections.emptyList[SchemaElement])
    rest.unsetColumn_orders()
    val bytes = write(rest)
    val own =
      ThriftBounds.fields(bytes, 0, bytes.length).filterNot(place => CarriedFields.isCarried(place.number))
    CarriedFields.struct((own.map(_ -> bytes) ++ places.map(_ -> content)).sortBy(_._1.number))
  }
}

private[copy] object CarriedFields {
  private val Schema = 2L
  private val ColumnOrders = 7L
  private val Stop = 0

  /** The largest distance to the field before that the field's first byte can hold. */
  private val ShortDelta = 15L

  /** What parquet-java writes for a file without rows. */
  private def writtenFor(schema: MessageType): FileMetaData = {
    val empty = new ParquetMetadata(
      new metadata.FileMetaData(schema, Collections.emptyMap[String, String], ""),
      Collections.emptyList[metadata.BlockMetaData]
    )
    new ParquetMetadataConverter().toParquetMetadata(1, empty)
  }

  private def isCarried(number: Long) = number == Schema || number == ColumnOrders

  /**
   * Those of a file of whose footer a copy can have all parts.
   *
   * @throws io.pmeparquet.PmeException if it has parts that nobody knows, or a field twice: readers would differ in
   *   which one they take
   */
  def of(scope: ReadScope, version: FileVersion, conf: Configuration): CarriedFields = {
    val file = version.path.toString
    val footer = FooterBytes.read(version, conf, scope.counters)
    val content = FileTail.of(footer, file) match {
      case FileTail.Plaintext => footer.segment
      case tail: FileTail.Encrypted =>
        FileCrypto.of(scope, version, conf, tail, scope.counters).openFooter(footer.segment, scope.counters)
    }
    FooterFields.requireKnownTypes(FileTail.metadata(content, file), file)
    FooterFields.unknownToCopies(content, file).headOption.foreach { part =>
      throw PmeErrors.unknownPart(
        file,
        part,
        "it may refer to data elsewhere in the file, which the copy would lose"
      )
    }
    val bytes = content.copied
    val all = FileTail.parse(file, "its footer")(ThriftBounds.fields(bytes, 0, bytes.length))
    if (all.map(_.number).distinct.size != all.size)
      throw PmeErrors.damaged(file, "its footer has a field twice")
    new CarriedFields(bytes, all.filter(place => isCarried(place.number)), footer.sha256)
  }

  /** Encodes a struct in Thrift's compact protocol, from fields in order and the bytes that each is in. */
  private def struct(fields: Seq[(FieldPlace, Array[Byte])]): Array[Byte] = {
    val out = new ByteArrayOutputStream
    fields.foldLeft(0L) { case (before, (place, bytes)) =>
      val delta = place.number - before
      if (delta < 1 || delta > ShortDelta)
        throw new IllegalStateException(s"internal error: field ${place.number} follows field $before")
      out.write((delta << 4).toInt | place.kind)
      out.write(bytes, place.from, place.until - place.from)
      place.number
    }
    out.write(Stop)
    out.toByteArray
  }
}
