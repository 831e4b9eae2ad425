package io.pmeparquet.parquet.chunk

import java.util.Random

import munit.FunSuite
import org.apache.parquet.bytes.HeapByteBufferAllocator
import org.apache.parquet.column.{ColumnDescriptor, Encoding}
import org.apache.parquet.column.values.delta.{
  DeltaBinaryPackingValuesWriterForInteger,
  DeltaBinaryPackingValuesWriterForLong
}
import org.apache.parquet.column.values.deltalengthbytearray.DeltaLengthByteArrayValuesWriter
import org.apache.parquet.column.values.deltastrings.DeltaByteArrayWriter
import org.apache.parquet.column.values.rle.{
  RunLengthBitPackingHybridEncoder,
  RunLengthBitPackingHybridValuesWriter
}
import org.apache.parquet.column.values.ValuesWriter
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.{PrimitiveType, Type}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.PmeException

class EncodingBoundsSuite extends FunSuite {
  private val allocator = new HeapByteBufferAllocator
  private val slab = 64 * 1024

  private def bounds(
      kind: PrimitiveTypeName = PrimitiveTypeName.INT32,
      repetition: Int = 0,
      definition: Int = 0
  ) =
    new EncodingBounds(
      new ColumnDescriptor(
        Array("c"),
        new PrimitiveType(Type.Repetition.OPTIONAL, kind, "c"),
        repetition,
        definition
      ),
      "t"
    )

  private def refused(check: => Any): Unit =
    assertEquals(intercept[PmeException](check).getCondition(), "PME_DAMAGED_FILE")

  private def runs(bits: Int, values: Seq[Int]): Array[Byte] = {
    val encoder = new RunLengthBitPackingHybridEncoder(bits, slab, slab, allocator)
    values.foreach(encoder.writeInt)
    encoder.toBytes.toByteArray
  }

  private def written(writer: ValuesWriter)(write: ValuesWriter => Unit): Array[Byte] = {
    write(writer)
    writer.getBytes.toByteArray
  }

  private def int(value: Int): Array[Byte] =
    java.nio.ByteBuffer.allocate(4).order(java.nio.ByteOrder.LITTLE_ENDIAN).putInt(value).array

  private def bytes(values: Int*): Array[Byte] = values.map(_.toByte).toArray

  /** Values with runs in some places and changes in others. */
  private def mixed(random: Random, count: Int, most: Int): Seq[Int] =
    Iterator
      .continually(random.nextInt(most))
      .flatMap(Seq.fill(1 + random.nextInt(40) / 20 * 20)(_))
      .take(count)
      .toSeq

  private def checkLevels(levels: Array[Byte], count: Int, most: Int): Unit = {
    val check = bounds(definition = most)
    val page = int(levels.length) ++ levels
    check.checkV1(page, page.length, count, Encoding.RLE, Encoding.RLE, Encoding.PLAIN)
    check.checkV2(levels, 0, 0, levels.length, Array.empty, 0, count, Encoding.PLAIN)
  }

  test("parquet-java's levels pass, and none of them may be missing") {
    val random = new Random(11)
    for (most <- Seq(1, 2, 5, 9); count <- Seq(1, 7, 8, 9, 100, 503, 505, 20000)) {
      val levels = runs(32 - Integer.numberOfLeadingZeros(most), mixed(random, count, most + 1))
      checkLevels(levels, count, most)
      refused(checkLevels(levels, count + 100, most))
    }
  }

