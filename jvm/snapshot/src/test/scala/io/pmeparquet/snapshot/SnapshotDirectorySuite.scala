package io.pmeparquet.snapshot

import java.io.RandomAccessFile
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}
import java.util.concurrent.{Callable, CyclicBarrier, Executors}

import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeException, Sha256}
import io.pmeparquet.snapshot.manifest.FileEntry
import io.pmeparquet.snapshot.TableSuite.{Damaged, NotAuthentic}

class SnapshotDirectorySuite extends TableSuite {
  private val first = "snapshot-0000000001.json"

  private def put(root: LocalPath, name: String, text: String = "text"): LocalPath = {
    Files.createDirectories(snapshotsOf(root))
    Files.write(snapshotsOf(root).resolve(name), text.getBytes(UTF_8))
  }

  private def entry(name: String, bytes: Array[Byte]) =
    FileEntry(name, bytes.length.toLong, Sha256.hex(Sha256.ofBytes(bytes)))

  private val partName = "part-01234567-89ab-cdef-0123-456789abcdef.parquet"

  table.test("a table without the directory has no versions") { root =>
    assertEquals(directoryOf(root).versions, Nil)
    assert(!SnapshotDirectory.isIn(hadoop(root), conf))
    Files.createDirectory(snapshotsOf(root))
    assertEquals(directoryOf(root).versions, Nil)
    assert(SnapshotDirectory.isIn(hadoop(root), conf))
  }

  table.test("versions are those of manifests' names, in ascending order, and other names are passed over") {
    root =>
      Seq(10L, 2L, 9999999999L, 1L).foreach(number => put(root, f"snapshot-$number%010d.json"))
      Seq(
        "snapshot-1.json",
        "snapshot-0000000000.json",
        "snapshot-00000000003.json",
        "snapshot-0000000004.json.crc",
        ".snapshot-0000000004.json",
        "snapshot-0000000005.JSON",
        "snapshot-000000000x.json",
        "snapshot--000000001.json",
        "a-snapshot-0000000006.json",
        ".pme-part-x.parquet",
        partName
      ).foreach(put(root, _))
      assertEquals(directoryOf(root).versions, Seq(1L, 2L, 10L, 9999999999L))
  }

  table.test("a manifest's path is that of its version") { root =>
    assertEquals(directoryOf(root).manifestPath(1).getName, first)
    assertEquals(directoryOf(root).manifestPath(9999999999L).getName, "snapshot-9999999999.json")
  }

  table.test("snapshots are where option snapshotLocation says") { root =>
    val elsewhere = root.resolve("elsewhere")
    val directory = new SnapshotDirectory(hadoop(root.resolve("t")), Some(elsewhere.toString), conf)
    directory.write(first, Array[Byte](1))
    assert(Files.exists(elsewhere.resolve(first)))
    assertEquals(directory.versions, Seq(1L))
  }

  table.test("the table's location has no links and no scheme") { root =>
    val (real, link) = (Files.createDirectory(root.resolve("real")), root.resolve("link"))
    Files.createSymbolicLink(link, real)
    assertEquals(directoryOf(link).tableLocation, real.toString)
    assertEquals(new SnapshotDirectory(new Path(link.toUri), None, conf).tableLocation, real.toString)
  }

  table.test("a manifest that is missing, a link or a directory is damaged") { root =>
    refused(Damaged, first, "missing")(directoryOf(root).manifest(1))
    val target = put(root, "other")
    Files.createSymbolicLink(snapshotsOf(root).resolve(first), target)
    refused(Damaged, first, "a link")(directoryOf(root).manifest(1))
    Files.createDirectory(snapshotsOf(root).resolve("snapshot-0000000002.json"))
    refused(Damaged, "a directory")(directoryOf(root).manifest(2))
    Files.createSymbolicLink(snapshotsOf(root).resolve("snapshot-0000000003.json"), root.resolve("absent"))
    refused(Damaged, "a link")(directoryOf(root).manifest(3))
  }

  table.test("a manifest that is too long is damaged, and is not read") { root =>
    val most = 16L * 1024 * 1024
    val file = new RandomAccessFile(put(root, first).toFile, "rw")
    try {
      file.setLength(most)
      assertEquals(directoryOf(root).manifest(1).length.toLong, most)
      Seq(most + 1, 1L << 40).foreach { length =>
        file.setLength(length)
        refused(Damaged, s"$length bytes", s"$most")(directoryOf(root).manifest(1))
      }
    } finally file.close()
  }

