package io.pmeparquet.snapshot

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath}
import java.security.{KeyPair, KeyPairGenerator, PublicKey}
import java.util.Base64

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.Path

import io.pmeparquet.{BlockDigests, Secret, StoredFormats}
import io.pmeparquet.options.{Level, NumberedWrite, OptionValues, SnapshotSettings}
import io.pmeparquet.parquet.storage.MemoryStore
import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind}
import io.pmeparquet.snapshot.manifest.{DataFormat, ErasedKeys, HmacSealer, IndexEntry, SealCheck, Sealer}
import io.pmeparquet.snapshot.manifest.{PairSigningKey, SignatureSealer, TablePolicy, VerifyKey}
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * Snapshots that earlier builds have made. They are in a store in memory, since a manifest states where its table is.
 */
class StoredSnapshotsSuite extends TableSuite with StoredFormats {
  override protected val conf = MemoryStore.conf("s3a")
  private val masterKeys = Seq("footer", "footer-2", "pii")
  private val Bucket = "formats"

  private val files = Vector(
    file("day=1/a.parquet").copy(partition = Seq("day" -> Some("1"))),
    file("day=__HIVE_DEFAULT_PARTITION__/b.parquet")
      .copy(partition = Seq("day" -> None), aadFileUnique = None)
  )
  private val policy = TablePolicy(Some("footer"), Seq(Seq("id") -> Some("pii"), Seq("city") -> None))
  private val indexes = Seq(
    SummaryKind.MinMax -> ColumnSummary.Range(Some(bytes("a") -> bytes("b")), 1),
    SummaryKind.ValueList(64) -> ColumnSummary.ValueList(List(bytes("a"), bytes("b")), 2),
    SummaryKind.Bloom(0.01, Some(10)) -> ColumnSummary.Bloom(Array.fill(32)(7.toByte), 3),
    SummaryKind.OfClass("of.Mine", Seq("digits" -> "2")) -> ColumnSummary.OfClass(bytes("mine"))
  ).zipWithIndex.map { case ((kind, summary), at) =>
    IndexEntry(kind, Seq("id"), s"index_$at", "optional int64 id", Some("pii")) -> summary
  }

  private val orcFiles = files.map { file =>
    val blocks = Some(BlockDigests(file.length, digest(s"block of ${file.path}")))
    val path = file.path.replace(".parquet", ".orc")
    file.copy(path = path, aadFileUnique = None, footerSha256 = file.sha256, blocks = blocks)
  }

  private def bytes(text: String) = text.getBytes(UTF_8)

  private final class Table(name: String, verifyKey: Option[PublicKey] = None) {
    private val root = s"/$name/_pme_snapshots/"
    private val objects = MemoryStore.bucket(Bucket).objects
    private val directory = new SnapshotDirectory(new Path(s"s3a://$Bucket/$name"), None, conf)
    val snapshots: TableSnapshots = {
      val settings = SnapshotSettings.of(new OptionValues(Map(Level.Option -> Map.empty[String, String])))
      val check = new SealCheck(verifyKey, None, None, keys(masterKeys: _*))
      new TableSnapshots(directory, settings, check, scope(masterKeys: _*), conf)
    }

    def seal(
        sealer: Sealer,
        policy: TablePolicy,
        indexes: Seq[(IndexEntry, ColumnSummary)] = Nil,
        files: Vector[SealedFile] = files,
        format: DataFormat = DataFormat.Parquet,
        write: Option[NumberedWrite] = None,
        erasure: Option[ErasedKeys] = None
    ): Unit = {
      val before = snapshots.newest().map(snapshots.files(_))
      new NewVersion(directory, before, sealer, kms(masterKeys: _*), conf)
        .build(
          files,
          policy,
          Seq("day"),
          indexes.map(_._1),
          "pme-parquet 1.0.0",
          (index, file) =>
            if (file.aadFileUnique.isEmpty) None else indexes.find(_._1.field == index.field).map(_._2),
          format,
          write,
          erasure
        )
        .publish()
      ()
    }

    def writeTo(folder: LocalPath): Unit = objects.foreach { case (name, one) =>
      if (name.startsWith(root)) write(folder.resolve(name.stripPrefix("/")), one.bytes)
    }

    def readFrom(folder: LocalPath): Table = {
      Files.list(folder.resolve(name).resolve("_pme_snapshots")).iterator.asScala.foreach { file =>
        objects.put(s"$root${file.getFileName}", MemoryStore.Stored(Files.readAllBytes(file), 0))
      }
      this
    }
  }

  private val folder = stored("snapshots-1") { folder =>
    val people = new Table("people")
    people.seal(new HmacSealer("footer", keys(masterKeys: _*)), policy)
    people.seal(new HmacSealer("footer", keys(masterKeys: _*)), policy, indexes)
    val later = new HmacSealer("footer-2", keys(masterKeys: _*), former = Some("footer"))
    people.seal(later, policy.copy(footerKey = Some("footer-2")), indexes)
    people.writeTo(folder)
    val pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    val open = new Table("open", Some(pair.getPublic))
    open.seal(new SignatureSealer("signer", new PairSigningKey(pair)), TablePolicy(None, Nil))
    open.writeTo(folder)
    writeKey(folder, pair)
  }

  private val orcFolder = stored("snapshots-2") { folder =>
    val pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    val orc = new Table("orc", Some(pair.getPublic))
    val policy = TablePolicy(None, Seq(Seq("id") -> Some("pii"), Seq("city") -> None))
    val sealer = new SignatureSealer("signer", new PairSigningKey(pair))
    orc.seal(sealer, policy, files = orcFiles, format = DataFormat.Orc)
    orc.writeTo(folder)
    writeKey(folder, pair)
  }

