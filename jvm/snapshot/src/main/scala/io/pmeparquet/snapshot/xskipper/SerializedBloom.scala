package io.pmeparquet.snapshot.xskipper

import java.nio.{BufferUnderflowException, ByteBuffer}
import java.nio.charset.StandardCharsets.UTF_8

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
