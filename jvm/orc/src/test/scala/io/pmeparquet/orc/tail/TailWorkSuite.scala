package io.pmeparquet.orc.tail

import java.util.Random

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{EncryptionAlgorithm, OrcProto}
import org.apache.orc.protobuf.ByteString

/** How often parsing looks at what an attacker may make many of. */
class TailWorkSuite extends FunSuite {

  /** Counts the looks at its elements. */
  private final class Counted[A](of: IndexedSeq[A]) extends IndexedSeq[A] {
    var looks = 0
    def length: Int = of.length
    def apply(index: Int): A = {
      looks += 1
      of(index)
    }
  }

  private def struct(children: Seq[Int]): OrcProto.Type = {
    val made = OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.STRUCT)
    children.foreach(child => made.addSubtypes(child).addFieldNames(s"f$child"))
    made.build()
  }

  private val leaf = OrcProto.Type.newBuilder.setKind(OrcProto.Type.Kind.INT).build()

  private def flat(count: Int) = OrcTypes.of(struct(1 until count) +: IndexedSeq.fill(count - 1)(leaf))

  private def variant(id: Int, root: Int) =
    new OrcVariant(
      id,
      root,
      OrcKey(s"k${id % 3}", 0, EncryptionAlgorithm.AES_CTR_128),
      Array[Byte](1),
      Nil,
      Array()
    )

  private def tail(types: IndexedSeq[OrcType], variants: IndexedSeq[OrcVariant]) = new OrcTail(
    new Path("a.orc"),
    0,
    0,
    OrcCompression(OrcCompression.None, 0),
    "0.12",
    types,
    IndexedSeq.empty,
    Some(OrcEncryption(IndexedSeq.empty, Nil, variants)),
    0,
    Map.empty,
    0,
    0
  )

  test("protection does not compare each column with each variant") {
    val variants = new Counted((0 until 999).map(id => variant(id, id + 1)))
    assertEquals(tail(flat(1000), variants).protection.count(_.keys.nonEmpty), 999)
    assert(variants.looks <= 3 * 999, s"${variants.looks} looks")
  }

  test("local keys are looked at where a stripe has its own, not where it inherits them") {
    def stripe(at: Int) = OrcProto.StripeInformation.newBuilder.setOffset(3L + at).setFooterLength(1)
    val first = stripe(0)
    (0 until 100).foreach(_ => first.addEncryptedLocalKeys(ByteString.copyFrom(Array[Byte](1))))
    val found = OrcStripe.all((first +: (1 until 100).map(stripe)).map(_.build()), 200, 100, 0)
    assertEquals(found.head.encryptedKeys.size, 100)
    assert(found.forall(_.encryptedKeys eq found.head.encryptedKeys))
  }

  /** A tree of structs, the columns in their order. */
  private def nested(random: Random, count: Int): IndexedSeq[OrcType] = {
    val parents = new Array[Int](count)
    (1 until count).foreach { id =>
      // A column below the one before it, or below one that this is in.
      val above = Iterator.iterate(id - 1)(parents(_)).takeWhile(_ > 0).toSeq :+ 0
      parents(id) = above(random.nextInt(above.size))
    }
    OrcTypes.of((0 until count).map(id => struct((1 until count).filter(parents(_) == id))))
  }

  test("a column has the variants of all columns that it is in, in the order of the file") {
    val random = new Random(7)
    (0 until 100).foreach { _ =>
      val types = nested(random, 1 + random.nextInt(40))
      val variants = (0 until random.nextInt(20)).map(variant(_, random.nextInt(types.size)))
      val found = tail(types, variants)
      types.foreach { column =>
        val expected = variants.filter(one => types(one.root).holds(column.id))
        assertEquals(found.variantsOf(column.id).map(_.id), expected.map(_.id))
        val around = variants.filter(one => types(one.root).holds(column.id) || column.holds(one.root))
        assertEquals(found.variantsAround(column).map(_.id), around.map(_.id))
      }
      found.protection.foreach { one =>
        assertEquals(one.keys, found.variantsOf(one.column.id).map(_.key).distinct)
      }
    }
  }
}