  table.test("a part must have the length and the digest of its entry") { root =>
    val bytes = "the bytes of a part".getBytes(UTF_8)
    val directory = directoryOf(root)
    directory.write(partName, bytes)
    assertEquals(directory.part(entry(partName, bytes)).toSeq, bytes.toSeq)
    refused(Damaged, partName)(directory.part(entry(partName, bytes :+ 0.toByte)))
    refused(NotAuthentic, partName)(directory.part(entry(partName, bytes.reverse)))
    Files.write(snapshotsOf(root).resolve(partName), bytes.dropRight(1))
    refused(Damaged, "18 bytes", "19")(directory.part(entry(partName, bytes)))
    refused(Damaged, "missing")(directory.part(entry(directory.newPart(), bytes)))
  }

  table.test("a part that its entry states to be longer than any is not looked for") { root =>
    val huge = entry(partName, Array.empty).copy(length = 256L * 1024 * 1024 + 1)
    refused(Damaged, "more than any part")(directoryOf(root).part(huge))
  }

  table.test("a part that is a link is damaged") { root =>
    val bytes = "text".getBytes(UTF_8)
    Files.createSymbolicLink(snapshotsOf(root).resolve(partName), put(root, "other"))
    refused(Damaged, "a link")(directoryOf(root).part(entry(partName, bytes)))
  }

  table.test("the names of new parts are names of parts, and differ") { root =>
    val names = Seq.fill(100)(directoryOf(root).newPart())
    assert(names.forall(_.matches(io.pmeparquet.snapshot.manifest.ManifestJson.PartName)), names.head)
    assertEquals(names.distinct.size, 100)
  }

  table.test("nothing is written over what exists, nor into a link that stands for the directory") { root =>
    val directory = directoryOf(root)
    directory.write(partName, Array[Byte](1))
    intercept[PmeException](directory.write(partName, Array[Byte](2)))
    assertEquals(Files.readAllBytes(snapshotsOf(root).resolve(partName)).toSeq, Seq[Byte](1))
    val (other, victim) =
      (Files.createDirectory(root.resolve("other")), Files.createDirectory(root.resolve("victim")))
    Files.createSymbolicLink(snapshotsOf(other), victim)
    intercept[PmeException](directoryOf(other).write(partName, Array[Byte](1)))
    assertEquals(victim.toFile.list.toSeq, Nil)
  }

  table.test("a published version appears whole, and nothing staged is left") { root =>
    assert(directoryOf(root).publish(1, Array[Byte](1, 2)))
    assertEquals(directoryOf(root).manifest(1).toSeq, Seq[Byte](1, 2))
    assertEquals(namesIn(root), Set(first))
  }

  table.test("a version that exists is not replaced, whatever it is") { root =>
    val directory = directoryOf(root)
    assert(directory.publish(1, Array[Byte](1)))
    assert(!directory.publish(1, Array[Byte](2)))
    assertEquals(directory.manifest(1).toSeq, Seq[Byte](1))
    Files.createDirectory(snapshotsOf(root).resolve("snapshot-0000000002.json"))
    assert(!directory.publish(2, Array[Byte](2)))
    val victim = put(root, "victim")
    Files.createSymbolicLink(snapshotsOf(root).resolve("snapshot-0000000003.json"), victim)
    assert(!directory.publish(3, Array[Byte](2)))
    assertEquals(new String(Files.readAllBytes(victim), UTF_8), "text")
    assert(!namesIn(root).exists(_.startsWith(".pme-")), namesIn(root))
  }

  table.test(
    "of several that publish a version at the same moment exactly one succeeds, and nothing staged is left"
  ) { root =>
    val (attempts, versions) = (8, 1 to 30)
    val threads = Executors.newFixedThreadPool(attempts)
    try
      versions.foreach { round =>
        val together = new CyclicBarrier(attempts)
        val answers = (0 until attempts)
          .map { attempt =>
            val publish: Callable[Boolean] = () => {
              val directory = directoryOf(root)
              together.await()
              directory.publish(round.toLong, Array(attempt.toByte))
            }
            threads.submit(publish)
          }
          .map(_.get)
        assertEquals(answers.count(identity), 1, s"in round $round")
        assertEquals(directoryOf(root).manifest(round.toLong).toSeq, Seq(answers.indexOf(true).toByte))
      }
    finally threads.shutdown()
    assertEquals(namesIn(root), versions.map(round => f"snapshot-$round%010d.json").toSet)
  }

  table.test("a part that is not there can be deleted") { root =>
    val directory = directoryOf(root)
    directory.write(partName, Array[Byte](1))
    directory.delete(partName)
    directory.delete(partName)
    assertEquals(namesIn(root), Set.empty[String])
  }
}
