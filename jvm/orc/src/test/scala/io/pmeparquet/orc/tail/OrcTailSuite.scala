package io.pmeparquet.orc.tail

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.orc.{OrcFile, TypeDescription}

import io.pmeparquet.PmeException

class OrcTailSuite extends FunSuite {
  import OrcFiles._

  private def agrees(path: Path, bits: Int = 256): OrcTail = {
    val found = checked(path)
    assertEquals(facts(found), orcFacts(reader(path, keys(bits))))
    found
  }

  for (compression <- compressions; bits <- Seq(128, 256))
    test(s"a file of ORC's writer is read as ORC's reader reads it: $compression, $bits bits") {
      val found = agrees(
        write(s"all-$compression-$bits.orc", options(keys(bits), compression = compression)),
        bits
      )
      assertEquals(found.stripes.size, 3)
      assertEquals(found.variants.size, 6)
      assertEquals(found.compression.kind, compression.name)
    }

  test("columns have the names that Spark and ORC give them, and the keys of their variants") {
    val path = write("names.orc", options(keys()))
    val found = tail(path)
    val schema = reader(path, keys()).getSchema
    found.types.tail.foreach { one =>
      assertEquals(one.orcName.mkString("."), schema.findSubtype(one.id).getFullFieldName)
    }
    val protection = found.protection.map(one => one.column.leaf.display -> one.keys.map(_.display))
    assertEquals(
      protection,
      Seq(
        "id" -> Seq(),
        "ssn" -> Seq("pii@0"),
        "salary" -> Seq("pay@3"),
        "address.street" -> Seq("pii@0"),
        "address.zip" -> Seq(),
        "tags.element" -> Seq("pay@3"),
        "m.key" -> Seq("pii@0"),
        "m.value.element" -> Seq("pii@0"),
        "u.0" -> Seq(),
        "u.1" -> Seq(),
        "ts" -> Seq(),
        "d" -> Seq(),
        "b" -> Seq(),
        "f" -> Seq(),
        "x" -> Seq("pay@3"),
        "`odd.name`" -> Seq()
      )
    )
    assertEquals(
      found.encryption.get.masks.map(mask => mask.name -> mask.columns.map(found.types(_).leaf.display)),
      Seq("nullify" -> Seq("ssn", "salary", "tags", "m", "x"), "sha256" -> Seq("address.street"))
    )
    assertEquals(
      found.types.filter(_.isLeaf).filter(_.repeated).map(_.leaf.display),
      Seq("tags.element", "m.key", "m.value.element")
    )
  }

  test("a merged file keeps the keys and encryption ids of its parts") {
    // Another key store is another random generator, so that each part has local keys of its own.
    val parts = Seq(1, 2).map { seed =>
      val own = keys()
      (1 until seed).foreach(_ => own.createLocalKey(own.getCurrentKeyVersion("pii")))
      write(s"part-$seed.orc", options(own), seed = seed)
    }
    val merged = new Path(directory.resolve("merged.orc").toUri)
    assertEquals(OrcFile.mergeFiles(merged, options(keys()), parts.asJava).size, 2)
    val found = agrees(merged)
    assertEquals(found.stripes.map(_.encryptionId), IndexedSeq[Long](1, 2, 3, 1, 2, 3))
    assert(!found.stripes(3).encryptedKeys.head.sameElements(found.stripes(0).encryptedKeys.head))
  }

  test("files without encryption, without rows, of an old format, and of many columns are read") {
    val plain =
      agrees(write("plain.orc", options(null, of = "struct<a:int,b:string>", encrypt = null), rows = 300))
    assertEquals(plain.encryption, None)
    assertEquals(plain.protection.flatMap(_.keys), Nil)
    agrees(write("no-rows.orc", options(keys()), rows = 0))
    val old = options(null, of = "struct<a:int,b:string,c:decimal(38,10)>", encrypt = null)
    assertEquals(agrees(write("old.orc", old.version(OrcFile.Version.V_0_11), rows = 300)).version, "0.11")
    val many = (0 until 3000).map(i => s"c$i:int").mkString("struct<", ",", ">")
    val wide = agrees(
      write(
        "wide.orc",
        options(keys(), of = many, encrypt = "pii:c7;pay:c2999", masks = "nullify:c7,c2999"),
        rows = 50
      )
    )
    assertEquals(wide.types.size, 3001)
    // Its footer is longer than what the first read has.
    assert(wide.length > 16 * 1024)
  }

  test("an unencrypted struct may be the root of a variant, with other variants in it") {
    val of = "struct<s:struct<a:int,b:struct<c:string,d:double>>,e:int>"
    val found =
      agrees(write("nested.orc", options(keys(), of = of, encrypt = "pii:s;pay:e", masks = "nullify:s,e")))
    assertEquals(
      found.protection.map(_.keys.map(_.name)),
      IndexedSeq(Seq("pii"), Seq("pii"), Seq("pii"), Seq("pay"))
    )
    assertEquals(found.variantsOf(0), Seq())
  }

  test("a file of 0 bytes has no rows and no encryption, as ORC's reader sees it") {
    val path = put("empty.orc", Array.emptyByteArray)
    val found = tail(path)
    assertEquals(facts(found), orcFacts(reader(path, keys())))
    assertEquals((found.rows, found.encryption), (0L, None))
  }

  test("a split has the stripes that begin in it, each in one split") {
    val found = tail(write("splits.orc", options(keys())))
    val cut = found.stripes(1).offset
    assertEquals(found.stripesIn(0, cut).map(_.id), IndexedSeq(0))
    assertEquals(found.stripesIn(cut, 1).map(_.id), IndexedSeq(1))
    assertEquals(found.stripesIn(cut + 1, Long.MaxValue).map(_.id), IndexedSeq(2))
  }

  test("attributes and metadata of writers are there") {
    val schema = TypeDescription.fromString("struct<a:int>")
    schema.getChildren.get(0).setAttribute("spark.sql.catalyst.type", "interval year")
    val path = new Path(directory.resolve("attributes.orc").toUri)
    val writer = OrcFile.createWriter(path, OrcFile.writerOptions(conf).setSchema(schema).overwrite(true))
    writer.addUserMetadata("org.apache.spark.version", java.nio.ByteBuffer.wrap("4.0.0".getBytes(UTF_8)))
    writer.close()
    val found = agrees(path)
    assertEquals(found.types(1).attributes, Map("spark.sql.catalyst.type" -> "interval year"))
    assertEquals(new String(found.userMetadata("org.apache.spark.version"), UTF_8), "4.0.0")
  }

  test("what is no ORC file is refused") {
    val texts = Seq("PAR1", "ORC", "a" * 50000, "ORC" + "\u0000" * 300)
    texts.zipWithIndex.foreach { case (text, i) =>
      val path = put(s"no-$i.orc", text.getBytes(UTF_8))
      val failed = intercept[PmeException](tail(path))
      assertEquals(failed.getCondition(), "PME_DAMAGED_FILE", text.take(10))
      assert(failed.problem.startsWith(s"$path: the ORC file is damaged: "), failed.problem)
    }
  }

  test("a listed length that is not the file's is refused") {
    val path = write("length.orc", options(keys()))
    assertEquals(
      intercept[PmeException](OpenedOrc.tailOf(path, length(path) + 10, conf)).getCondition(),
      "PME_DAMAGED_FILE"
    )
  }
}
