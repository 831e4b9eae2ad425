package io.pmeparquet.orc.tail

import java.lang.management.ManagementFactory

import munit.FunSuite
import org.apache.orc.protobuf.{ByteString, Message}
import org.apache.orc.OrcProto

/** What ORC's generated classes do not refuse, and why each structure is walked through before they see it. */
class OrcMessagesSuite extends FunSuite {
  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[com.sun.management.ThreadMXBean]

  private def allocatedBy(work: => Any): Long = {
    val id = Thread.currentThread.getId
    val before = threads.getThreadAllocatedBytes(id)
    work
    threads.getThreadAllocatedBytes(id) - before
  }

  private def refused(
      bytes: Array[Byte],
      why: String,
      empty: Message = OrcProto.Footer.getDefaultInstance
  ): Unit = {
    val failed = intercept[Damage](OrcMessages.parse(empty, bytes, "it"))
    assert(failed.why.contains(why), failed.why)
  }

  private def repeated(part: Byte*) =
    Array.tabulate((OrcLimits.Objects + 1) * part.size)(i => part(i % part.size))

  test("the classes make objects of many times the size of a message, which are counted before") {
    val statistics = repeated(0x3a, 0)
    val few = statistics.take(200 * 1000)
    assert(allocatedBy(OrcProto.Footer.parseFrom(few)) > few.length * 40L)
    val walked = allocatedBy(refused(statistics, "the maximum with this heap size"))
    // Without objects that stay: of the counting itself.
    assert(walked < statistics.length * 20L, s"$walked bytes")
    // Of a field that nobody knows, packed numbers and texts.
    refused(repeated(0x78, 1), "the maximum with this heap size")
    refused(repeated(0x20, 1), "the maximum with this heap size", OrcProto.PostScript.getDefaultInstance)
    refused(repeated(0x1a, 0), "the maximum with this heap size", OrcProto.Type.getDefaultInstance)
    val packed = OrcProto.Type.newBuilder
    (0 to OrcLimits.Objects).foreach(_ => packed.addSubtypes(1))
    refused(packed.build().toByteArray, "the maximum with this heap size", packed.build())
  }

  test("the classes take large unsigned numbers for negative ones, and cut those of 32 bits") {
    assert(OrcProto.Footer.newBuilder.setNumberOfRows(-1).build().getNumberOfRows < 0)
    refused(OrcProto.Footer.newBuilder.setNumberOfRows(-1).build().toByteArray, "field 6 is too large")
    refused(
      OrcProto.Footer.newBuilder.setRowIndexStride(-1).build().toByteArray,
      "field 8 is too large"
    )
    // 2^32 + 1
    val cut = Array[Byte](0x40, -127, -128, -128, -128, 16)
    assertEquals(OrcProto.Footer.parseFrom(cut).getRowIndexStride, 1)
    refused(cut, "field 8 is too large")
    val children = OrcProto.Type.newBuilder.addSubtypes(-1).build()
    refused(children.toByteArray, "field 2 is too large", children)
  }

  test("the classes ignore a field of another type, and skip groups") {
    val rows = Array[Byte](0x32, 1, 5)
    assert(!OrcProto.Footer.parseFrom(rows).hasNumberOfRows)
    refused(rows, "field 6 has the wire type 2")
    refused(Array[Byte](0x7b, 0x7c), "it has the wire type 3")
  }

  test("to the classes, an unknown value of an enum is the first one") {
    val column = OrcProto.Type.parseFrom(Array[Byte](8, 99))
    assertEquals((column.hasKind, column.getKind), (false, OrcProto.Type.Kind.BOOLEAN))
    assertEquals(OrcMessages.unknownValue(column, OrcProto.Type.KIND_FIELD_NUMBER), Some(99L))
    val failed = intercept[Damage](OrcTypes.of(IndexedSeq(column)))
    assertEquals((failed.why, failed.unknown), ("column 0 has an unknown type, number 99", true))
  }

  test("the classes make the same text of names that are no UTF-8 and differ") {
    def name(last: Int) = ByteString.copyFrom(Array('a'.toByte, last.toByte))
    assertEquals(name(0xff).toStringUtf8, name(0xfe).toStringUtf8)
    assertEquals(intercept[Damage](OrcMessages.text(name(0xff))).why, "a text is not UTF-8")
    assert(intercept[Damage](OrcMessages.text(name('b'), most = 1)).why.contains("at most 1"))
  }

  test("what is cut or has a length that is not there is refused") {
    val bytes = OrcProto.Footer.newBuilder.setSoftwareVersion("1.9.8").setNumberOfRows(7).build().toByteArray
    (1 until bytes.length).foreach { length =>
      // Between two fields, a message is whole.
      if (length != 2) refused(bytes.take(length), "it is not readable")
    }
    refused(Array[Byte](0x22, 127, 0), "it is not readable")
    refused(Array[Byte](0x3a, -1, -1, -1, -1, 7), "it is not readable")
    refused(0x30.toByte +: Array.fill(11)(0x80.toByte), "it is not readable")
  }
}
