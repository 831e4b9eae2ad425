package io.pmeparquet.snapshot

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream}

import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.snapshot.manifest.{DataFormat, Manifest, SealLine, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile
import io.pmeparquet.snapshot.TableSuite.Mismatch
import io.pmeparquet.BlockDigests

class SealedFilesSuite extends TableSuite {
  private val listed = file("day=1/a.parquet")

  private def seal(
      footerKey: Option[String] = Some("footer"),
      format: DataFormat = DataFormat.Parquet,
      listed: SealedFile = listed,
      byPartition: Boolean = false,
      columnKeys: Seq[String] = Nil
  ): FileSeal = {
    val policy = TablePolicy(footerKey, columnKeys.map(key => Seq(key) -> Some(key)), byPartition)
    val manifest = Manifest(7, None, "id", "/t", "", "", "", policy, Nil, 1, 1, 1, Nil, Nil, format)
    val version = Version(manifest, "ab")(SealLine("Ed25519", "signer", None, Array.emptyByteArray))
    SealedFiles.of(new Path("file:/t"), new TableSnapshot(version, Vector(listed)))
  }

  private def require(
      path: String = "file:/t/day=1/a.parquet",
      length: Long = listed.length,
      footer: Array[Byte] = listed.footerSha256,
      key: Option[String] = Some("footer"),
      by: FileSeal = seal()
  ): Unit = {
    val file = new Path(path)
    by.requireLength(file, length)
    by.requireFooter(file, footer)
    by.requireKey(file, key)
  }

  test("a file that is as listed is accepted, whatever the scheme of its path") {
    require()
    require(path = "/t/day=1/a.parquet")
    require(path = "file:///t/day=1/a.parquet")
    require(key = None, by = seal(footerKey = None))
  }

  test("a file has the key that its place in the list names, wherever it lies") {
    val template = seal(Some("t-{day}"), byPartition = true)
    require(key = Some("t-1"), by = template)
    require(path = "file:/t/day=1/a.parquet", key = Some("t-1"), by = template)
    for (other <- Seq(Some("t-2"), Some("t-{day}"), None))
      refused(Mismatch, "states 't-1'")(require(key = other, by = template))
    // The name of a key may have braces where keys are not by partition.
    require(key = Some("t-{day}"), by = seal(Some("t-{day}")))
    refused(Mismatch, "states 't-{day}'")(require(key = Some("t-1"), by = seal(Some("t-{day}"))))
    require(key = Some("t-0"), by = seal(Some("t-{DAY:bucket(1)}"), byPartition = true))
  }

  test("a file whose place has no name of a key is refused, whatever it has") {
    for {
      template <- Seq("t-{country}", "t-{day}")
      place = file(if (template == "t-{day}") "day=a b/a.parquet" else "day=1/a.parquet")
      key <- Seq(None, Some("t-"), Some(template))
    }
      refused(Mismatch, s"states '$template'")(
        require(
          s"file:/t/${place.path}",
          footer = place.footerSha256,
          key = key,
          by = seal(Some(template), listed = place, byPartition = true)
        )
      )
    // Nor may the key of a column be taken for it.
    val alike = seal(Some("t-{day}"), byPartition = true, columnKeys = Seq("{day}-t", "t-1"))
    refused(Mismatch, "states 't-{day}'")(require(key = Some("t-1"), by = alike))
  }

  test("files of ORC have digests of blocks, and no reader of Parquet accepts them") {
    val blocks = Some(BlockDigests(1, digest("block")))
    val orc = seal(footerKey = None, DataFormat.Orc, listed.copy(blocks = blocks))
    assertEquals(orc.blocks(new Path("/t/day=1/a.parquet")), blocks)
    refused(Mismatch, "not in the list")(orc.blocks(new Path("/t/b.parquet")))
    refused(Mismatch, "ORC", "Parquet")(require(key = None, by = orc))
    refused(Mismatch, "ORC", "Parquet")(seal().blocks(new Path("/t/day=1/a.parquet")))
  }

  test("executors compare as the driver does") {
    def crossed(sealing: FileSeal): FileSeal = {
      val bytes = new ByteArrayOutputStream
      val out = new ObjectOutputStream(bytes)
      out.writeObject(sealing)
      out.close()
      new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray)).readObject().asInstanceOf[FileSeal]
    }
    require(by = crossed(seal()))
    refused(Mismatch, "another footer")(require(footer = digest("other"), by = crossed(seal())))
    val blocks = Some(BlockDigests(1, digest("block")))
    val orc = crossed(seal(footerKey = None, DataFormat.Orc, listed.copy(blocks = blocks)))
    assert(orc.blocks(new Path("/t/day=1/a.parquet")).exists(_.digests.sameElements(digest("block"))))
    refused(Mismatch, "ORC", "Parquet")(require(key = None, by = orc))
  }

  test("a file elsewhere is refused") {
    Seq(
      "/t/a.parquet",
      "/t/day=2/a.parquet",
      "/t/day=1/a.parquet.bak",
      "/u/day=1/a.parquet",
      "/tt/day=1/a.parquet",
      "/t/t/day=1/a.parquet",
      "/day=1/a.parquet"
    ).foreach { path =>
      refused(Mismatch, path, "not in the list")(require(path = path))
    }
  }

  test("another length, footer or footer key is refused") {
    refused(Mismatch, "999 bytes", "1000 bytes")(require(length = 999))
    refused(Mismatch, "another footer")(require(footer = digest("other")))
    refused(Mismatch, "another footer")(require(footer = listed.footerSha256.take(31)))
    refused(Mismatch, "'other'", "'footer'")(require(key = Some("other")))
    refused(Mismatch, "no key", "'footer'")(require(key = None))
    refused(Mismatch, "'footer'", "none")(require(by = seal(footerKey = None)))
  }

  test("it crosses the wire, and its text shows only how many files it has") {
    val bytes = new java.io.ByteArrayOutputStream
    new java.io.ObjectOutputStream(bytes).writeObject(seal())
    val in = new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(bytes.toByteArray))
    val copy = in.readObject().asInstanceOf[FileSeal]
    require(by = copy)
    refused(Mismatch)(require(length = 1, by = copy))
    assertEquals(copy.toString, "SealedFiles(1)")
  }

  test("a path is relative to its table only below it") {
    assertEquals(SealedFiles.relative("/t", new Path("file:/t/a/b")), Some("a/b"))
    assertEquals(SealedFiles.relative("/t/", new Path("/t/a")), Some("a"))
    assertEquals(SealedFiles.relative("/", new Path("/a")), Some("a"))
    Seq("/t", "/tt/a", "/").foreach(path => assertEquals(SealedFiles.relative("/t", new Path(path)), None))
  }

  test("paths are in the order of the bytes of UTF-8, which is not that of Java's characters") {
    val paths = Seq("A", "a", "a/b", "a0", "z", "é", "\uffff", "\ud83d\ude00")
    assert(SealedFiles.areOrdered(paths.map(file(_))))
    assert(paths.last < paths(paths.size - 2))
    assertEquals(paths.reverse.map(file(_)).sorted(SealedFiles.byPath).map(_.path), paths)
    assert(SealedFiles.areOrdered(Nil))
    assert(!SealedFiles.areOrdered(Seq(file("a"), file("a"))))
    assert(!SealedFiles.areOrdered(Seq(file("a"), file("c"), file("b"))))
  }
}
