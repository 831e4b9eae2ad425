package io.pmeparquet.snapshot

import java.util.UUID

import org.apache.hadoop.fs.{CommonPathCapabilities, Path}

import io.pmeparquet.{Condition, PmeException, SampledSuite}
import io.pmeparquet.options.{Level, OptionValues, SnapshotSettings}
import io.pmeparquet.parquet.storage.MemoryStore
import io.pmeparquet.snapshot.manifest.{HmacSealer, SealCheck}
import io.pmeparquet.snapshot.manifest.TablePolicy
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSuite._

/**
 * Versions of a table in a store that stops at any point, as where a process is killed, or where another process does
 * something at any point. Each test goes through all points; in `make test` through the odd ones in one store, and the
 * even ones in the other.
 */
class ObjectStoreSuite extends TableSuite with SampledSuite {
  override protected val conf = MemoryStore.conf("s3a", "abfs")
  private val policy = TablePolicy(Some("footer"), Seq(Seq("id") -> Some("pii")))
  private val masterKeys = Seq("footer", "pii")
  private val kinds = Seq("s3a" -> MemoryStore.Conditional, "abfs" -> CommonPathCapabilities.FS_ACLS)
  private val Day = 24L * 60 * 60 * 1000

  /** A table whose file has another content in each version, so that each version has parts of its own. */
  private final class Table(scheme: String, capability: String) {
    private val host = s"b${UUID.randomUUID}"
    val bucket: MemoryStore.Bucket = MemoryStore.bucket(host)
    bucket.capabilities = Set(capability)
    val directory = new SnapshotDirectory(new Path(s"$scheme://$host/t"), None, conf)

    def reader: TableSnapshots = {
      val settings = SnapshotSettings.of(new OptionValues(Map(Level.Option -> Map.empty[String, String])))
      val check = new SealCheck(None, settings.footerKey, None, keys(masterKeys: _*))
      new TableSnapshots(directory, settings, check, scope(masterKeys: _*), conf)
    }

    def newest(): Option[TableSnapshot] = {
      val snapshots = reader
      snapshots.newest().map(version => snapshots.files(version))
    }

    /** Makes the next version: `a.parquet` with this content, and files that stay. */
    def seal(content: Int): Version = sealAfter(newest(), content)

    def sealAfter(previous: Option[TableSnapshot], content: Int): Version = {
      val sealer = new HmacSealer("footer", keys(masterKeys: _*))
      new NewVersion(directory, previous, sealer, kms(masterKeys: _*), conf)
        .build(files(content), policy, Nil, Nil, "tests")
        .publish()
    }
    private def files(content: Int): Vector[SealedFile] =
      Vector(file("a.parquet", content), file("b.parquet"))

    def expire(keep: Int, now: Long = System.currentTimeMillis): Expired = new Expiry(reader).run(keep, now)

    /** The content that the newest version states. */
    def content: Option[Int] = newest().map(found => (found.files.head.length - 1000).toInt)

    def names: Set[String] = bucket.names.map(_.stripPrefix("/t/_pme_snapshots/"))

    /** The names of the manifests and parts of all versions. */
    def used: Set[String] = reader
      .all()
      .flatMap(version =>
        directory.manifestPath(version.number).getName +: version.manifest.parts.flatMap(_.names)
      )
      .toSet

    def requireChain(): Unit = {
      val versions = reader.all().reverse
      versions.zip(versions.drop(1)).foreach { case (one, next) =>
        assertEquals(next.number, one.number + 1)
        assertEquals(next.manifest.previous, Some(one.digest))
      }
      versions.foreach(reader.files(_))
    }
  }

  /** Calls a step that is killed before each of its changes in turn, and at last is not. */
  private def atEveryPoint(
      first: Int,
      prepared: () => Table
  )(step: Table => Any)(after: (Table, Boolean) => Unit): Unit = {
    val killed = Iterator
      .from(if (isWhole) 0 else first, if (isWhole) 1 else 2)
      .map { changes =>
        val table = prepared()
        table.bucket.killAfter(changes)
        val isKilled =
          try { step(table); false }
          catch { case _: MemoryStore.Killed => true }
        table.bucket.revive()
        withClue(s"killed after $changes changes")(after(table, isKilled))
        isKilled
      }
      .takeWhile(identity)
      .size
    assert(killed > 1, "no point was tried")
  }

