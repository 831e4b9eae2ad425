package io.pmeparquet.orc.tail

import java.io.{ByteArrayOutputStream, IOException}
import java.nio.ByteBuffer

import org.apache.orc.{CompressionCodec, CompressionKind, PhysicalWriter}
import org.apache.orc.impl.{OrcCodecPool, OutStream}
import org.apache.orc.impl.writer.StreamOptions

/**
 * How the parts of a file are compressed.
 *
 * @param kind as ORC names it: `NONE`, `ZLIB`, `SNAPPY`, `LZO`, `LZ4`, `ZSTD`, `BROTLI`
 * @param blockSize the most bytes to which a chunk decompresses
 */
final case class OrcCompression private[tail] (kind: String, blockSize: Int) {

  /**
   * Decompresses a structure by ORC's own codecs, chunk by chunk.
   *
   * @param what the structure, for errors
   * @param most the most bytes that it may have decompressed
   */
  private[tail] def decompress(stored: Array[Byte], what: String, most: Int): Array[Byte] =
    if (kind == OrcCompression.None) {
      Damage.require(
        stored.length <= most,
        s"$what has ${stored.length} bytes, and at most $most are accepted"
      )
      stored
    } else OrcCompression.withCodec(kind)(codec => new OrcChunks(codec, this, stored, what, most).all())

  /** Compresses a structure as ORC's writer does. */
  private[tail] def compress(clear: Array[Byte]): Array[Byte] =
    if (kind == OrcCompression.None) clear
    else
      OrcCompression.withCodec(kind) { codec =>
        val result = new ByteArrayOutputStream
        val receiver = new PhysicalWriter.OutputReceiver {
          override def output(bytes: ByteBuffer): Unit =
            result.write(bytes.array, bytes.arrayOffset + bytes.position(), bytes.remaining)
          override def suppress(): Unit = ()
        }
        val options = new StreamOptions(blockSize).withCodec(codec, codec.getDefaultOptions)
        val out = new OutStream("footer", options, receiver)
        out.write(clear, 0, clear.length)
        out.flush()
        result.toByteArray
      }
}

private[tail] object OrcCompression {
  val None = "NONE"

  private def withCodec[A](kind: String)(use: CompressionCodec => A): A = {
    val known = CompressionKind.values.find(_.name == kind)
    val codec =
      try known.map(OrcCodecPool.getCodec)
      catch { case failed: LinkageError => throw missing(kind, failed) }
    val one = codec.getOrElse(throw missing(kind, null))
    try use(one)
    finally OrcCodecPool.returnCodec(known.get, one)
  }

  private def missing(kind: String, cause: Throwable) =
    new Damage(s"it is compressed with $kind, for which this ORC library has no codec", unknown = true, cause)
}

/** The chunks of one compressed structure: each has a header of three bytes with its length, and whether it is stored. */
private final class OrcChunks(
    codec: CompressionCodec,
    compression: OrcCompression,
    stored: Array[Byte],
    what: String,
    most: Int
) {
  import OrcChunks._

  private val result = new ByteArrayOutputStream
  private lazy val block = new Array[Byte](compression.blockSize)

  def all(): Array[Byte] = {
    var at = 0
    var chunks = 0
    while (at < stored.length) {
      chunks += 1
      if (chunks > OrcLimits.Chunks) throw bad(s"it has more than ${OrcLimits.Chunks} chunks")
      if (stored.length - at < HeaderBytes) throw bad("the data ends too early")
      val header = (stored(at) & 0xff) | (stored(at + 1) & 0xff) << 8 | (stored(at + 2) & 0xff) << 16
      val length = header >>> 1
      at += HeaderBytes
      if (length > stored.length - at)
        throw bad(s"the length of a chunk is $length bytes, but ${stored.length - at} bytes are left")
      if (length > compression.blockSize) throw bad(s"a chunk of $length bytes exceeds the block size")
      if ((header & 1) == 1) add(stored, at, length) else expand(at, length)
      at += length
    }
    result.toByteArray
  }

  private def expand(at: Int, length: Int): Unit = {
    requireRoom(at, length)
    val out = ByteBuffer.wrap(block)
    try codec.decompress(ByteBuffer.wrap(stored, at, length).slice(), out)
    catch {
      case failed @ (_: IOException | _: RuntimeException) =>
        throw new Damage(s"$what does not decompress", cause = failed)
    }
    add(block, 0, out.limit())
  }

  /** Snappy's native codec writes as much as a chunk states, whatever the array holds. */
  private def requireRoom(at: Int, length: Int): Unit = if (compression.kind == "SNAPPY") {
    var stated = 0L
    var index = 0
    var more = true
    while (more) {
      if (index >= length || index >= SnappyLengthBytes) throw bad("a chunk has no length")
      stated |= (stored(at + index) & 0x7fL) << (7 * index)
      more = stored(at + index) < 0
      index += 1
    }
    if (stated > compression.blockSize)
      throw bad(s"a chunk states $stated bytes, and the block size is ${compression.blockSize}")
  }

  private def add(bytes: Array[Byte], at: Int, length: Int): Unit = {
    if (length > most - result.size) throw bad(s"it has more than $most bytes decompressed")
    result.write(bytes, at, length)
  }

  private def bad(why: String) = Damage(s"$what does not decompress: $why")
}

private object OrcChunks {
  val HeaderBytes = 3
  val SnappyLengthBytes = 5
}

/**
 * Makes ORC's reader in this JVM decompress Snappy in Java.
 *
 * Since 2.3 ORC calls a native library by default, which writes as many bytes as a chunk states into an array that may be
 * shorter: whoever changes a file can overwrite the memory of the process.
 */
private[tail] object BoundedSnappy {
  private val Property = "orc.compress.snappy.impl"
  private val InJava = "aircompressor"

  /** The most codecs that ORC keeps of a kind. */
  private val Pooled = 32

  /** A setting of the user stays. */
  def use(): Unit = if (System.getProperty(Property) == null) {
    System.setProperty(Property, InJava)
    // Those that are kept were made before.
    (0 until Pooled).foreach(_ => if (OrcCodecPool.getPoolSize(CompressionKind.SNAPPY) > 0) drop())
  }

  private def drop(): Unit = {
    OrcCodecPool.getCodec(CompressionKind.SNAPPY)
    ()
  }
}
