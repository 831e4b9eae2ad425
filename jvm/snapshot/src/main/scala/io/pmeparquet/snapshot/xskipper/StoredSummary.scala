package io.pmeparquet.snapshot.xskipper

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8

import io.pmeparquet.parquet.summary.ColumnSummary
import io.pmeparquet.Utf8

/** What one index of a store says of one data file. */
private[pmeparquet] sealed trait StoredSummary

private[pmeparquet] object StoredSummary {

  /**
   * @param of the type of its values
   * @param summary a range, or a list of all values that are not null; stores do not count nulls
   */
  final case class Known(of: StoredType, summary: ColumnSummary) extends StoredSummary

  /** @param filter of Spark's sketches, in format version 1 */
  final case class Sketch(filter: Array[Byte]) extends StoredSummary

  /** In place of the number of nulls. */
  val UnknownNulls = -1L

  /**
   * The range between two bounds; none where they prove nothing.
   *
   * @param min encoded as statistics are; none if the store has null. Xskipper stores null for both bounds if all values
   *   are null, but also if there are only NaNs, or if a footer has no bounds
   */
  def range(of: StoredType, min: Option[Array[Byte]], max: Option[Array[Byte]]): Option[StoredSummary] =
    for {
      low <- min
      high <- max
      if isOfThisCalendar(of, low) && isOfThisCalendar(of, high)
      bounds <- of match {
        case StoredType.Text => inOrderOfBytes(low, high)
        case StoredType.Float => withoutNaN(low, high, 4)
        case StoredType.Double => withoutNaN(low, high, 8)
        case _ => Some(low -> high)
      }
    } yield Known(of, ColumnSummary.Range(Some(bounds), UnknownNulls))

  def list(of: StoredType, values: Seq[Array[Byte]]): Option[StoredSummary] =
    if (values.forall(isOfThisCalendar(of, _)))
      Some(Known(of, ColumnSummary.ValueList(values.toList, UnknownNulls)))
    else None

  /**
   * Xskipper compares strings by UTF-16, and queries compare them by their bytes in UTF-8. The orders differ where a
   * character beyond 16 bits meets one from U+E000 on, so a bound is cut off there.
   */
  private def inOrderOfBytes(min: Array[Byte], max: Array[Byte]): Option[(Array[Byte], Array[Byte])] =
    for (low <- text(min); high <- text(max)) yield {
      val surrogate = low.indexWhere(Character.isSurrogate)
      val late = high.indexWhere(_ >= FirstAfterSurrogates)
      val least = if (surrogate < 0) min else low.take(surrogate).getBytes(UTF_8)
      // No byte of UTF-8 is greater.
      val greatest = if (late < 0) max else high.take(late).getBytes(UTF_8) :+ (-1).toByte
      least -> greatest
    }

  /**
   * NaN is the greatest value: only NaN is above a lower bound of NaN, and all numbers are below an upper one.
   *
   * @param length of values in bytes
   */
  private def withoutNaN(min: Array[Byte], max: Array[Byte], length: Int) = {
    def number(value: Array[Byte]): Double = {
      val bytes = StoredType.little(value)
      if (length == 4) bytes.getFloat.toDouble else bytes.getDouble
    }
    def infinity =
      if (length == 4) StoredType.bytes(java.lang.Float.floatToRawIntBits(Float.PositiveInfinity))
      else StoredType.bytes(java.lang.Double.doubleToRawLongBits(Double.PositiveInfinity))
    if (number(min).isNaN) None else Some(min -> (if (number(max).isNaN) infinity else max))
  }

  /** None for bytes that are no text: Java has replaced what it could not read before it compared. */
  private def text(bytes: Array[Byte]): Option[String] =
    try Some(Utf8.strict(bytes))
    catch { case _: CharacterCodingException => None }

  /** Readers and writers may convert earlier dates and times between calendars. */
  private def isOfThisCalendar(of: StoredType, value: Array[Byte]): Boolean = of match {
    case StoredType.Date => StoredType.little(value).getInt() >= FirstDay
    case StoredType.Timestamp => StoredType.little(value).getLong() >= FirstMicros
    case _ => true
  }

  private val FirstAfterSurrogates = '\ue000'
  private val FirstDay = java.time.LocalDate.of(1582, 10, 15).toEpochDay.toInt
  private val FirstMicros = java.time.LocalDate.of(1900, 1, 2).toEpochDay * 86400L * 1000000L
}