  private val byDay =
    TablePolicy(Some("t-{day}"), Seq(Seq("id") -> Some("pii"), Seq("city") -> None), byPartition = true)
  private val erased =
    ErasedKeys(
      Seq("t-1"),
      "2026-11-30T01:02:03Z",
      "/tenants/_pme_erasures/erasure-0123456789abcdef.json",
      "ab" * 32
    )

  private val keyedFolder = stored("snapshots-4") { folder =>
    val pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    val tenants = new Table("tenants", Some(pair.getPublic))
    val sealer = new SignatureSealer("signer", new PairSigningKey(pair))
    tenants.seal(sealer, byDay)
    tenants.seal(sealer, byDay, erasure = Some(erased))
    tenants.writeTo(folder)
    writeKey(folder, pair)
  }

  private val numberedFolder = stored("snapshots-3") { folder =>
    val pair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()
    val days = new Table("days", Some(pair.getPublic))
    val sealer = new SignatureSealer("signer", new PairSigningKey(pair))
    days.seal(sealer, TablePolicy(None, Nil), write = Some(NumberedWrite("days", 20261201L)))
    days.seal(sealer, TablePolicy(None, Nil), write = Some(NumberedWrite("corrections", 7L)))
    days.writeTo(folder)
    writeKey(folder, pair)
  }

  private def writeKey(folder: LocalPath, pair: KeyPair): Unit = {
    val pem = Base64.getMimeEncoder.encodeToString(pair.getPublic.getEncoded)
    write(
      folder.resolve("verify.pem"),
      bytes(s"-----BEGIN PUBLIC KEY-----\n$pem\n-----END PUBLIC KEY-----\n")
    )
  }

  private def said(summary: ColumnSummary): Seq[Any] = summary match {
    case ColumnSummary.Range(bounds, nulls) =>
      Seq(bounds.map { case (min, max) => (min.toSeq, max.toSeq) }, nulls)
    case ColumnSummary.ValueList(values, nulls) => Seq(values.map(_.toSeq), nulls)
    case ColumnSummary.Bloom(bits, nulls) => Seq(bits.toSeq, nulls)
    case ColumnSummary.OfClass(content) => Seq(content.toSeq)
  }

  private def listed(snapshots: TableSnapshots, version: Version): Vector[SealedFile] = {
    val found = snapshots.files(version).files
    assertEquals(found.map(plain), files.map(plain))
    found
  }

  test("stored snapshots with HMACs list the files that were sealed, in each version") {
    val snapshots = new Table("people").readFrom(folder).snapshots
    val versions = snapshots.all()
    assertEquals(versions.map(_.number), Seq(3L, 2L, 1L))
    versions.foreach(listed(snapshots, _))
    assertEquals(versions.map(_.manifest.policy.footerKey.get), Seq("footer-2", "footer", "footer"))
    assertEquals(versions.head.manifest.policy.columns, policy.columns)
    assertEquals(versions.head.manifest.partitionColumns, Seq("day"))
  }

  test("a stored version under another key continues the one before, by its second HMAC") {
    val snapshots = new Table("people").readFrom(folder).snapshots
    val versions = snapshots.all()
    assert(snapshots.continues(versions.head, versions.last))
  }

  test("stored indexes of each kind say what was known of each file") {
    val snapshots = new Table("people").readFrom(folder).snapshots
    val newest = snapshots.files(snapshots.newest().get)
    assertEquals(newest.version.manifest.indexes, indexes.map(_._1))
    indexes.foreach { case (index, summary) =>
      val content = snapshots.content(newest, index)
      assertEquals(content.of(files.head.path).map(said), Some(said(summary)), index.label)
      assertEquals(content.of(files.last.path).map(said), None)
    }
  }

  test("a stored snapshot with a signature verifies, and its plaintext parts list the files") {
    val key = VerifyKey.ofPem("verifyKey", new Secret(text(folder.resolve("verify.pem"))))
    val snapshots = new Table("open", Some(key)).readFrom(folder).snapshots
    listed(snapshots, snapshots.newest().get)
  }

  test("a stored snapshot of ORC files has digests of their blocks") {
    val key = VerifyKey.ofPem("verifyKey", new Secret(text(orcFolder.resolve("verify.pem"))))
    val snapshots = new Table("orc", Some(key)).readFrom(orcFolder).snapshots
    val newest = snapshots.newest().get
    assertEquals(newest.manifest.format, DataFormat.Orc)
    val found = snapshots.files(newest).files
    assertEquals(found.map(plain), orcFiles.map(plain))
    assertEquals(found.map(_.blocks.get.digests.toSeq), orcFiles.map(_.blocks.get.digests.toSeq))
  }

  test("a stored snapshot has keys by partition and erasures, and a list without a key") {
    val key = VerifyKey.ofPem("verifyKey", new Secret(text(keyedFolder.resolve("verify.pem"))))
    val snapshots = new Table("tenants", Some(key)).readFrom(keyedFolder).snapshots
    val newest = snapshots.newest().get
    assertEquals(newest.manifest.policy, byDay)
    assertEquals(newest.manifest.erasures, Seq(erased))
    listed(snapshots, newest)
  }

  test("a stored snapshot states the number of the last write of each series") {
    val key = VerifyKey.ofPem("verifyKey", new Secret(text(numberedFolder.resolve("verify.pem"))))
    val snapshots = new Table("days", Some(key)).readFrom(numberedFolder).snapshots
    val newest = snapshots.newest().get
    assertEquals(newest.manifest.writes, Map("days" -> 20261201L, "corrections" -> 7L))
    listed(snapshots, newest)
  }
}
