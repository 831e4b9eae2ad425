package io.pmeparquet.snapshot

import java.nio.file.{Files, Path => LocalPath}
import java.security.{KeyPairGenerator, Signature}

import io.pmeparquet.{BlockDigests, PmeException, SampledSuite, Sha256}
import io.pmeparquet.options.{Level, OptionValues, SnapshotSettings}
import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind}
import io.pmeparquet.snapshot.manifest.{DataFormat, HmacSealer, SealCheck, Sealer}
import io.pmeparquet.snapshot.manifest.{ErasedKeys, IndexEntry, ManifestJson, SealLine, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSuite._

/** Versions of a table, as they are made and as they are read. */
class TableSnapshotsSuite extends TableSuite with SampledSuite {
  private val masterKeys = Seq("footer", "pii")
  private val policy = TablePolicy(Some("footer"), Seq(Seq("id") -> Some("pii")))
  private val index = IndexEntry(SummaryKind.MinMax, Seq("id"), "index_0", "optional int64 id", Some("pii"))
  private val ownSealer = new HmacSealer("footer", keys(masterKeys: _*))
  private val day1 = file("day=1/a.parquet")
  private val day2 = file("day=2/a.parquet")

  private def settings(options: (String, String)*) = SnapshotSettings.of(
    new OptionValues(Map(Level.Option -> options.map { case (name, value) =>
      name.toLowerCase -> value
    }.toMap))
  )

  private def reader(root: LocalPath, options: (String, String)*): TableSnapshots = {
    val chosen = settings(options: _*)
    val check = new SealCheck(None, chosen.footerKey, None, keys(masterKeys: _*))
    new TableSnapshots(directoryOf(root), chosen, check, scope(masterKeys: _*), conf)
  }

  /** What the index says of each file. */
  private val ranges: NewVersion.Summaries = (_, file) =>
    Some(ColumnSummary.Range(Some(file.path.take(3).getBytes -> file.path.getBytes), 0))

  /** The newest version with its files, as whoever seals the next one reads it. */
  private def newest(root: LocalPath): Option[TableSnapshot] = {
    val snapshots = reader(root)
    snapshots.newest().map(version => snapshots.files(version))
  }

  private def publish(
      root: LocalPath,
      files: Seq[SealedFile],
      policy: TablePolicy = policy,
      indexes: Seq[IndexEntry] = Nil,
      summaries: NewVersion.Summaries = ranges,
      sealer: Sealer = ownSealer
  ): Version = new NewVersion(directoryOf(root), newest(root), sealer, kms(masterKeys: _*), conf)
    .build(files.toVector.sorted(SealedFiles.byPath), policy, Seq("day"), indexes, "tests", summaries)
    .publish()

  private def paths(root: LocalPath, options: (String, String)*): Seq[String] = {
    val snapshots = reader(root, options: _*)
    snapshots.files(snapshots.chosen().get).files.map(_.path)
  }

  private def parts(root: LocalPath) = namesIn(root).filter(_.startsWith("part-"))

  private def manifestOf(root: LocalPath, version: Long) =
    snapshotsOf(root).resolve(f"snapshot-$version%010d.json")

  /** A sealer that fails, as a process that is killed between the parts and the manifest. */
  private val killed: Sealer = new Sealer {
    override def seal(content: Array[Byte], where: String): SealLine = throw new Error("killed")
  }

  table.test("the first version lists its files") { root =>
    val made = publish(root, Seq(day2, day1))
    assertEquals(made.number, 1L)
    assertEquals(made.manifest.previous, None)
    assertEquals(made.manifest.location, root.toString)
    assertEquals(made.manifest.files, 2L)
    assertEquals(made.manifest.rows, 20L)
    assertEquals(made.manifest.bytes, day1.length + day2.length)
    assertEquals((made.algorithm, made.key), ("HMAC-SHA256", "footer"))
    assertEquals(reader(root).chosen(), Some(made))
    assertEquals(newest(root).get.files.map(plain), Vector(day1, day2).map(plain))
    assertEquals(namesIn(root).size, 2)
  }

  table.test("each version names the one before by its digest, and the same table") { root =>
    val made = (1 to 4).map(number => publish(root, Seq(file("a.parquet", number))))
    assertEquals(made.map(_.number), Seq(1L, 2L, 3L, 4L))
    assertEquals(made.map(_.manifest.previous), None +: made.init.map(one => Some(one.digest)))
    assertEquals(made.map(_.manifest.table).distinct.size, 1)
    assertEquals(reader(root).chosen(), Some(made.last))
  }

  table.test("a list of ORC files is not accepted without a signature") { root =>
    val made = publish(root, Nil)
    forge(root, made.copy(manifest = made.manifest.copy(format = DataFormat.Orc))(made.seal), identity)
    refused(NotAuthentic, "ORC", "no signature")(reader(root).chosen())
  }

  table.test("a table without files is sealed too") { root =>
    publish(root, Nil)
    assertEquals(paths(root), Nil)
    publish(root, Seq(day1))
    assertEquals(paths(root), Seq(day1.path))
  }

  table.test("a table without encryption has plaintext parts") { root =>
    publish(root, Seq(day1, day2), policy = TablePolicy(None, Nil))
    assertEquals(paths(root), Seq(day1.path, day2.path))
    val part = Files.readAllBytes(snapshotsOf(root).resolve(parts(root).head))
    assert(part.startsWith("PAR1".getBytes))
  }

  table.test("a part whose files are the same is used again, and not written") { root =>
    val first = publish(root, Seq(day1, day2))
    val part = snapshotsOf(root).resolve(parts(root).head)
    val written = Files.readAllBytes(part).toSeq
    val second = publish(root, Seq(day1, day2))
    assertEquals(second.manifest.parts, first.manifest.parts)
    assertEquals(parts(root).size, 1)
    assertEquals(Files.readAllBytes(part).toSeq, written)
  }

  table.test(
    "a part whose files have other times is written again, so that the next seal does not open them"
  ) { root =>
    val first = publish(root, Seq(day1, day2))
    val second = publish(root, Seq(day1, day2.copy(modified = 1)))
    assertNotEquals(second.manifest.parts, first.manifest.parts)
    assertEquals(newest(root).get.files.map(_.modified), Vector(day1.modified, 1L))
  }

  table.test("an index that is larger than a reader holds is not read") { root =>
    val made = publish(root, Seq(day1), indexes = Seq(index))
    val part = made.manifest.parts.head
    val large = part.copy(indexes = part.indexes.map { case (field, file) =>
      field -> file.copy(length = 1L << 30)
    })
    forge(root, made.copy(manifest = made.manifest.copy(parts = Seq(large)))(made.seal), identity)
    val snapshots = reader(root)
    val list = snapshots.files(snapshots.chosen().get)
    refused("PME_UNSUPPORTED", "minMax(id)", "1073741824 bytes")(snapshots.content(list, index))
  }

  table.test("a part has no more digests of blocks than it has room for") { root =>
    // 12 MiB of digests each.
    val digests = new Array[Byte](12 * 1024 * 1024)
    val blocks = BlockDigests(digests.length.toLong / 32 * BlockDigests.BlockBytes, digests)
    val files = (0 until 12).map { number =>
      file(s"f-$number.orc").copy(length = blocks.length, aadFileUnique = None, blocks = Some(blocks))
    }
    val made = new NewVersion(directoryOf(root), None, ownSealer, kms(masterKeys: _*), conf)
      .build(
        files.toVector.sorted(SealedFiles.byPath),
        TablePolicy(None, Nil),
        Nil,
        Nil,
        "tests",
        format = DataFormat.Orc
      )
      .publish()
    assertEquals(made.manifest.parts.map(_.files), Seq(5L, 5L, 2L))
  }

  table.test("only the part that changes is written again") { root =>
    val many = (0 until 40001).map(number => file(f"f-$number%05d.parquet"))
    val first = publish(root, many)
    assertEquals(first.manifest.parts.map(_.files), Seq(20000L, 20000L, 1L))
    val changes: Seq[(Int, Seq[SealedFile])] = Seq(
      0 -> many.tail,
      1 -> (many.take(30000) ++ (file("f-29999x.parquet") +: many.drop(30000))),
      1 -> many.updated(30000, file("f-30000.parquet", 1)),
      2 -> (many :+ file("g.parquet"))
    )
    val before = first.manifest.parts
    assertEquals(publish(root, many).manifest.parts, before)
    (if (isWhole) changes else changes.tail.take(2)).foreach { case (changed, files) =>
      val made = publish(root, files)
      val after = made.manifest.parts
      assertEquals(after.size, 3)
      after.indices.foreach(at => assertEquals(after(at) != before(at), at == changed, s"part $at"))
      assertEquals(newest(root).get.files.map(_.path), files.map(_.path).toVector)
      Files.delete(manifestOf(root, made.number))
    }
  }

  table.test(
    "keys by partition need a signature where they are those of footers, and their lists are readable"
  ) { root =>
    val byDay = TablePolicy(Some("t-{day}"), Nil, byPartition = true)
    // As somebody could who has a master key of that name.
    val forged = new HmacSealer("t-{day}", keys("t-{day}"))
    publish(root, Seq(day1), policy = byDay, sealer = forged)
    val check = new SealCheck(None, None, None, keys("t-{day}"))
    val snapshots = new TableSnapshots(directoryOf(root), settings(), check, scope("t-{day}"), conf)
    refused(NotAuthentic, "has no signature")(snapshots.newest())
    val ofColumns = Files.createDirectory(root.resolve("columns"))
    val mixed = policy.copy(columns = Seq(Seq("id") -> Some("pii-{day}")), byPartition = true)
    publish(ofColumns, Seq(day1), policy = mixed)
    assertEquals(newest(ofColumns).get.version.manifest.policy, mixed)
  }

  table.test("each version states the erasures of those before, and a further run of one replaces it") {
    root =>
      def erased(sha256: String, keys: String*) = ErasedKeys(keys, "2026-11-30T01:02:03Z", "/c.json", sha256)
      def publish(erasure: Option[ErasedKeys]) =
        new NewVersion(directoryOf(root), newest(root), ownSealer, kms(masterKeys: _*), conf)
          .build(Vector(day1), policy, Seq("day"), Nil, "tests", erasure = erasure)
          .publish()
          .manifest
          .erasures
      publish(None)
      assertEquals(publish(Some(erased("a", "t-1"))), Seq(erased("a", "t-1")))
      assertEquals(publish(Some(erased("b", "t-2"))), Seq(erased("a", "t-1"), erased("b", "t-2")))
      assertEquals(publish(None), Seq(erased("a", "t-1"), erased("b", "t-2")))
      assertEquals(publish(Some(erased("c", "t-1"))), Seq(erased("b", "t-2"), erased("c", "t-1")))
      assertEquals(newest(root).get.version.manifest.erasures.size, 2)
  }

  private def indexFiles(root: LocalPath) = namesIn(root).filter(_.startsWith("index-"))

  private val noSummaries: NewVersion.Summaries = (index, file) => fail(s"asked for $index of $file")

  table.test("a new footer key writes all parts again, another key of a column none") { root =>
    val first = publish(root, Seq(day1))
    val other = policy.copy(columns = Seq(Seq("id") -> Some("footer")))
    assertEquals(publish(root, Seq(day1), policy = other).manifest.parts, first.manifest.parts)
    val pii = TablePolicy(Some("pii"), Nil)
    val third = publish(root, Seq(day1), policy = pii, sealer = new HmacSealer("pii", keys(masterKeys: _*)))
    assertNotEquals(third.manifest.parts, first.manifest.parts)
  }

  table.test("an index is in files of its own, which are used again while nothing changes") { root =>
    val many = (0 until 40001).map(number => file(f"f-$number%05d.parquet"))
    val first = publish(root, many)
    val second = publish(root, many, indexes = Seq(index))
    assertEquals(second.manifest.parts.map(_.list), first.manifest.parts.map(_.list))
    assertEquals(indexFiles(root).size, 3)
    val third = publish(root, many, indexes = Seq(index.copy(field = "index_7")), summaries = noSummaries)
    assertEquals(
      third.manifest.parts.map(_.indexes.map(_._2)),
      second.manifest.parts.map(_.indexes.map(_._2))
    )
    val fourth = publish(root, many :+ file("g.parquet"), indexes = Seq(index))
    assertEquals(fourth.manifest.parts.take(2), second.manifest.parts.take(2))
    assertEquals(
      publish(root, many :+ file("g.parquet"), summaries = noSummaries).manifest.parts.map(_.list),
      fourth.manifest.parts.map(_.list)
    )
    // Another key needs other files.
    publish(root, many, indexes = Seq(index))
    val before = indexFiles(root)
    publish(root, many, indexes = Seq(index.copy(key = Some("footer"))))
    assertEquals((indexFiles(root) -- before).size, 3)
  }

  table.test("parts are cut before an index of theirs is too large to be read") { root =>
    val filter = ColumnSummary.Bloom(new Array[Byte](16 * 1024 * 1024), 0)
    val bloom = index.copy(kind = SummaryKind.Bloom(0.01, None))
    val files = (0 until 9).map(number => file(s"f-$number.parquet"))
    publish(root, files)
    val made = publish(root, files, indexes = Seq(bloom), summaries = (_, _) => Some(filter))
    assertEquals(made.manifest.parts.map(_.files), Seq(4L, 4L, 1L))
    val snapshots = reader(root)
    val content = snapshots.content(snapshots.files(made), bloom)
    assert(files.forall(file => content.of(file.path).nonEmpty))
  }

  table.test("an index's values belong to the file that they describe, in every part") { root =>
    val many = (0 until 40001).map(number => file(f"f-$number%05d.parquet"))
    val made = publish(
      root,
      many,
      indexes = Seq(index),
      summaries = (index, file) => if (file.path.endsWith("7.parquet")) None else ranges(index, file)
    )
    val snapshots = reader(root)
    val content = snapshots.content(snapshots.files(made), index)
    many.foreach { file =>
      content.of(file.path) match {
        case Some(ColumnSummary.Range(Some((_, max)), 0)) => assertEquals(new String(max), file.path)
        case other => assert(other.isEmpty && file.path.endsWith("7.parquet"), other)
      }
    }
    assertEquals(content.of("other.parquet"), None)
  }

  table.test("a damaged index leaves the list readable") { root =>
    val made = publish(root, Seq(day1), indexes = Seq(index))
    val snapshots = reader(root)
    val list = snapshots.files(made)
    val stored = snapshotsOf(root).resolve(indexFiles(root).head)
    val original = Files.readAllBytes(stored)
    Files.write(stored, original.updated(50, (original(50) ^ 1).toByte))
    refused(NotAuthentic, "another digest")(snapshots.content(list, index))
    Files.delete(stored)
    refused(Damaged, "missing")(snapshots.content(list, index))
    assertEquals(paths(root), Seq(day1.path))
  }

  table.test("an index file with another number of rows than its part is damaged") { root =>
    val other = publish(root, Seq(day1, day2), indexes = Seq(index))
    val made = publish(root, Seq(day1), indexes = Seq(index))
    val swapped = made.manifest.parts.head.copy(indexes = other.manifest.parts.head.indexes)
    forge(root, made.copy(manifest = made.manifest.copy(parts = Seq(swapped)))(made.seal), identity)
    val snapshots = reader(root)
    val version = snapshots.chosen().get
    refused(Damaged, "a row for each file")(snapshots.content(snapshots.files(version), index))
  }

  table.test("whoever comes second gets a conflict, and its parts are gone") { root =>
    publish(root, Seq(day1))
    val before = newest(root)
    val winner = publish(root, Seq(day1, day2))
    val left = namesIn(root)
    val second = new NewVersion(directoryOf(root), before, ownSealer, kms(masterKeys: _*), conf)
    refused(Conflict, root.toString)(second.build(Vector(day2), policy, Seq("day"), Nil, "tests").publish())
    assertEquals(namesIn(root), left)
    assertEquals(reader(root).chosen(), Some(winner))
    assertEquals(paths(root), Seq(day1.path, day2.path))
  }

  table.test("a conflict keeps the parts that it would have used again") { root =>
    publish(root, Seq(day1))
    val before = newest(root)
    publish(root, Seq(day1))
    val second = new NewVersion(directoryOf(root), before, ownSealer, kms(masterKeys: _*), conf)
    refused(Conflict)(second.build(Vector(day1), policy, Seq("day"), Nil, "tests").publish())
    assertEquals(paths(root), Seq(day1.path))
    assertEquals(paths(root, "snapshot" -> "1"), Seq(day1.path))
  }

  table.test("a process that stops between parts and manifest leaves the version before, and no new part") {
    root =>
      intercept[Error](publish(root, Seq(day1), sealer = killed))
      assertEquals(namesIn(root), Set.empty[String])
      val first = publish(root, Seq(day1))
      val left = namesIn(root)
      intercept[Error](publish(root, Seq(day2), sealer = killed))
      assertEquals(namesIn(root), left)
      assertEquals(reader(root).chosen(), Some(first))
      assertEquals(paths(root), Seq(day1.path))
      assertEquals(publish(root, Seq(day2)).number, 2L)
  }

  table.test("without snapshots a read gets none, unless an option requires one") { root =>
    assertEquals(reader(root).chosen(), None)
    assertEquals(reader(root).newest(), None)
    Seq("snapshot" -> "require", "snapshot" -> "1", "snapshot" -> "ab" * 32, "minSnapshot" -> "1").foreach {
      option =>
        refused(Mismatch, option._1, root.toString)(reader(root, option).chosen())
    }
    refused(Mismatch, "verifyKey")(reader(root, "verifyKey" -> "file:/k.pem").chosen())
  }

  table.test("snapshot=off looks at nothing") { root =>
    publish(root, Seq(day1))
    Files.write(manifestOf(root, 1), Array[Byte](0))
    assertEquals(reader(root, "snapshot" -> "off").chosen(), None)
  }

  table.test("a version is chosen by its number or its digest") { root =>
    val made = Seq(publish(root, Seq(day1)), publish(root, Seq(day2)))
    made.foreach { version =>
      Seq(version.number.toString, version.digest, version.digest.take(12).toUpperCase).foreach { choice =>
        assertEquals(reader(root, "snapshot" -> choice).chosen(), Some(version))
      }
    }
    assertEquals(paths(root, "snapshot" -> "1"), Seq(day1.path))
    refused(Mismatch, "version 3", "newest is 2")(reader(root, "snapshot" -> "3").chosen())
    val absent = made.head.digest.reverse
    refused(Mismatch, absent)(reader(root, "snapshot" -> absent).chosen())
  }

  table.test("a version that is older than the least is refused, chosen ones too") { root =>
    val digests = Seq(publish(root, Seq(day1)), publish(root, Seq(day2))).map(_.digest)
    assertEquals(reader(root, "minSnapshot" -> "2").chosen().map(_.number), Some(2L))
    refused(NotAuthentic, "version 2", "minSnapshot=3")(reader(root, "minSnapshot" -> "3").chosen())
    refused(NotAuthentic)(reader(root, "minSnapshot" -> "2", "snapshot" -> digests.head).chosen())
    refused("PME_BAD_OPTION")(reader(root, "minSnapshot" -> "2", "snapshot" -> "1"))
  }

  table.test("a read does not fall back to an older version if the newest does not verify") { root =>
    publish(root, Seq(day1))
    Seq("snapshot-0000000002.json", "snapshot-9999999999.json").foreach { name =>
      val planted = snapshotsOf(root).resolve(name)
      Files.write(planted, "{}\n{}\n".getBytes)
      refused(Damaged, name)(reader(root).chosen())
      refused(Damaged, name)(reader(root).newest())
      assertEquals(reader(root, "snapshot" -> "1").chosen().map(_.number), Some(1L))
      Files.delete(planted)
    }
  }

  table.test("a version continues those that its chain of digests leads back to, and no others") { root =>
    val made = (1 to 4).map(number => publish(root, Seq(file("a.parquet", number))))
    val snapshots = reader(root)
    for (later <- made; earlier <- made if earlier.number < later.number)
      assert(snapshots.continues(later, earlier), s"$later $earlier")
    val other = made.head.copy(digest = made.head.digest.reverse)(made.head.seal)
    made.tail.foreach(later => assert(!snapshots.continues(later, other)))
    val second = Files.readAllBytes(manifestOf(root, 2))
    Files.write(manifestOf(root, 2), Files.readAllBytes(manifestOf(root, 1)))
    refused(NotAuthentic, "another digest")(snapshots.continues(made.last, made.head))
    assert(snapshots.continues(made(2), made(1)))
    Files.delete(manifestOf(root, 2))
    refused(NotAuthentic, "version 2", "is gone")(snapshots.continues(made.last, made.head))
    Files.write(manifestOf(root, 2), second)
    assert(snapshots.continues(made.last, made.head))
  }

  table.test("whoever seals the next version finds at least the version that minSnapshot says") { root =>
    refused(Mismatch, "minSnapshot")(reader(root, "minSnapshot" -> "1").newest())
    publish(root, Seq(day1))
    assertEquals(reader(root, "minSnapshot" -> "1").newest().map(_.number), Some(1L))
    refused(NotAuthentic, "version 1", "minSnapshot=2")(reader(root, "minSnapshot" -> "2").newest())
  }

  table.test("a version under another number is refused") { root =>
    publish(root, Seq(day1))
    Files.copy(manifestOf(root, 1), manifestOf(root, 2))
    refused(NotAuthentic, "snapshot-0000000002.json", "it is version 1")(reader(root).chosen())
  }

  table.test(
    "a manifest of a table at another place is refused, and so is a link to its place without a pin"
  ) { root =>
    val (here, there) =
      (Files.createDirectory(root.resolve("here")), Files.createDirectory(root.resolve("there")))
    val made = publish(here, Seq(day1))
    Files.move(snapshotsOf(here), snapshotsOf(there))
    refused(NotAuthentic, here.toString, there.toString)(reader(there).chosen())
    val link = Files.createSymbolicLink(root.resolve("link"), here)
    Files.move(snapshotsOf(there), snapshotsOf(here))
    // Whoever can change the link could lead readers to another table.
    val pin = s"${made.manifest.table}:1"
    refused(NotAuthentic, "is a link", pin)(reader(link).chosen())
    assertEquals(reader(link, "minSnapshot" -> pin).chosen().map(_.number), Some(1L))
  }

  table.test("a manifest with any byte altered is refused") { root =>
    publish(root, Seq(day1))
    val original = Files.readAllBytes(manifestOf(root, 1))
    original.indices.by(5).foreach { at =>
      val altered = original.clone()
      altered(at) = (altered(at) ^ 1).toByte
      Files.write(manifestOf(root, 1), altered)
      val failed = intercept[PmeException](reader(root).chosen())
      // The name of the master key may become that of a key which is not there.
      val conditions = Set(Damaged, NotAuthentic, "PME_KEY_NOT_FOUND")
      assert(conditions(failed.getCondition()), s"byte $at: ${failed.getMessage}")
    }
  }

  table.test("a part that is altered, missing, cut or another one is refused") { root =>
    publish(root, Seq(day1))
    val part = snapshotsOf(root).resolve(parts(root).head)
    val original = Files.readAllBytes(part)
    original.indices.by(101).foreach { at =>
      Files.write(part, original.updated(at, (original(at) ^ 1).toByte))
      refused(NotAuthentic, part.getFileName.toString)(paths(root))
    }
    Files.write(part, original.dropRight(1))
    refused(Damaged)(paths(root))
    Files.delete(part)
    refused(Damaged, "missing")(paths(root))
  }

  /** Seals content that no sealer of ours makes, with the right key. */
  private def forge(
      root: LocalPath,
      like: Version,
      change: String => String,
      sealer: Sealer = ownSealer
  ): Unit = {
    val content = change(new String(ManifestJson.content(like.manifest), "UTF-8")).getBytes("UTF-8")
    val number = manifestOf(root, like.number)
    Files.write(number, ManifestJson.file(content, sealer.seal(content, "t")))
    ()
  }

  table.test("a part that does not list what the manifest states is damaged") { root =>
    val made = publish(root, Seq(day1, day2))
    val entry = made.manifest.parts.head
    Seq(entry.copy(files = 3), entry.copy(first = "day=0/a"), entry.copy(last = "day=3/a")).foreach { other =>
      val manifest = made.manifest.copy(parts = Seq(other), files = other.files)
      forge(root, made.copy(manifest = manifest)(made.seal), identity)
      refused(Damaged, "does not list the files")(paths(root))
    }
  }

  table.test("parts that list a file twice, or not in order, are damaged") { root =>
    val made = publish(root, Seq(day1, day2))
    val twice = made.manifest.copy(parts = made.manifest.parts ++ made.manifest.parts, files = 4)
    forge(root, made.copy(manifest = twice)(made.seal), identity)
    refused(Damaged, "in order")(paths(root))
  }

  table.test("a seal is checked before the content is understood") { root =>
    val made = publish(root, Seq(day1))
    val content = "{not json"
    val seal = ownSealer.seal("other".getBytes, "t")
    Files.write(manifestOf(root, made.number), ManifestJson.file(content.getBytes, seal))
    refused(NotAuthentic)(reader(root).chosen())
    forge(root, made, _ => content)
    refused(Damaged)(reader(root).chosen())
  }

  table.test("an HMAC must be under the master key of the files' footers") { root =>
    // Who has the key of a column can make an HMAC under it, and list files of others as it likes.
    val forger = new HmacSealer("pii", keys("pii"))
    publish(root, Seq(day1, day2))
    publish(root, Seq(day1), sealer = forger)
    refused(NotAuthentic, "'pii'", "'footer'")(reader(root).chosen())
    refused(NotAuthentic)(reader(root).newest())
  }

  private val pii = TablePolicy(Some("pii"), Nil)
  private def hmac(key: String, former: Option[String] = None) =
    new HmacSealer(key, keys(masterKeys: _*), former)

  table.test("a session and a first reader refuse an HMAC under another key than the version before") {
    root =>
      val first = publish(root, Seq(day1, day2))
      val forged = publish(root, Seq(day1), policy = pii, sealer = hmac("pii"))
      val later = publish(root, Seq(day1), policy = pii, sealer = hmac("pii"))
      Seq(forged, later).foreach { version =>
        refused(NotAuthentic, "'pii'", "'footer'", "did not confirm")(reader(root).continues(version, first))
        refused(NotAuthentic, "did not confirm")(reader(root).requireOwnHistory(version))
      }
      refused(NotAuthentic, "'pii'", "'footer'")(reader(root, "footerKey" -> "footer").chosen())
  }

  table.test("a pinned digest pins the key of its version, which must be there") { root =>
    val first = publish(root, Seq(day1, day2))
    val forged = publish(root, Seq(day1), policy = pii, sealer = hmac("pii"))
    def pinned(options: (String, String)*) = reader(root, options :+ ("minSnapshot" -> first.digest): _*)
    refused(NotAuthentic, "did not confirm")(pinned().requireOwnHistory(forged))
    directoryOf(root).deleteManifest(1)
    assertEquals(pinned().chosen(), Some(forged), "its chain of digests leads to the pinned one")
    refused(NotAuthentic, "only the digest is left", "footerKey")(pinned().requireOwnHistory(forged))
    pinned("footerKey" -> "pii").requireOwnHistory(forged)
  }

  table.test("the holder of the key before can change the key of HMACs") { root =>
    val first = publish(root, Seq(day1, day2))
    val second = publish(root, Seq(day1, day2), policy = pii, sealer = hmac("pii", Some("footer")))
    val third = publish(root, Seq(day1), policy = pii, sealer = hmac("pii", Some("pii")))
    assert(reader(root).continues(third, first))
    assertEquals((second.seal.former.map(_.key), third.seal.former), (Some("footer"), None))
    reader(root).requireOwnHistory(third)
    assertEquals(reader(root, "footerKey" -> "pii").chosen(), Some(third))
  }

  table.test("a confirmation that is under another key than it says is refused") { root =>
    val first = publish(root, Seq(day1, day2))
    val made = publish(
      root,
      Seq(day1),
      policy = pii,
      sealer = (content, where) => {
        val own = hmac("pii").seal(content, where)
        own.copy(former = Some(own.copy(key = "footer")))
      }
    )
    refused(NotAuthentic)(reader(root).continues(made, first))
  }

  table.test(
    "an HMAC of a table without encryption may be under any master key that the read does not exclude"
  ) { root =>
    val made =
      publish(root, Seq(day1), policy = TablePolicy(None, Nil), sealer = new HmacSealer("pii", keys("pii")))
    assertEquals(reader(root).chosen(), Some(made))
    refused(NotAuthentic)(reader(root, "footerKey" -> "footer").chosen())
  }

  table.test("a signed version is read with the public key only") { root =>
    val pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    val sealer: Sealer = new Sealer {
      override def seal(content: Array[Byte], where: String): SealLine = {
        val signature = Signature.getInstance("Ed25519")
        signature.initSign(pair.getPrivate)
        val hash = Sha256.hex(Sha256.ofBytes(content))
        signature.update(s"pme-parquet snapshot 1\n$hash".getBytes("US-ASCII"))
        SealLine("Ed25519", "signer", None, signature.sign())
      }
    }
    val made = publish(root, Seq(day1), sealer = sealer)
    refused(NotAuthentic, "verifyKey")(reader(root).chosen())
    val check = new SealCheck(Some(pair.getPublic), None, None, keys(masterKeys: _*))
    val own = new TableSnapshots(directoryOf(root), settings(), check, scope(masterKeys: _*), conf)
    assertEquals(own.chosen(), Some(made))
    assertEquals(own.files(made).files.map(_.path), Vector(day1.path))
  }
}