/**
 * The Bloom filters of stores, which are objects in Java's serialization (Java Object Serialization Specification, "Object
 * Serialization Stream Protocol"). Nothing is deserialized: the bytes must be exactly an object of one of two classes
 * with one of Spark's filters in it, or they say nothing. So no class is loaded, whatever a store names.
 */
private[snapshot] object SerializedBloom {
  private val Metadata = Set(
    "io.xskipper.index.metadata.BloomFilterMetaData" -> "io.xskipper.index.metadata.MetadataType",
    "com.ibm.metaindex.metadata.index.types.BloomFilterMetaData" -> "com.ibm.metaindex.metadata.index.types.MetadataType"
  )
  private val Sketch = "org.apache.spark.util.sketch."

  /** Longer filters are of more than a million values. */
  val MostBytes: Int = 2 * 1024 * 1024

  private object Stream {
    val Header = 0xaced0005
    val Null = 0x70
    val ClassDescription = 0x72
    val Object = 0x73
    val String = 0x74
    val Block = 0x77
    val EndBlock = 0x78
    val LongBlock = 0x7a
    val Serializable = 0x02
    val WithWriteMethod = 0x03
  }

  /**
   * The filter as `BloomFilter.writeTo` of Spark's sketches writes it, of format version 1; none for other bytes.
   */
  def sketch(bytes: Array[Byte]): Option[Array[Byte]] =
    if (bytes.length > MostBytes) None
    else
      try new Reader(ByteBuffer.wrap(bytes)).filter()
      catch { case _: BufferUnderflowException => None }

  private final class Reader(in: ByteBuffer) {
    def filter(): Option[Array[Byte]] = {
      val isMetadata =
        in.getInt() == Stream.Header && next(Stream.Object) && next(Stream.ClassDescription) && {
          val name = text()
          in.getLong()
          next(Stream.Serializable) && in.getShort() == 1 && reference(
            "bloomFilter",
            s"L${Sketch.replace('.', '/')}BloomFilter;"
          ) && next(Stream.EndBlock) && next(Stream.ClassDescription) && Metadata(name -> text())
        }
      if (isMetadata && endOfSuperclass() && isFilter) content() else None
    }

    private def endOfSuperclass() = {
      in.getLong()
      next(Stream.Serializable) && in.getShort() == 0 && next(Stream.EndBlock) && next(Stream.Null)
    }

    private def isFilter =
      next(Stream.Object) && next(Stream.ClassDescription) && text() == s"${Sketch}BloomFilterImpl" && {
        // Spark has changed this class's number, and not its content.
        in.getLong()
        next(Stream.WithWriteMethod) && in.getShort() == 2 && next('I') && text() == "numHashFunctions" &&
        reference("bits", s"L${Sketch.replace('.', '/')}BitArray;") && next(Stream.EndBlock) && next(
          Stream.Null
        )
      }

    private def content(): Option[Array[Byte]] = {
      val content = ByteBuffer.allocate(in.remaining)
      var tag = byte()
      while (tag == Stream.Block || tag == Stream.LongBlock) {
        val length = if (tag == Stream.Block) byte() else in.getInt()
        if (length < 0 || length > in.remaining) throw new BufferUnderflowException
        content.put(in.array, in.position(), length)
        in.position(in.position() + length)
        tag = byte()
      }
      content.flip()
      if (tag == Stream.EndBlock && !in.hasRemaining && isOfVersion1(content))
        Some(java.util.Arrays.copyOf(content.array, content.limit()))
      else None
    }

    /** Version, number of hash functions, number of words, words. */
    private def isOfVersion1(content: ByteBuffer) = {
      val version = content.getInt()
      val functions = content.getInt()
      val words = content.getInt()
      version == 1 && functions >= 1 && functions <= MostFunctions && words >= 1 &&
      content.remaining == 8L * words
    }

    private def reference(name: String, of: String) =
      next('L') && text() == name && next(Stream.String) && text() == of

    private def byte() = in.get() & 0xff
    private def next(expected: Int) = byte() == expected

    private def text() = {
      val bytes = new Array[Byte](in.getShort() & 0xffff)
      in.get(bytes)
      new String(bytes, UTF_8)
    }
  }

  private val MostFunctions = 100
}
