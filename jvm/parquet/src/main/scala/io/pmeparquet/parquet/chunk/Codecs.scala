package io.pmeparquet.parquet.chunk

import java.io.{ByteArrayInputStream, IOException, InputStream}
import java.nio.{BufferUnderflowException, ByteBuffer}
import java.util.zip.{DataFormatException, GZIPInputStream}

import com.github.luben.zstd.Zstd
import net.jpountz.lz4.{LZ4Exception, LZ4Factory}
import org.apache.parquet.hadoop.metadata.CompressionCodecName
import org.brotli.dec.BrotliInputStream
import org.xerial.snappy.Snappy

import io.pmeparquet.PmeErrors

/** One call of a codec, between arrays of the caller. For one thread. */
private[parquet] trait Decompress {

  /**
   * @param size the length of the content according to the page's header; the array has room for it from `outOffset` on
   * @return the number of bytes written: `size` if the header is right
   */
  def apply(in: Array[Byte], offset: Int, length: Int, out: Array[Byte], outOffset: Int, size: Int): Int
}

/**
 * Decompresses each page in one call.
 *
 * @param mostPerByte the most bytes that one compressed byte can produce
 * @param isNone whether pages are not compressed, so that one can be decrypted straight to its target
 */
private[parquet] final class Codec(val mostPerByte: Long, val isNone: Boolean = false)(
    val decompress: Decompress
)

/** The codecs of pages: the libraries that Spark has, and Google's decoder for Brotli if the user adds it. */
private[parquet] object Codecs {

  /** @throws io.pmeparquet.PmeException `PME_UNSUPPORTED` if there is no such codec, or its library is missing */
  def of(name: CompressionCodecName): Codec = name match {
    case CompressionCodecName.UNCOMPRESSED => None
    case CompressionCodecName.SNAPPY => OneSnappy
    case CompressionCodecName.ZSTD => OneZstd
    case CompressionCodecName.GZIP => Gzip
    case CompressionCodecName.LZ4_RAW => Lz4Raw
    case CompressionCodecName.LZ4 => Lz4
    case CompressionCodecName.BROTLI => Brotli
    case other =>
      throw PmeErrors.unsupported(
        s"codec ${other.name}",
        "reading its pages",
        "the page pipeline has no such codec",
        "Write the table with another codec."
      )
  }

  /** Runs a codec. Any complaint about its input is damage. */
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
          throw PmeErrors.damaged(where, "a page cannot be decompressed", failed)
      }
    if (written != size)
      throw PmeErrors.damaged(where, s"a page decompresses to $written bytes, but its header states $size")
  }

  val None: Codec = new Codec(mostPerByte = 1, isNone = true)((in, offset, length, out, outOffset, size) => {
    if (length == size) System.arraycopy(in, offset, out, outOffset, size)
    length
  })

  // A copy of 64 bytes takes three bytes.
  private val OneSnappy = new Codec(mostPerByte = 32)((in, offset, length, out, outOffset, size) => {
    // Native code writes as much as the stream claims, so check the claim first.
    val claimed = Snappy.uncompressedLength(in, offset, length)
    if (claimed != size) claimed else Snappy.uncompress(in, offset, length, out, outOffset)
  })

  // A block of 128 KiB takes four bytes.
  private val OneZstd = new Codec(mostPerByte = 40000)((in, offset, length, out, outOffset, size) =>
    Zstd.decompressByteArray(out, outOffset, size, in, offset, length).toInt
  )

  private lazy val lz4 = LZ4Factory.fastestInstance().safeDecompressor()

  // A byte adds 255 to a match.
  private val Lz4Raw = new Codec(mostPerByte = 256)(lz4.decompress(_, _, _, _, _, _))

  /**
   * The deprecated LZ4 codec: blocks in Hadoop's framing, that is the size of a block and then its chunks, each after
   * its own size; or, from other writers, the same as [[Lz4Raw]]. Hadoop's own decompressor trusts the sizes.
   */
  private val Lz4 = new Codec(Lz4Raw.mostPerByte)((in, offset, length, out, outOffset, size) =>
    try lz4Framed(ByteBuffer.wrap(in, offset, length), out, outOffset, size)
    catch {
      case _: LZ4Exception | _: BufferUnderflowException =>
        lz4.decompress(in, offset, length, out, outOffset, size)
    }
  )

  private def lz4Framed(in: ByteBuffer, out: Array[Byte], outOffset: Int, size: Int): Int = {
    def sizeIn(most: Int): Int = {
      val size = in.getInt()
      if (size < 0 || size > most) throw new LZ4Exception(s"its size is $size, above the maximum of $most")
      size
    }
    var written = 0
    while (in.hasRemaining) {
      val blockEnd = written.toLong + sizeIn(size - written)
      while (written < blockEnd) {
        val chunk = sizeIn(in.remaining - Integer.BYTES)
        written += lz4.decompress(in.array, in.position(), chunk, out, outOffset + written, size - written)
        in.position(in.position() + chunk)
      }
      if (written != blockEnd) throw new LZ4Exception(s"a block ends at $written instead of $blockEnd")
    }
    written
  }

  // Deflate's best ratio is 1032.
  private val Gzip = new Codec(mostPerByte = 1100)(streamed(new GZIPInputStream(_, StreamBytes)))

  /** A class that is not there is looked for again by the next read. */
  private lazy val Brotli: Codec = {
    try Class.forName("org.brotli.dec.BrotliInputStream", false, getClass.getClassLoader)
    catch {
      case missing @ (_: ClassNotFoundException | _: LinkageError) =>
        throw PmeErrors.unsupported(
          "codec BROTLI",
          "reading its pages",
          "its library is not on the class path",
          "Add org.brotli:dec:0.1.2 (--packages), or write the table with another codec.",
          missing
        )
    }
    // 16 MiB take at least four bytes.
    new Codec(mostPerByte = 1 << 22)(streamed(BrotliStream.open))
  }

  private def streamed(opened: InputStream => InputStream): Decompress =
    (in, offset, length, out, outOffset, size) => {
      val stream = opened(new ByteArrayInputStream(in, offset, length))
      try {
        val read = stream.readNBytes(out, outOffset, size)
        if (read == size && stream.read() >= 0) size + 1 else read
      } finally stream.close()
    }

  private[chunk] val StreamBytes = 16 * 1024
}

/** Apart from [[Codecs]]: the JVM looks for the library when it loads this class. */
private object BrotliStream {
  def open(in: InputStream): InputStream = new BrotliInputStream(in, Codecs.StreamBytes)
}
