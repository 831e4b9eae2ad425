package io.pmeparquet

import java.io.{ByteArrayOutputStream, InputStream}
import java.security.MessageDigest
import java.util.Arrays

/**
 * SHA-256 of each block of a file (docs/snapshot-format.md, "Parts"), so that whoever reads a part of the file can compare
 * what he reads. ''Crosses the wire.''
 *
 * @param length of the file, in bytes
 * @param digests of 32 bytes each, one after the other
 */
private[pmeparquet] final case class BlockDigests(length: Long, digests: Array[Byte]) {
  import BlockDigests._

  require(fit(length, digests), "as many digests as the file has blocks")

  /** The block that has a byte of the file. */
  def blockOf(position: Long): Int = (position / BlockBytes).toInt

  /** Where a block begins. */
  def start(block: Int): Long = block.toLong * BlockBytes

  /** The length of a block in bytes. The last one may be shorter. */
  def sizeOf(block: Int): Int = (length - start(block)).min(BlockBytes.toLong).toInt

  /** Whether these are the bytes of a block. */
  def isBlock(block: Int, bytes: Array[Byte]): Boolean =
    bytes.length == sizeOf(block) &&
      Arrays.equals(
        Sha256.ofBytes(bytes),
        Arrays.copyOfRange(digests, block * DigestBytes, (block + 1) * DigestBytes)
      )

  override def toString: String = s"BlockDigests($length bytes)"
}

private[pmeparquet] object BlockDigests {

  /** A read of one column compares little more than it needs, and a list of files stays short. */
  val BlockBytes: Int = 1024 * 1024

  private val DigestBytes = 32

  /** Whether there are as many digests as a file of this length has blocks. */
  def fit(length: Long, digests: Array[Byte]): Boolean =
    length >= 0 && digests.length.toLong == (length + BlockBytes - 1) / BlockBytes * DigestBytes

  /** @param sha256 of all bytes together */
  final case class Whole(blocks: BlockDigests, sha256: Array[Byte])

  /** The digests of the rest of a stream. */
  def of(in: InputStream): Whole = {
    val made = new Builder
    val buffer = new Array[Byte](64 * 1024)
    Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach(made.update(buffer, 0, _))
    made.result()
  }

  /** Gets the bytes of a file in order. */
  final class Builder {
    private val all = MessageDigest.getInstance("SHA-256")
    private val block = MessageDigest.getInstance("SHA-256")
    private val digests = new ByteArrayOutputStream
    private var length = 0L

    def update(bytes: Array[Byte], from: Int, count: Int): Unit = {
      all.update(bytes, from, count)
      var at = from
      while (at < from + count) {
        val some = (BlockBytes - length % BlockBytes).toInt.min(from + count - at)
        block.update(bytes, at, some)
        length += some
        at += some
        if (length % BlockBytes == 0) digests.write(block.digest())
      }
    }

    def result(): Whole = {
      if (length % BlockBytes != 0) digests.write(block.digest())
      Whole(BlockDigests(length, digests.toByteArray), all.digest())
    }
  }
}
