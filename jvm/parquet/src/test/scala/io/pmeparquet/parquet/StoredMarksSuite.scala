package io.pmeparquet.parquet

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{PmeException, StoredFormats, UnfinishedFile}
import io.pmeparquet.options.Settings
import io.pmeparquet.parquet.copy.{InPlaceManifest, InPlaceRun}
import io.pmeparquet.parquet.rotation.RotationMark
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.parquet.storage.{CopiedTable, FileReplacement, MemoryStore, ResumableTable, StagedTable}

/** What runs of earlier builds have left in tables and beside them when they were killed. */
class StoredMarksSuite extends WrittenFilesSuite with StoredFormats {
  private val Table = "people"
  private val Data = "part-0.parquet"
  private val Bucket = "marks"
  private val options = Seq("footerKey" -> "f", "columnKeys" -> "n: name", "aadPrefix" -> "{table}")
  private val purpose = "what the content of files depends on"

  /** In a store in memory, since the manifest states where the table is. */
  private val inStore = new Path(s"s3a://$Bucket/$Table")
  private val storeConf = MemoryStore.conf("s3a")
  private def objects = MemoryStore.bucket(Bucket).objects
  private val Manifest = ".pme-encrypting/manifest.json"

  private def aim(keyMaterial: Option[String] = None) =
    RotationMark.aim(
      Some(Map("pii-2025" -> "pii-2026", "pay-2025" -> "pay-2026")),
      keyMaterial,
      toOther = false,
      "DEFAULT",
      "DEFAULT"
    )

  private val folder = stored("marks-1") { folder =>
    val table = folder.resolve(Table)
    write(table.resolve(Data), Array.emptyByteArray)
    val run = begin(options: _*)
    run.end(complete = false, storeConf)
    write(table.resolve(Manifest), objects(s"/$Table/$Manifest").bytes)
    objects.clear()
    RotationMark.place(hadoop(table), aim(), new Configuration(false))
    write(
      table.resolve(s"${FileReplacement.StagedPrefix}8f7f3d0a-6a52-4a8c-9c59-2f1f6f0c1f11"),
      Array.emptyByteArray
    )
    write(
      folder.resolve(s"unfinished/${UnfinishedFile.Prefix}8f7f3d0a-6a52-4a8c-9c59-2f1f6f0c1f11.parquet"),
      Array.emptyByteArray
    )
    val copied = folder.resolve(".copied.pme-rekey-8f7f3d0a-6a52-4a8c-9c59-2f1f6f0c1f11")
    write(copied.resolve("running"), Array.emptyByteArray)
    write(copied.resolve(s"attempt-8f7f3d0a-6a52-4a8c-9c59-2f1f6f0c1f11/$Data"), Array.emptyByteArray)
    val resumable = ResumableTable.begin(hadoop(folder.resolve("migrated")), purpose, conf)
    resumable.attempt(conf) { attempt =>
      write(local(attempt).resolve(Data), Array.emptyByteArray)
      resumable.keep(new Path(attempt, Data), Data, conf)
    }
    resumable.end(conf)
  }

  private def hadoop(path: LocalPath) = new Path(path.toUri)

  /** Begins an encryption in place of the table in the store, which has one file. */
  private def begin(options: (String, String)*): InPlaceRun = {
    objects.put(s"/$Table/$Data", MemoryStore.Stored(Array.emptyByteArray, 0))
    val use = kms("f", "n")
    val settings = Settings.forWrite(values(options: _*), use, caseSensitive = true)
    val scope = Scopes.forWrite(settings, inStore.toString, storeConf)
    val like = inStore.getFileSystem(storeConf).getFileStatus(new Path(inStore, Data))
    InPlaceRun.begin(inStore, InPlaceManifest.of(scope, inStore), like, storeConf)
  }

  /** A copy of what is stored: runs change it. */
  private def copy(to: LocalPath): LocalPath = {
    Files.walk(folder).iterator.asScala.filter(Files.isRegularFile(_)).foreach { file =>
      write(to.resolve(folder.relativize(file).toString), Files.readAllBytes(file))
    }
    to
  }

