package io.pmeparquet.parquet.summary

import scala.util.Random

import munit.FunSuite
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter

/** Sizes of split-block Bloom filters, and filters that are halved. */
class BloomFoldingSuite extends FunSuite {
  private def filterOf(bytes: Int, values: Seq[Long]): Array[Byte] = {
    val bits = new Array[Byte](bytes)
    val filter = new BlockSplitBloomFilter(bits)
    values.foreach(value => filter.insertHash(filter.hash(value)))
    bits
  }

  private def holds(bits: Array[Byte], value: Long) = {
    val filter = new BlockSplitBloomFilter(bits)
    filter.findHash(filter.hash(value))
  }

  private val random = new Random(23)
  private val values = Seq.fill(3000)(random.nextLong())

  test("a folded filter is the one that its values make at that size, whatever the number of blocks") {
    Seq(64, 96 * 2, 1024, 32 * 1000, 128 * 1024).foreach { bytes =>
      assertEquals(
        SplitBlocks.folded(filterOf(bytes, values)).map(_.toSeq),
        Some(filterOf(bytes / 2, values).toSeq)
      )
    }
    assertEquals(
      SplitBlocks.folded(filterOf(8192, values), 256).map(_.toSeq),
      Some(filterOf(256, values).toSeq)
    )
  }

  test("an odd number of blocks cannot be halved, nor can halving lead to another size") {
    Seq(32, 96, 32 * 1001).foreach(bytes => assertEquals(SplitBlocks.folded(new Array[Byte](bytes)), None))
    Seq(48 * 1024 -> 1024, 1024 -> 2048).foreach { case (from, to) =>
      assertEquals(SplitBlocks.folded(new Array[Byte](from), to), None)
    }
  }

  test("the union of two filters is that of both their values") {
    val (some, others) = values.splitAt(1000)
    assertEquals(
      SplitBlocks.union(filterOf(4096, some), filterOf(4096, others)).toSeq,
      filterOf(4096, values).toSeq
    )
  }

  test("a filter of the stated size lets through the stated share, and one block less does not do") {
    Seq(0.5, 0.1, 0.01, 0.001).foreach { fpp =>
      val bytes = SplitBlocks.bytesFor(values.size.toLong, fpp)
      val bits = filterOf(bytes, values)
      val others = Seq.fill(200000)(random.nextLong())
      val let = others.count(holds(bits, _)).toDouble / others.size
      assert(math.abs(let - fpp) < fpp * 0.15, s"$let instead of $fpp")
      assert(
        math.abs(SplitBlocks.falsePositives(bits) - fpp) < fpp * 0.1,
        s"${SplitBlocks.falsePositives(bits)}"
      )
      assert(SplitBlocks.falsePositives(filterOf(bytes * 3 / 4, values)) > fpp)
      assert(values.forall(holds(bits, _)))
    }
  }

  test("no filter is larger than 128 KiB, and the most values are those that fit") {
    assertEquals(SplitBlocks.bytesFor(0, 0.01), 32)
    assertEquals(SplitBlocks.bytesFor(Long.MaxValue, 0.01), 128 * 1024)
    Seq(0.5, 0.01, 1e-9).foreach { fpp =>
      val most = SplitBlocks.mostValues(fpp)
      assert(SplitBlocks.bytesFor(most.toLong + 1, fpp) == 128 * 1024)
      assert(SplitBlocks.bytesFor(most.toLong * 98 / 100, fpp) < 128 * 1024, s"$fpp: $most")
      // So few hashes are ever kept.
      assert(most < 500000, s"$fpp: $most")
    }
  }

  test("equal hashes count once, zero too") {
    val hashes = new DistinctHashes
    val some = Seq.fill(50000)(random.nextLong()) ++ Seq(0L, -1L, Long.MinValue)
    (some ++ some).foreach(hashes.add)
    assertEquals(hashes.size, some.distinct.size)
    val found = Set.newBuilder[Long]
    hashes.foreach(found += _)
    assertEquals(found.result(), some.toSet)
  }
}