  /** Calls a step of one process, and at each of its requests in turn a whole step of another one. */
  private def atEachRequest(first: Int, prepared: () => Table)(step: Table => Any, other: Table => Any)(
      after: (Table, Option[PmeException]) => Unit
  ): Unit = {
    val length = {
      val table = prepared()
      val before = table.bucket.requests
      step(table)
      table.bucket.requests - before
    }
    assert(length > 1, "no point was tried")
    (if (isWhole) 0 until length else first until length by 2).foreach { point =>
      val table = prepared()
      var left = point
      table.bucket.before = () => {
        left -= 1
        if (left == -1) {
          table.bucket.before = () => ()
          other(table)
        }
      }
      val failed =
        try { step(table); None }
        catch { case refused: PmeException => Some(refused) }
      withClue(s"before request $point")(after(table, failed))
    }
  }

  private def withClue(clue: String)(step: => Unit): Unit =
    try step
    catch { case failed: Throwable => throw new AssertionError(s"$clue: ${failed.getMessage}", failed) }

  private def conflict(failed: PmeException): Unit =
    assertEquals(failed.condition, Condition.SnapshotConflict: Condition, failed.getMessage)

  kinds.zipWithIndex.foreach { case ((scheme, capability), first) =>
    def sealedTable(versions: Int): Table = {
      val table = new Table(scheme, capability)
      (1 to versions).foreach(table.seal)
      table
    }

    test(s"$scheme: a seal leaves its manifest and its parts, and nothing else") {
      val table = sealedTable(3)
      assertEquals(table.content, Some(3))
      assertEquals(table.names, table.used)
      assertEquals(table.names.size, 6)
      table.requireChain()
    }

    test(s"$scheme: a bucket is a part of the table's location") {
      val table = sealedTable(1)
      assertEquals(table.newest().get.version.manifest.location, s"//${table.directory.path.toUri.getHost}/t")
    }

    test(s"$scheme: a seal that is killed leaves the old or the new version, and the next one works") {
      Seq(0, 1).foreach { versions =>
        atEveryPoint(first, () => sealedTable(versions))(_.seal(8)) { (table, isKilled) =>
          val old = if (versions == 0) None else Some(versions)
          assert(table.content == Some(8) || isKilled && table.content == old, table.content)
          table.seal(9)
          assertEquals(table.content, Some(9))
          table.requireChain()
          table.expire(keep = 10, System.currentTimeMillis + 2 * Day)
          assertEquals(table.names, table.used)
          table.requireChain()
        }
      }
    }

    test(s"$scheme: an expiry that is killed leaves the newest version, and the next one finishes it") {
      atEveryPoint(first, () => sealedTable(4))(_.expire(keep = 2)) { (table, _) =>
        assertEquals(table.content, Some(4))
        table.requireChain()
        table.expire(keep = 2, System.currentTimeMillis + 2 * Day)
        assertEquals(table.names, table.used)
        assertEquals(table.reader.all().map(_.number), Seq(4L, 3L))
        table.seal(5)
        table.requireChain()
      }
    }

    test(s"$scheme: of two sealers, whoever publishes second fails, loses its parts and can go on") {
      atEachRequest(first, () => sealedTable(1))(_.seal(8), _.seal(9)) { (table, failed) =>
        table.requireChain()
        failed match {
          case Some(refused) =>
            conflict(refused)
            assertEquals(table.content, Some(9))
          // The other one came after the manifest.
          case None => assertEquals(table.reader.all().size, 3)
        }
        assertEquals(table.names, table.used)
        table.seal(10)
        assertEquals(table.content, Some(10))
      }
    }

    test(s"$scheme: a seal is whole whatever an expiry deletes meanwhile") {
      atEachRequest(first, () => sealedTable(3))(_.seal(8), _.expire(keep = 1)) { (table, failed) =>
        assertEquals(failed, None)
        assertEquals(table.content, Some(8))
        table.requireChain()
        assertEquals(table.names, table.used)
      }
    }

    test(s"$scheme: an expiry deletes nothing of a version that is made meanwhile") {
      atEachRequest(first, () => sealedTable(4))(_.expire(keep = 1), _.seal(8)) { (table, failed) =>
        assertEquals(failed, None)
        assertEquals(table.content, Some(8))
        table.requireChain()
        // It uses the parts of the version before again.
        table.sealAfter(table.newest(), 8)
        table.requireChain()
      }
    }

    test(s"$scheme: whoever seals while its version expires deletes no part that newer versions use") {
      atEachRequest(first, () => sealedTable(1))(
        _.seal(8),
        table => { table.seal(9); table.seal(9); table.expire(keep = 1) }
      ) { (table, failed) =>
        // Without a failure, it came after the others.
        assertEquals(table.content, Some(if (failed.isEmpty) 8 else 9))
        failed.filterNot(_.getMessage.contains("has expired while it was read")).foreach(conflict)
        table.requireChain()
        assertEquals(table.names, table.used)
      }
    }
  }