  private def begun(manifest: String)(step: => InPlaceRun): InPlaceRun = {
    objects.clear()
    objects.put(s"/$Table/$Manifest", MemoryStore.Stored(manifest.getBytes(UTF_8), 0))
    step
  }

  private def manifest = text(folder.resolve(Table).resolve(Manifest))

  test("a stored mark of an encryption in place is continued with the same settings") {
    val run = begun(manifest)(begin(options: _*))
    assert(run.goesOn)
    run.end(complete = true, storeConf)
  }

  test("a stored mark of an encryption in place refuses one with other settings") {
    val failed = intercept[PmeException](begun(manifest)(begin(options :+ ("dataKeyBits" -> "256"): _*)))
    assert(failed.getMessage.contains("dataKeyBits 'default' (now '256')"), failed.getMessage)
  }

  Seq(
    ("a later version", "\"formatVersion\":\"1\"", "\"formatVersion\":\"2\"", "formatVersion '2' (now '1')"),
    ("an unknown setting", "{\"aad", "{\"news\":\"x\",\"aad", "news 'x' (now 'nothing')")
  ).foreach { case (what, piece, by, why) =>
    test(s"a mark of an encryption in place with $what is not continued") {
      assert(manifest.contains(piece))
      val altered = manifest.replace(piece, by)
      val failed = intercept[PmeException](begun(altered)(begin(options: _*)))
      assert(failed.getMessage.contains(why), failed.getMessage)
    }
  }

  directory.test("a stored mark of a rotation is continued with the same aim, and refuses another") { root =>
    val table = hadoop(copy(root).resolve(Table))
    val mark = RotationMark.of(table, conf).head
    assertEquals(RotationMark.place(table, aim(), conf).path.getName, mark.getName)
    val failed = intercept[PmeException](RotationMark.place(table, aim(Some("external")), conf))
    assert(failed.getMessage.contains(mark.getName), failed.getMessage)
    assertEquals(RotationMark.of(table, conf).map(_.getName), Seq(mark.getName))
  }

  directory.test("a stored staged table is continued for the same purpose, and not for another") { root =>
    val target = hadoop(copy(root).resolve("migrated"))
    val same = ResumableTable.begin(target, purpose, conf)
    assert(same.find(Data, conf).isDefined)
    val other = ResumableTable.begin(target, "another", conf)
    assertEquals(other.find(Data, conf), None)
    Seq(same, other).foreach(_.end(conf))
  }

  directory.test("what a killed copy has left is removed by the next one") { root =>
    val beside = copy(root)
    def left = Files.list(beside).iterator.asScala.map(_.getFileName.toString).filter(_.contains("pme-rekey"))
    assertEquals(left.size, 1)
    CopiedTable.begin(hadoop(beside.resolve("copied")), conf).end(conf)
    assertEquals(left.toList, Nil)
  }

  test("a stored file of an unfinished copy is known, and nothing is copied over it") {
    val name = Files.list(folder.resolve("unfinished")).findFirst.get.getFileName.toString
    objects.put(s"/unfinished/$name", MemoryStore.Stored(Array.emptyByteArray, 0))
    val failed = intercept[PmeException] {
      StagedTable.requireFree(new Path(s"s3a://$Bucket/unfinished"), storeConf)
    }
    assert(failed.getMessage.contains("has not ended"), failed.getMessage)
  }

  test("the names of what runs leave have not changed") {
    val names = Files.list(folder.resolve(Table)).iterator.asScala.map(_.getFileName.toString).toSet
    assertEquals(names.count(_.startsWith(FileReplacement.StagedPrefix)), 1)
    assertEquals(names.count(name => InPlaceRun.isMark(new Path(name))), 1)
    assertEquals(names.count(name => RotationMark.isMark(new Path(name))), 1)
  }
}
