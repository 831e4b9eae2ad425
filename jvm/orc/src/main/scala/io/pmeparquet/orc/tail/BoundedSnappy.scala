package io.pmeparquet.orc.tail

import org.apache.orc.impl.OrcCodecPool
import org.apache.orc.CompressionKind

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