  test("a version that expires before its maker looks again keeps the parts that newer versions use") {
    val table = new Table("s3a", MemoryStore.Conditional)
    table.seal(1)
    val manifest = "snapshot-0000000002.json"
    var isDone = false
    // The first request after the manifest is the listing.
    table.bucket.before = () =>
      if (!isDone && table.names(manifest)) {
        isDone = true
        table.seal(8)
        table.seal(8)
        table.expire(keep = 1)
      }
    conflict(intercept[PmeException](table.seal(8)))
    assert(isDone)
    assertEquals(table.content, Some(8))
    assertEquals(table.names, table.used)
  }

  test("a seal whose answer is lost has succeeded") {
    val table = new Table("s3a", MemoryStore.Conditional)
    table.seal(1)
    table.bucket.before =
      () => if (table.names.count(_.startsWith("part-")) == 2) table.bucket.losesAnswer = true
    assertEquals(table.seal(2).number, 2L)
    assertEquals(table.content, Some(2))
    assertEquals(table.names, table.used)
  }

  test("a seal that fails while it publishes keeps its parts, since its manifest may still arrive") {
    val table = new Table("s3a", MemoryStore.Conditional)
    table.seal(1)
    table.bucket.before = () =>
      if (table.names.count(_.startsWith("part-")) == 2) {
        table.bucket.before = () => ()
        throw new java.io.IOException("the network was gone")
      }
    intercept[java.io.IOException](table.seal(2))
    assertEquals(table.names.count(_.startsWith("part-")), 2)
    assertEquals(table.content, Some(1))
    table.seal(3)
    table.expire(keep = 9, System.currentTimeMillis + 2 * Day)
    assertEquals(table.names, table.used)
  }

  test("a store without a step that publishes is refused before anything is written") {
    val table = new Table("s3a", "none")
    val failed = refused("PME_UNSUPPORTED", "hadoop-aws 3.4.2", "snapshotLocation")(table.seal(1))
    assertEquals(failed.condition, Condition.Unsupported: Condition)
    assertEquals(table.bucket.changes, 0)
  }

  /** Reads the files of a version that has expired since a reader found it. */
  private def readExpired(table: Table, meanwhile: () => Unit = () => ()): Unit = {
    table.seal(1)
    val snapshots = table.reader
    val version = snapshots.newest().get
    table.seal(2)
    table.expire(keep = 1)
    meanwhile()
    refused(Damaged, "has expired", "Run")(snapshots.files(version))
    ()
  }

  test("a read whose version expires meanwhile fails, and has no fewer files") {
    readExpired(new Table("s3a", MemoryStore.Conditional))
  }

  /** While a listing looks at the files that it has named: a version is published, and the one that it has named expires. */
  private def replaceWhenNamed(table: Table): Unit = table.bucket.named = () => {
    table.bucket.named = () => ()
    table.seal(8)
    table.expire(keep = 1)
    ()
  }

  test("a table is sealed whatever becomes of its versions while they are listed") {
    val table = new Table("s3a", MemoryStore.Conditional)
    table.seal(1)
    replaceWhenNamed(table)
    assertEquals(table.directory.versions, Seq(2L))
  }

  test("a version has expired whatever becomes of newer ones while they are listed") {
    val table = new Table("s3a", MemoryStore.Conditional)
    readExpired(table, () => replaceWhenNamed(table))
  }
}