  test("levels are refused if they end early, or claim more than their bytes or their page can hold") {
    val endless = bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)
    val billionGroups = bytes(0x81, 0x80, 0x80, 0x80, 0x08, 0x01)
    Seq(Array.emptyByteArray, bytes(0x02, 0x01), bytes(0x64), endless, billionGroups, bytes(0x80)).foreach {
      levels =>
        refused(checkLevels(levels, 51, 1))
    }
    val check = bounds(definition = 1)
    Seq(int(-1), int(Int.MaxValue), int(3) ++ bytes(0x64, 0x01), bytes(1, 0)).foreach { page =>
      refused(check.checkV1(page, page.length, 50, Encoding.RLE, Encoding.RLE, Encoding.PLAIN))
    }
  }

  test("a series of empty runs comes to an end") {
    refused(checkLevels(Array.fill(1000)(0.toByte), 1, 1))
  }

  test("written dictionary indices pass, and impossible widths or groups are refused") {
    val random = new Random(12)
    val check = bounds()
    def indices(page: Array[Byte], count: Int): Unit =
      check.checkV1(page, page.length, count, Encoding.RLE, Encoding.RLE, Encoding.RLE_DICTIONARY)
    for (bits <- Seq(1, 3, 8, 17, 20); count <- Seq(1, 8, 1000, 20000))
      indices(bits.toByte +: runs(bits, mixed(random, count, 1 << bits)), count)
    indices(bytes(0), 100)
    Seq(bytes(33, 2, 0), bytes(255), bytes(2, 0x81, 0x80, 0x80, 0x80, 0x08, 0x01)).foreach(page =>
      refused(indices(page, 100))
    )
    // Null values have no index: there may be fewer indices than values, but no more than padding explains.
    indices(3.toByte +: runs(3, mixed(random, 10, 8)), 100)
  }

  test("written deltas pass, and impossible blocks or counts are refused") {
    val random = new Random(13)
    val check = bounds()
    def deltas(page: Array[Byte], count: Int, encoding: Encoding): Unit =
      check.checkV2(Array.empty, 0, 0, 0, page, page.length, count, encoding)
    for (count <- Seq(1, 2, 31, 32, 33, 127, 128, 129, 130, 5000)) {
      val integers = written(new DeltaBinaryPackingValuesWriterForInteger(slab, slab, allocator)) { writer =>
        (1 to count).foreach(_ => writer.writeInteger(random.nextInt()))
      }
      val longs = written(new DeltaBinaryPackingValuesWriterForLong(slab, slab, allocator)) { writer =>
        (1 to count).foreach(_ => writer.writeLong(random.nextLong()))
      }
      Seq(integers, longs).foreach { page =>
        deltas(page, count, Encoding.DELTA_BINARY_PACKED)
        refused(deltas(page, count - 1, Encoding.DELTA_BINARY_PACKED))
        if (count > 1) refused(deltas(page.dropRight(1), count, Encoding.DELTA_BINARY_PACKED))
      }
      def strings(writer: ValuesWriter) = written(writer) { writer =>
        (1 to count).foreach(_ => writer.writeBytes(Binary.fromString("x" * random.nextInt(50))))
      }
      deltas(
        strings(new DeltaLengthByteArrayValuesWriter(slab, slab, allocator)),
        count,
        Encoding.DELTA_LENGTH_BYTE_ARRAY
      )
      deltas(strings(new DeltaByteArrayWriter(slab, slab, allocator)), count, Encoding.DELTA_BYTE_ARRAY)
    }
    // A block of two billion values, a block of none, no miniblocks, three miniblocks in a block of 128, two billion
    // values, and a bit width of 65.
    val huge = bytes(0xff, 0xff, 0xff, 0xff, 0x07)
    Seq(
      huge ++ bytes(4, 10, 0),
      bytes(0, 4, 10, 0),
      bytes(0x80, 0x01, 0, 10, 0),
      bytes(0x80, 0x01, 3, 10, 0),
      bytes(0x80, 0x01, 4) ++ huge ++ bytes(0),
      bytes(0x80, 0x01, 4, 10, 0, 0, 65, 0, 0, 0)
    ).foreach(page => refused(deltas(page, 100, Encoding.DELTA_BINARY_PACKED)))
  }

  test("packed booleans are checked after their length") {
    val check = bounds(PrimitiveTypeName.BOOLEAN)
    val writer = new RunLengthBitPackingHybridValuesWriter(1, slab, slab, allocator)
    val page = written(writer)(writer => (0 until 999).foreach(i => writer.writeInteger(i % 3 / 2)))
    check.checkV1(page, page.length, 999, Encoding.RLE, Encoding.RLE, Encoding.RLE)
    val bomb = int(6) ++ bytes(0x81, 0x80, 0x80, 0x80, 0x08, 0x01)
    refused(check.checkV1(bomb, bomb.length, 999, Encoding.RLE, Encoding.RLE, Encoding.RLE))
  }
}
