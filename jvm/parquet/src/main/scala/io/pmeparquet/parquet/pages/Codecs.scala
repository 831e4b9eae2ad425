package io.pmeparquet.parquet.pages

import java.io.IOException
import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util.zip.{DataFormatException, GZIPInputStream}

import com.github.luben.zstd.Zstd
import net.jpountz.lz4.{LZ4Exception, LZ4Factory}
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.apache.parquet.hadoop.CodecFactory
import org.xerial.snappy.Snappy

import io.pmeparquet.PmeErrors

/** Decompresses pages in one call each, from and into arrays of the caller. For one thread. */
private[parquet] trait Codec {

  /** Whether pages stand as they are, so that one can be decrypted to where it is wanted. */
  def isNone: Boolean = false

  /** The most bytes that a compressed byte can stand for. */
  def mostPerByte: Long

  /**
   * @param size what the page's header says its content is; the array has room for it from `outOffset` on
   * @return how many bytes were written, `size` if the header tells the truth
   */
  def decompress(in: Array[Byte], offset: Int, length: Int, out: Array[Byte], outOffset: Int, size: Int): Int
}

/** The codecs of one read. What Spark's own libraries do in one call is done so; the rest goes through parquet-java. */
private[parquet] final class Codecs(conf: Configuration) extends AutoCloseable {
  private var others: Option[CodecFactory] = None

  private def parquetCodecs: CodecFactory = {
    if (others.isEmpty) others = Some(new CodecFactory(conf, 0))
    others.get
  }

  def of(name: CompressionCodecName): Codec = name match {
    case CompressionCodecName.UNCOMPRESSED => Codecs.None
    case CompressionCodecName.SNAPPY => Codecs.OneSnappy
    case CompressionCodecName.ZSTD => Codecs.OneZstd
    case CompressionCodecName.GZIP => Codecs.Gzip
    case CompressionCodecName.LZ4_RAW => Codecs.Lz4Raw
    case CompressionCodecName.LZ4 => Codecs.Lz4
    case CompressionCodecName.BROTLI => new ByParquet(CompressionCodecName.BROTLI)
    case other =>
      throw PmeErrors.unsupported(
        s"codec ${other.name}",
        "reading its pages",
        "the page pipeline does not have it",
        "Write the table with another codec."
      )
  }

  /** What is there only if a library is. */
  private final class ByParquet(name: CompressionCodecName) extends Codec {
    override def mostPerByte: Long = Int.MaxValue

    private val decompressor =
      try parquetCodecs.getDecompressor(name)
      catch {
        case missing: RuntimeException =>
          throw PmeErrors.unsupported(
            s"codec ${name.name}",
            "reading its pages",
            "its library is not on the class path",
            "Add the library, or write the table with another codec.",
            missing
          )
      }

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int = {
      val bytes = decompressor.decompress(BytesInput.from(in, offset, length), size).toByteArray
      System.arraycopy(bytes, 0, out, outOffset, bytes.length.min(size))
      bytes.length
    }
  }

  override def close(): Unit = others.foreach(_.release())
}

private[parquet] object Codecs {

  /** Runs a codec; whatever it says of bad input is damage. */
  def run(
      where: String,
      codec: Codec,
      in: Array[Byte],
      offset: Int,
      length: Int,
      out: Array[Byte],
      outOffset: Int,
      size: Int
  ): Unit = {
    val written =
      try codec.decompress(in, offset, length, out, outOffset, size)
      catch {
        case failed @ (_: IOException | _: RuntimeException | _: DataFormatException) =>
          throw PmeErrors.damaged(where, "a page does not decompress", failed)
      }
    if (written != size)
      throw PmeErrors.damaged(where, s"a page says it decompresses to $size bytes and does to $written")
  }

  object None extends Codec {
    override def isNone: Boolean = true
    override def mostPerByte: Long = 1

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int = {
      if (length == size) System.arraycopy(in, offset, out, outOffset, size)
      length
    }
  }

  private object OneSnappy extends Codec {
    // A copy of 64 bytes takes three.
    override def mostPerByte: Long = 32

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int = {
      // Native code writes what the stream says, so that is looked at first.
      val says = Snappy.uncompressedLength(in, offset, length)
      if (says != size) says else Snappy.uncompress(in, offset, length, out, outOffset)
    }
  }

  private object OneZstd extends Codec {
    // A block of 128 KiB takes four.
    override def mostPerByte: Long = 40000

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int =
      Zstd.decompressByteArray(out, outOffset, size, in, offset, length).toInt
  }

  private object Lz4Raw extends Codec {
    // A byte adds 255 to a match.
    override def mostPerByte: Long = 256

    private val decompressor = LZ4Factory.fastestInstance().safeDecompressor()

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int =
      decompressor.decompress(in, offset, length, out, outOffset, size)
  }

  /**
   * The deprecated LZ4: blocks in Hadoop's framing, which is the size of a block and then chunks of it, each after its
   * own size; or, as other writers have it, as in [[Lz4Raw]]. Hadoop's own decompressor believes the sizes.
   */
  private object Lz4 extends Codec {
    override def mostPerByte: Long = Lz4Raw.mostPerByte

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int =
      try framed(ByteBuffer.wrap(in, offset, length), out, outOffset, size)
      catch {
        case _: LZ4Exception | _: BufferUnderflowException =>
          Lz4Raw.decompress(in, offset, length, out, outOffset, size)
      }

    private def framed(in: ByteBuffer, out: Array[Byte], outOffset: Int, size: Int): Int = {
      var written = 0
      while (in.hasRemaining) {
        val blockEnd = written.toLong + sizeIn(in, size - written)
        while (written < blockEnd) {
          val chunk = sizeIn(in, in.remaining - Integer.BYTES)
          written += Lz4Raw.decompress(
            in.array,
            in.position(),
            chunk,
            out,
            outOffset + written,
            size - written
          )
          in.position(in.position() + chunk)
        }
        if (written != blockEnd) throw new LZ4Exception(s"a block ends at $written and not at $blockEnd")
      }
      written
    }

    private def sizeIn(in: ByteBuffer, most: Int): Int = {
      val size = in.getInt()
      if (size < 0 || size > most) throw new LZ4Exception(s"a size of $size where at most $most can be")
      size
    }
  }

  private object Gzip extends Codec {
    // Deflate's best is 1032.
    override def mostPerByte: Long = 1100

    override def decompress(
        in: Array[Byte],
        offset: Int,
        length: Int,
        out: Array[Byte],
        outOffset: Int,
        size: Int
    ): Int = {
      val stream = new GZIPInputStream(new java.io.ByteArrayInputStream(in, offset, length), GzipBufferBytes)
      try {
        val read = stream.readNBytes(out, outOffset, size)
        if (read == size && stream.read() >= 0) size + 1 else read
      } finally stream.close()
    }
  }

  private val GzipBufferBytes = 16 * 1024
}
