package io.pmeparquet

import java.io.ByteArrayInputStream
import java.util.Random

import munit.FunSuite

class BlockDigestsSuite extends FunSuite {
  private val block = BlockDigests.BlockBytes

  private def bytes(length: Int) = {
    val made = new Array[Byte](length)
    new Random(length.toLong).nextBytes(made)
    made
  }

  test("each block has its digest, and the whole file its own") {
    for (length <- Seq(0, 1, block - 1, block, block + 1, 2 * block, 2 * block + 7)) {
      val content = bytes(length)
      val BlockDigests.Whole(made, sha256) = BlockDigests.of(new ByteArrayInputStream(content))
      assertEquals(sha256.toSeq, Sha256.ofBytes(content).toSeq)
      val blocks = content.grouped(block).filter(_.nonEmpty).toSeq
      assertEquals(made.digests.toSeq, blocks.flatMap(Sha256.ofBytes(_).toSeq), s"$length bytes")
      blocks.zipWithIndex.foreach { case (one, at) =>
        assert(made.isBlock(at, one))
        assert(!made.isBlock(at, one.updated(one.length - 1, (one.last ^ 1).toByte)))
        assert(!made.isBlock(at, one.dropRight(1)))
        assertEquals(made.blockOf(made.start(at) + one.length - 1), at)
      }
    }
  }

  test("bytes that come in pieces of any size have the same digests") {
    val content = bytes(2 * block + 100)
    val whole = BlockDigests.of(new ByteArrayInputStream(content)).blocks
    for (size <- Seq(1000, block, block + 1, content.length)) {
      val made = new BlockDigests.Builder
      content.indices.by(size).foreach(from => made.update(content, from, size.min(content.length - from)))
      assertEquals(made.result().blocks.digests.toSeq, whole.digests.toSeq, s"pieces of $size bytes")
    }
  }

  test("a list of digests fits one number of blocks") {
    intercept[IllegalArgumentException](BlockDigests(1, Array.emptyByteArray))
    intercept[IllegalArgumentException](BlockDigests(-1, Array.emptyByteArray))
    intercept[IllegalArgumentException](BlockDigests(block + 1L, new Array[Byte](32)))
    assert(BlockDigests.fit(0, Array.emptyByteArray))
  }
}
