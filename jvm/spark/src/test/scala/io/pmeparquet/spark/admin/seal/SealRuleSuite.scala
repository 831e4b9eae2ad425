package io.pmeparquet.spark.admin.seal

import munit.FunSuite
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.parquet.rotation.RotatedFooter
import io.pmeparquet.parquet.write.WrittenFooter
import io.pmeparquet.snapshot.{TableSnapshot, Version}
import io.pmeparquet.snapshot.manifest.{Manifest, SealLine, TablePolicy}
import io.pmeparquet.snapshot.parts.SealedFile

/** What the next version of a table may list. SealedWritesSuite shows that a table comes to these rules. */
class SealRuleSuite extends FunSuite {
  private val tableId = "0a0b0c0d-0000-0000-0000-000000000000"

  private def file(path: String, content: Int = 1, length: Long = 100, rows: Long = 5): SealedFile =
    SealedFile(
      path,
      length,
      7,
      Array(content.toByte),
      Some(Array[Byte](3)),
      Array(content.toByte, 0),
      rows,
      Nil
    )

  private def before(files: SealedFile*): TableSnapshot = {
    val manifest = Manifest(
      4,
      None,
      tableId,
      "/t",
      "",
      "",
      "",
      TablePolicy(Some("footer"), Nil),
      Nil,
      files.size.toLong,
      0,
      0,
      Nil,
      Nil
    )
    val seal = SealLine("HMAC-SHA256", "footer", None, Array.emptyByteArray)
    new TableSnapshot(Version(manifest, "abcdef0123456789")(seal), files.toVector)
  }

  /** The differences, if all existing files had to be opened. */
  private def found(before: Option[TableSnapshot], there: SealedFile*): SealedDifferences =
    SealedDifferences.of(new Path("file:/t"), before, Vector.empty, there.toVector)

  private def refused(why: String)(accept: => Any): Unit = {
    val failed = intercept[PmeException](accept)
    assertEquals(failed.condition, Condition.SnapshotMismatch)
    assert(failed.getMessage.contains(why), failed.getMessage)
  }

  test("a file of the written footer with other pages is another one, if the whole file is known") {
    val (made, other) = (file("a"), file("a").copy(sha256 = Array[Byte](9)))
    def rule(whole: Option[Array[Byte]]) =
      new OwnCommit(Map("a" -> footer(made).copy(whole = whole)), _ => false)
    val old = Some(before())
    assertEquals(rule(Some(made.sha256)).accept(found(old, made)).map(_.path), Vector("a"))
    refused("this is another one")(rule(Some(made.sha256)).accept(found(old, other)))
    assertEquals(rule(None).accept(found(old, other)).map(_.path), Vector("a"))
  }

  private def footer(of: SealedFile) = WrittenFooter(of.length, of.footerSha256)
  private def commit(replaces: String => Boolean, made: SealedFile*) =
    new OwnCommit(made.map(one => one.path -> footer(one)).toMap, replaces)
  private def append(made: SealedFile*) = commit(_ => false, made: _*)

  private val (a, b, c) = (file("a"), file("b", 2), file("c", 3))

  test("a file is the same if its bytes are, and was replaced if only its length is") {
    val differences = found(Some(before(a, b)), a.copy(modified = 99), file("b", 7), c)
    assertEquals(differences.kept.map(_.path), Vector("a"))
    assertEquals(differences.replaced.map(_.path), Vector("b"))
    assertEquals(differences.added.map(_.path), Vector("c"))
    assertEquals(differences.named, Seq("replaced b", "added c"))
  }

  test("an append adds its own files to those of the version before, and nobody else's") {
    assertEquals(
      append(c).accept(found(Some(before(a, b)), a, b, c)).map(_.path).sorted,
      Vector("a", "b", "c")
    )
    assert(!append(c).concerns("planted", Some(before(a, b))))
    Seq("a", "b", "c").foreach(path => assert(append(c).concerns(path, Some(before(a, b)))))
  }

  test("an append whose own file is missing or another one is refused") {
    refused("c: ")(append(c).accept(found(Some(before(a)), a)))
    refused("this is another one")(append(c).accept(found(Some(before(a)), a, file("c", 8))))
    refused("this is another one")(append(c).accept(found(Some(before(a)), a, file("c", 3, length = 101))))
  }

