package io.pmeparquet.snapshot.parts

import java.nio.file.{Files, Path => LocalPath}

import io.pmeparquet.snapshot.manifest.{IndexEntry, TablePolicy}
import io.pmeparquet.snapshot.TableSuite
import io.pmeparquet.snapshot.TableSuite.Damaged

class PartFileSuite extends TableSuite {
  private val ids = IndexEntry(Seq("id"), "index_0", "optional int64 id")
  private val names = IndexEntry(Seq("name"), "index_1", "optional binary name (STRING)")
  private val policy =
    TablePolicy(Some("footer"), Seq(Seq("id") -> Some("footer"), Seq("name") -> Some("pii")))
  private val bounds = SealedRange(Some(Array[Byte](1, 0) -> Array[Byte](-1, 7)), 3)
  private val onlyNulls = SealedRange(None, 10)

  private val files = Vector(
    file("a.parquet", ranges = Map("index_0" -> bounds, "index_1" -> onlyNulls)),
    file("day=1/b ü%2F.parquet", ranges = Map("index_0" -> onlyNulls))
      .copy(partition = Seq("day" -> Some("1"), "city" -> None), length = Long.MaxValue),
    file("day=1/c.parquet", ranges = Map("index_1" -> bounds)).copy(aadFileUnique = None, rows = 0)
  )

  private def encrypted(root: LocalPath, some: Vector[SealedFile], indexes: IndexEntry*): Array[Byte] = {
    val path = hadoop(root.resolve("part"))
    val keys = PartKeys.forWrite(policy, indexes, kms("footer", "pii"), hadoop(root), conf)(path)
    val bytes = PartFile.write(some, indexes, keys)
    Files.write(root.resolve("part"), bytes)
    bytes
  }

  /** Reads bytes of a part whose whole file is in its place, where its keys are looked up. */
  private def read(root: LocalPath, bytes: Array[Byte], masterKeys: String*)(indexes: IndexEntry*) =
    PartFile.read(
      bytes,
      indexes,
      PartKeys.forRead(scope(masterKeys: _*), hadoop(root.resolve("part")), conf),
      "p"
    )

  private def without(field: String)(file: SealedFile) = file.copy(ranges = file.ranges - field)

  table.test("an encrypted part is read as it was written") { root =>
    val bytes = encrypted(root, files, ids, names)
    assertEquals(read(root, bytes, "footer", "pii")(ids, names).map(plain), files.map(plain))
  }

  table.test("a plaintext part is read as it was written") { _ =>
    val bytes = PartFile.write(files, Seq(ids, names), None)
    assertEquals(PartFile.read(bytes, Seq(ids, names), None, "p").map(plain), files.map(plain))
  }

  table.test("a part without rows is read as it was written") { root =>
    assertEquals(read(root, encrypted(root, Vector.empty, ids), "footer")(ids), Vector.empty)
  }

  table.test("an index that is not asked for is not read, and needs no key") { root =>
    val bytes = encrypted(root, files, ids, names)
    assertEquals(read(root, bytes, "footer")(ids).map(plain), files.map(without("index_1")).map(plain))
    assertEquals(read(root, bytes, "footer")().map(_.ranges), files.map(_ => Map.empty[String, SealedRange]))
  }

  table.test("an index needs the key of its column, and everything the footer's") { root =>
    val bytes = encrypted(root, files, ids, names)
    refused("PME_KEY_NOT_FOUND", "'pii'")(read(root, bytes, "footer")(names))
    refused("PME_KEY_NOT_FOUND", "'footer'")(read(root, bytes, "pii")(ids))
  }

  table.test("neither paths nor ranges are in the bytes of an encrypted part") { root =>
    val secret = "a-name-that-nobody-has-guessed"
    val range = SealedRange(Some(secret.getBytes -> secret.getBytes), 0)
    val bytes =
      encrypted(root, Vector(file(s"$secret/f.parquet", ranges = Map("index_1" -> range))), ids, names)
    assert(!bytes.containsSlice(secret.getBytes))
    val plaintext = PartFile.write(Vector(file(s"$secret/f.parquet")), Nil, None)
    assert(plaintext.containsSlice("nobody".getBytes))
  }

  table.test("a part cut at any of many places is damaged") { root =>
    val bytes = encrypted(root, files, ids, names)
    val places = (0 until 64) ++ (64 until bytes.length by 97) ++ (bytes.length - 64 until bytes.length)
    places.foreach(length =>
      refused(Damaged, "p: ")(read(root, bytes.take(length), "footer", "pii")(ids, names))
    )
    val plaintext = PartFile.write(files, Nil, None)
    plaintext.indices.by(7).foreach { length =>
      refused(Damaged, "p: ")(PartFile.read(plaintext.take(length), Nil, None, "p"))
    }
  }

  table.test("a plaintext part is not read as an encrypted one, nor the other way round") { root =>
    val plaintext = PartFile.write(files, Nil, None)
    Files.write(root.resolve("part"), plaintext)
    refused("PME_PLAINTEXT_FILE")(read(root, plaintext, "footer")())
    refused(Damaged)(PartFile.read(encrypted(root, files), Nil, None, "p"))
  }

  table.test("a part without the field of an index that the manifest states is damaged") { root =>
    val bytes = encrypted(root, files)
    refused(Damaged)(read(root, bytes, "footer")(ids))
    assertEquals(read(root, bytes, "footer")().map(_.path), files.map(_.path))
  }

  test("a part with other columns is damaged") {
    val bytes = OtherParquet.bytes
    refused(Damaged, "p: ")(PartFile.read(bytes, Nil, None, "p"))
  }
}
