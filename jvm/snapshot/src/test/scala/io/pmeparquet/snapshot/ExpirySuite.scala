package io.pmeparquet.snapshot

import java.nio.file.{Files, Path => LocalPath}
import java.nio.file.attribute.FileTime

import io.pmeparquet.options.{Level, OptionValues, SnapshotSettings}
import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind}
import io.pmeparquet.snapshot.manifest.{HmacSealer, IndexEntry, SealCheck, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSuite.{Damaged, NotAuthentic}

/** Old versions expire, and the parts of their lists that no other version needs. */
class ExpirySuite extends TableSuite {
  private val Day = 24 * 3600L * 1000
  private val now = System.currentTimeMillis
  private val settings = SnapshotSettings.of(new OptionValues(Map(Level.Option -> Map.empty[String, String])))
  private val index =
    IndexEntry(SummaryKind.MinMax, Seq("id"), "index_0", "optional int64 id", Some("footer"))

  private def reader(root: LocalPath) = {
    val check = new SealCheck(None, None, None, keys("footer"))
    new TableSnapshots(directoryOf(root), settings, check, scope("footer"), conf)
  }

  private def publish(root: LocalPath, files: Seq[SealedFile], indexes: Seq[IndexEntry] = Nil): Version = {
    val snapshots = reader(root)
    val before = snapshots.newest().map(version => snapshots.files(version))
    val summary = Some(ColumnSummary.Range(None, 0))
    new NewVersion(directoryOf(root), before, new HmacSealer("footer", keys("footer")), kms("footer"), conf)
      .build(files.toVector, TablePolicy(Some("footer"), Nil), Nil, indexes, "tests", (_, _) => summary)
      .publish()
  }

  private val files = (1 to 3).map(number => file(s"file-$number.parquet"))

  /** Three versions, each with a list of its own, and the second with an index as well. */
  private def threeVersions(root: LocalPath): Unit = {
    publish(root, files.take(1))
    publish(root, files.take(2), Seq(index))
    publish(root, files)
    assertEquals((versions(root), parts(root).size), (Seq(1L, 2L, 3L), 4))
  }

  private def expire(root: LocalPath, keep: Int, at: Long = now): (Int, Int) = {
    val done = new Expiry(reader(root)).run(keep, at)
    (done.versions, done.parts)
  }

  private def versions(root: LocalPath) = directoryOf(root).versions
  private def parts(root: LocalPath) = namesIn(root).filterNot(_.startsWith("snapshot-"))
  private def manifestOf(root: LocalPath, version: Int) =
    snapshotsOf(root).resolve(f"snapshot-$version%010d.json")

  private def assertReads(root: LocalPath): Unit = {
    val snapshots = reader(root)
    assertEquals(snapshots.files(snapshots.chosen().get).files.map(_.path), files.map(_.path).toVector)
  }

  /** Refuses to expire, and nothing is deleted. */
  private def kept(root: LocalPath, keep: Int, condition: String, words: String*): Unit = {
    val before = namesIn(root)
    refused(condition, words: _*)(expire(root, keep))
    assertEquals(namesIn(root), before)
  }

  table.test("old versions and their parts expire, and the newest is read") { root =>
    threeVersions(root)
    assertEquals(expire(root, Int.MaxValue), (0, 0))
    assertEquals((versions(root), parts(root).size), (Seq(1L, 2L, 3L), 4))
    assertEquals(expire(root, 2), (1, 1))
    assertEquals(versions(root), Seq(2L, 3L))
    assertReads(root)
    // The file of the index, too.
    assertEquals(expire(root, 1), (1, 2))
    assertEquals(expire(root, 1), (0, 0))
    assertEquals((versions(root), parts(root).size), (Seq(3L), 1))
    assertReads(root)
  }

  table.test("the history goes on after versions expired, and a shared part stays") { root =>
    threeVersions(root)
    assertEquals(publish(root, files).number, 4L)
    assertEquals(parts(root).size, 4)
    assertEquals(expire(root, 1), (3, 3))
    assertReads(root)
    assertEquals(publish(root, files).number, 5L)
    assertReads(root)
  }

  table.test("files that no version names are left for a day") { root =>
    threeVersions(root)
    def put(name: String, age: Long) = {
      val made = Files.write(snapshotsOf(root).resolve(name), "PAR1".getBytes)
      Files.setLastModifiedTime(made, FileTime.fromMillis(now - age))
    }
    def unnamed(number: Int) = s"part-00000000-0000-4000-8000-00000000000$number.parquet"
    val young = Seq(put(unnamed(1), Day - 600000), put(s".pme-${unnamed(2)}", Day - 600000))
    val old = Seq(put(unnamed(3), Day + 600000), put(s".pme-${unnamed(4)}", Day + 600000))
    // Names that the format does not have.
    val others = Seq("part-1.parquet", ".pme-rotation", "notes.txt", "part-x.parquet").map(put(_, 2 * Day))
    assertEquals(expire(root, 3), (0, 1))
    assertEquals(
      (young ++ old ++ others).map(Files.exists(_)),
      Seq(true, true, false, false) ++ Seq.fill(4)(true)
    )
  }

  table.test("nothing is deleted if a version that stays is altered or cut") { root =>
    threeVersions(root)
    for (version <- 2 to 3) {
      val file = manifestOf(root, version)
      val content = Files.readAllBytes(file)
      val altered = new String(content, "UTF-8").replaceFirst("\"rows\":", "\"rows\":1")
      Files.write(file, altered.getBytes("UTF-8"))
      kept(root, 2, NotAuthentic, file.getFileName.toString, "its HMAC does not match")
      Files.write(file, content.dropRight(1))
      kept(root, 2, Damaged, file.getFileName.toString)
      Files.write(file, content)
    }
  }

  table.test("a damaged version expires, and nobody knows whose part it was") { root =>
    threeVersions(root)
    Files.write(manifestOf(root, 1), Array.emptyByteArray)
    assertEquals(expire(root, 2), (1, 0))
    assertEquals(versions(root), Seq(2L, 3L))
    assertReads(root)
  }

  table.test(
    "an expiry that is killed after the first manifest leaves the newest version, and another one ends it"
  ) { root =>
    threeVersions(root)
    Files.delete(manifestOf(root, 1))
    assertReads(root)
    assertEquals(expire(root, 1), (1, 2))
    assertEquals(expire(root, 1, now + 2 * Day), (0, 1))
    assertEquals((versions(root), parts(root).size), (Seq(3L), 1))
    assertReads(root)
  }
}
