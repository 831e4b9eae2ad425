package io.pmeparquet.snapshot.parts

import java.nio.file.{Files, Path => LocalPath}

import io.pmeparquet.snapshot.TableSuite
import io.pmeparquet.snapshot.TableSuite.Damaged

class PartFileSuite extends TableSuite {
  private val files = Vector(
    file("a.parquet"),
    file("day=1/b ü%2F.parquet")
      .copy(partition = Seq("day" -> Some("1"), "city" -> None), length = Long.MaxValue),
    file("day=1/c.parquet").copy(aadFileUnique = None, rows = 0)
  )

  private def encrypted(root: LocalPath, some: Vector[SealedFile]): Array[Byte] = {
    val keys = new PartKeys(Some("footer"), kms("footer"), hadoop(root), conf)
    val bytes = PartFile.write(some, keys.ofList(hadoop(root.resolve("part"))))
    Files.write(root.resolve("part"), bytes)
    bytes
  }

  /** Reads bytes of a part whose whole file is in its place, where its keys are looked up. */
  private def read(root: LocalPath, bytes: Array[Byte], masterKeys: String*) =
    PartFile.read(bytes, PartKeys.forRead(scope(masterKeys: _*), hadoop(root.resolve("part")), conf), "p")

  table.test("an encrypted list is read as it was written") { root =>
    assertEquals(read(root, encrypted(root, files), "footer").map(plain), files.map(plain))
  }

  table.test("a plaintext list is read as it was written") { _ =>
    val bytes = PartFile.write(files, None)
    assertEquals(PartFile.read(bytes, None, "p").map(plain), files.map(plain))
  }

  table.test("a list without rows is read as it was written") { root =>
    assertEquals(read(root, encrypted(root, Vector.empty), "footer"), Vector.empty)
  }

  table.test("a list needs the footer's key") { root =>
    val bytes = encrypted(root, files)
    refused("PME_KEY_NOT_FOUND", "'footer'")(read(root, bytes, "pii"))
  }

  table.test("no path is in the bytes of an encrypted list") { root =>
    val secret = "a-name-that-nobody-has-guessed"
    assert(!encrypted(root, Vector(file(s"$secret/f.parquet"))).containsSlice(secret.getBytes))
    assert(PartFile.write(Vector(file(s"$secret/f.parquet")), None).containsSlice("nobody".getBytes))
  }

  table.test("a list cut at any of many places is damaged") { root =>
    val bytes = encrypted(root, files)
    val places = (0 until 64) ++ (64 until bytes.length by 97) ++ (bytes.length - 64 until bytes.length)
    places.foreach(length => refused(Damaged, "p: ")(read(root, bytes.take(length), "footer")))
    val plaintext = PartFile.write(files, None)
    plaintext.indices.by(7).foreach { length =>
      refused(Damaged, "p: ")(PartFile.read(plaintext.take(length), None, "p"))
    }
  }

  table.test("a plaintext list is not read as an encrypted one, nor the other way round") { root =>
    val plaintext = PartFile.write(files, None)
    Files.write(root.resolve("part"), plaintext)
    refused("PME_PLAINTEXT_FILE")(read(root, plaintext, "footer"))
    refused(Damaged)(PartFile.read(encrypted(root, files), None, "p"))
  }

  test("a part with other columns is damaged") {
    val bytes = OtherParquet.bytes
    refused(Damaged, "p: ")(PartFile.read(bytes, None, "p"))
  }
}
