package io.pmeparquet.snapshot.parts

import java.nio.file.{Files, Path => LocalPath}

import io.pmeparquet.parquet.summary.{ColumnSummary, SummaryKind}
import io.pmeparquet.snapshot.manifest.IndexEntry
import io.pmeparquet.snapshot.TableSuite
import io.pmeparquet.snapshot.TableSuite.Damaged

/** Files of indexes, as they are written and read. */
class IndexFileSuite extends TableSuite {
  private val ofClass = SummaryKind.OfClass("com.acme.Own", Seq("n" -> "1"))

  private def bytes(values: Int*) = values.map(_.toByte).toArray

  private val kinds: Seq[(SummaryKind, Vector[Option[ColumnSummary]])] = Seq(
    SummaryKind.MinMax -> Vector(
      Some(ColumnSummary.Range(Some(bytes(1, 0) -> bytes(255, 7)), 3)),
      None,
      Some(ColumnSummary.Range(None, 10)),
      Some(ColumnSummary.Range(Some(bytes() -> bytes()), 0))
    ),
    SummaryKind.ValueList(3) -> Vector(
      Some(ColumnSummary.ValueList(List(bytes(), bytes(1), bytes(1, 2)), 0)),
      None,
      Some(ColumnSummary.ValueList(Nil, 5))
    ),
    SummaryKind.Bloom(0.01, None) -> Vector(None, Some(ColumnSummary.Bloom(Array.fill(64)(7.toByte), 1))),
    ofClass -> Vector(Some(ColumnSummary.OfClass(bytes(9))), None, Some(ColumnSummary.OfClass(bytes())))
  )

  private def plain(summary: ColumnSummary): Any = summary match {
    case ColumnSummary.Range(bounds, nulls) =>
      (bounds.map { case (min, max) => (min.toSeq, max.toSeq) }, nulls)
    case ColumnSummary.ValueList(values, nulls) => (values.map(_.toSeq), nulls)
    case ColumnSummary.Bloom(bits, nulls) => (bits.toSeq, nulls)
    case ColumnSummary.OfClass(content) => content.toSeq
  }

  private def encrypted(
      root: LocalPath,
      kind: SummaryKind,
      some: Vector[Option[ColumnSummary]],
      key: String
  ): Array[Byte] = {
    val entry = IndexEntry(kind, Seq("id"), "index_0", "optional int64 id", Some(key))
    val keys = new PartKeys(Some("footer"), kms("footer", "pii"), hadoop(root), conf)
    val made = IndexFile.write(kind, some, keys.ofIndex(entry, hadoop(root.resolve("index"))))
    Files.write(root.resolve("index"), made)
    made
  }

  private def read(root: LocalPath, made: Array[Byte], kind: SummaryKind, masterKeys: String*) =
    IndexFile.read(
      made,
      kind,
      PartKeys.forRead(scope(masterKeys: _*), hadoop(root.resolve("index")), conf),
      "i"
    )

  kinds.foreach { case (kind, summaries) =>
    table.test(s"an index of kind ${kind.name} is read as it was written") { root =>
      val expected = summaries.map(_.map(plain))
      val made = encrypted(root, kind, summaries, "pii")
      assertEquals(read(root, made, kind, "footer", "pii").map(_.map(plain)), expected)
      val plaintext = IndexFile.write(kind, summaries, None)
      assertEquals(IndexFile.read(plaintext, kind, None, "i").map(_.map(plain)), expected)
    }

    table.test(s"an index of kind ${kind.name} is damaged if it is cut, or read as another kind") { root =>
      val made = encrypted(root, kind, summaries, "pii")
      made.indices
        .by(41)
        .foreach(length => refused(Damaged, "i: ")(read(root, made.take(length), kind, "footer", "pii")))
      kinds.map(_._1).filter(_ != kind).foreach { other =>
        refused(Damaged, "i: ")(read(root, made, other, "footer", "pii"))
      }
    }
  }

  table.test("an index needs its own key and the footer's") { root =>
    val (kind, summaries) = kinds.head
    val made = encrypted(root, kind, summaries, "pii")
    refused("PME_KEY_NOT_FOUND", "'pii'")(read(root, made, kind, "footer"))
    refused("PME_KEY_NOT_FOUND", "'footer'")(read(root, made, kind, "pii"))
    assertEquals(read(root, encrypted(root, kind, summaries, "footer"), kind, "footer").size, summaries.size)
  }

  table.test("no value is in the bytes of an encrypted index") { root =>
    val secret = "a-name-that-nobody-has-guessed".getBytes
    val kind = SummaryKind.MinMax
    val summaries = Vector(Some(ColumnSummary.Range(Some(secret -> secret), 0)))
    assert(!encrypted(root, kind, summaries, "pii").containsSlice(secret))
    assert(IndexFile.write(kind, summaries, None).containsSlice("nobody".getBytes))
  }
}
