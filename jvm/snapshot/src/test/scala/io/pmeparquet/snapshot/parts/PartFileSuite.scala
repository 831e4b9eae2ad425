package io.pmeparquet.snapshot.parts

import java.nio.file.{Files, Path => LocalPath}

import io.pmeparquet.{BlockDigests, SampledSuite}
import io.pmeparquet.snapshot.manifest.DataFormat
import io.pmeparquet.snapshot.TableSuite
import io.pmeparquet.snapshot.TableSuite.Damaged

class PartFileSuite extends TableSuite with SampledSuite {
  private val files = Vector(
    file("a.parquet"),
    file("day=1/b ü%2F.parquet")
      .copy(partition = Seq("day" -> Some("1"), "city" -> None), length = Long.MaxValue),
    file("day=1/c.parquet").copy(aadFileUnique = None, rows = 0)
  )

  private def encrypted(root: LocalPath, some: Vector[SealedFile]): Array[Byte] = {
    val keys = new PartKeys(Some("footer"), kms("footer"), hadoop(root), conf)
    val bytes =
      PartFile.write(some, DataFormat.Parquet, keys.ofList(hadoop(root.resolve("part")), DataFormat.Parquet))
    Files.write(root.resolve("part"), bytes)
    bytes
  }

  /** Reads bytes of a part whose whole file is in its place, where its keys are looked up. */
  private def read(root: LocalPath, bytes: Array[Byte], masterKeys: String*) =
    PartFile.read(
      bytes,
      DataFormat.Parquet,
      PartKeys.forRead(scope(masterKeys: _*), hadoop(root.resolve("part")), conf),
      "p"
    )

  table.test("an encrypted list is read as it was written") { root =>
    assertEquals(read(root, encrypted(root, files), "footer").map(plain), files.map(plain))
  }

  table.test("a plaintext list is read as it was written") { _ =>
    val bytes = PartFile.write(files, DataFormat.Parquet, None)
    assertEquals(PartFile.read(bytes, DataFormat.Parquet, None, "p").map(plain), files.map(plain))
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
    assert(
      PartFile
        .write(Vector(file(s"$secret/f.parquet")), DataFormat.Parquet, None)
        .containsSlice("nobody".getBytes)
    )
  }

  table.test("a list cut at any of many places is damaged") { root =>
    val bytes = encrypted(root, files)
    val step = if (isWhole) 97 else 991
    val places = (0 until 64) ++ (64 until bytes.length by step) ++ (bytes.length - 64 until bytes.length)
    places.foreach(length => refused(Damaged, "p: ")(read(root, bytes.take(length), "footer")))
    val plaintext = PartFile.write(files, DataFormat.Parquet, None)
    plaintext.indices.by(if (isWhole) 7 else 61).foreach { length =>
      refused(Damaged, "p: ")(PartFile.read(plaintext.take(length), DataFormat.Parquet, None, "p"))
    }
  }

  table.test("a plaintext list is not read as an encrypted one, nor the other way round") { root =>
    val plaintext = PartFile.write(files, DataFormat.Parquet, None)
    Files.write(root.resolve("part"), plaintext)
    refused("PME_PLAINTEXT_FILE")(read(root, plaintext, "footer"))
    refused(Damaged)(PartFile.read(encrypted(root, files), DataFormat.Parquet, None, "p"))
  }

  private def orc(length: Long, digests: Int) = {
    // A case class would refuse a wrong number before it is written.
    val blocks = BlockDigests(digests.toLong * BlockDigests.BlockBytes, new Array[Byte](32 * digests))
    file("a.orc").copy(length = length, aadFileUnique = None, blocks = Some(blocks))
  }

  test("a list of ORC files has a digest for each block of a file") {
    val mebibyte = BlockDigests.BlockBytes.toLong
    for ((length, blocks) <- Seq(0L -> 0, 1L -> 1, mebibyte -> 1, mebibyte + 1 -> 2)) {
      val bytes = PartFile.write(Seq(orc(length, blocks)), DataFormat.Orc, None)
      val found = PartFile.read(bytes, DataFormat.Orc, None, "p").head.blocks.get
      assertEquals((found.length, found.digests.length), (length, 32 * blocks))
      val other = PartFile.write(Seq(orc(length, blocks + 1)), DataFormat.Orc, None)
      refused(Damaged, "each block")(PartFile.read(other, DataFormat.Orc, None, "p"))
    }
    val without = PartFile.write(files, DataFormat.Parquet, None)
    refused(Damaged)(PartFile.read(without, DataFormat.Orc, None, "p"))
  }

  test("a part with other columns is damaged") {
    val bytes = OtherParquet.bytes
    refused(Damaged, "p: ")(PartFile.read(bytes, DataFormat.Parquet, None, "p"))
  }
}