  test("an append to a table is refused if a file was removed or replaced") {
    refused("a: ")(append(c).accept(found(Some(before(a, b)), b, c)))
    refused("the file was replaced")(append(c).accept(found(Some(before(a, b)), file("a", 9), b, c)))
  }

  test("an overwrite lists no file that it removed, even if it exists again") {
    val overwrite = commit(_.startsWith("day=1/"), file("day=1/new", 5))
    val (old, other) = (file("day=1/old"), file("day=2/x", 2))
    val now = Seq(other, file("day=1/new", 5))
    assertEquals(
      overwrite.accept(found(Some(before(old, other)), now: _*)).map(_.path).sorted,
      Vector("day=1/new", "day=2/x")
    )
    refused("there again")(overwrite.accept(found(Some(before(old, other)), now :+ old: _*)))
    refused("missing")(overwrite.accept(found(Some(before(old, other)), now.tail: _*)))
  }

  test("what a write removes follows from what it is") {
    val written = Seq("day=1/x", "day=2/hour=3/y")
    def removed(replaced: Replaced, path: String) = replaced.removes(written)(path)
    assert(!removed(Replaced.Nothing, "day=1/a") && removed(Replaced.All, "a"))
    assert(
      removed(Replaced.WrittenPartitions, "day=1/a") && removed(Replaced.WrittenPartitions, "day=2/hour=3/a")
    )
    assert(!removed(Replaced.WrittenPartitions, "day=2/a") && !removed(Replaced.WrittenPartitions, "a"))
    assert(
      removed(Replaced.Below("day=1"), "day=1/hour=2/a") && !removed(Replaced.Below("day=1"), "day=10/a")
    )
  }

  test("nothing but what expect says is confirmed") {
    val changed = found(Some(before(a, b)), a, file("b", 9), c)
    def accepts(expect: String*) = new ConfirmedChanges(expect.headOption).accept(changed).size == 3
    Seq("2", "4", s"$tableId:4", "abcdef012345", s"changes:${changed.digest}", " 2 ").foreach(e =>
      assert(accepts(e), e)
    )
    Seq("1", "3", s"$tableId:3", s"${tableId.replace('a', 'b')}:4", "abcdef012346", "unsealed").foreach(e =>
      refused("2 files changed since version 4")(accepts(e))
    )
    refused("replaced b, added c")(accepts())
    val other = found(Some(before(a, b)), a, file("b", 8), c)
    refused("expect=2")(new ConfirmedChanges(Some(s"changes:${other.digest}")).accept(changed))
  }

  test("a first version over files needs a confirmation, and over none it needs none") {
    val first = found(None, a, b)
    refused("""expect="unsealed"""")(new ConfirmedChanges(None).accept(first))
    assertEquals(new ConfirmedChanges(Some("unsealed")).accept(first).size, 2)
    assertEquals(new ConfirmedChanges(None).accept(found(None)), Vector.empty)
  }

  test("a rotated file keeps its rows and its aad_file_unique") {
    val rotated = file("a", 9)
    assertEquals(RewrittenFiles.rotated.accept(found(Some(before(a)), rotated)), Vector(rotated))
    val others = Seq(
      rotated.copy(aadFileUnique = Some(Array[Byte](4))),
      rotated.copy(aadFileUnique = None),
      rotated.copy(rows = 6)
    )
    others.foreach(other =>
      refused("by another one")(RewrittenFiles.rotated.accept(found(Some(before(a)), other)))
    )
  }

  test("a rotation of a signed table lists only footers that it has replaced itself") {
    val now = file("a", 9)
    def rotated(before: SealedFile, after: SealedFile) =
      RewrittenFiles.rotatedBy(Map("a" -> RotatedFooter(before.footerSha256, footer(after))))
    assertEquals(rotated(a, now).accept(found(Some(before(a)), now)), Vector(now))
    // The file before was not the listed one; the file now is not the one that was written; nothing was written.
    refused("by another one")(rotated(file("a", 7), now).accept(found(Some(before(a)), now)))
    refused("by another one")(rotated(a, file("a", 8)).accept(found(Some(before(a)), now)))
    refused("by another one")(RewrittenFiles.rotatedBy(Map.empty).accept(found(Some(before(a)), now)))
  }
}
