package io.pmeparquet.snapshot.xskipper

import java.nio.file.{Files, Path => LocalPath, Paths}

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.io.api.Binary

/**
 * Stores that Xskipper itself has written, of a table of six files with a column of each type (`README.md` of the
 * resources): `a` has 0 to 9, `b` 10 to 19, `c` only nulls, `d` 21, 23, 25 and nulls, `e` 30 to 32 with NaN, and `f` 40 to
 * 42. The column `t` has texts such as `t005`.
 */
class LibraryStoresSuite extends StoreSuite {
  private val Whole =
    Seq("b" -> StoredType.Byte, "s" -> StoredType.Short, "i" -> StoredType.Int, "l" -> StoredType.Long)
  private val t = where.text("t")
  private val i = where.int("i")

  private def read(root: LocalPath, keys: Seq[String], names: String*): (Seq[StoreRow], Seq[String]) = {
    val store = Files.createTempDirectory(root, "store")
    names.foreach { name =>
      val fixture = Paths.get(getClass.getResource(s"/xskipper/library/$name.parquet").toURI)
      Files.copy(fixture, store.resolve(s"$name.parquet"))
    }
    rowsOf(store, keys: _*)
  }

  private def said(rows: Seq[StoreRow]): Map[String, Map[String, Any]] =
    rows.map(row => row.id.path.split('/').last.stripSuffix(".parquet") -> shown(row).toMap).toMap

  private lazy val plain: Map[String, Map[String, Any]] = {
    val (rows, problems) = read(Files.createTempDirectory("pme-library"), Nil, "plain")
    assertEquals(problems, Nil)
    said(rows)
  }

  test("each kind of index of each type says what its column holds") {
    assertEquals(plain.keySet, "abcdef".map(_.toString).toSet)
    val a = plain("a")
    assertEquals(a.size, 13 + 13 + 5)
    for ((name, _) <- Whole) {
      val step = if (name == "l") 100000000000L else 1L
      assertEquals[Any, Any](a(s"minmax $name"), ("0", (9 * step).toString))
      assertEquals[Any, Any](a(s"valuelist $name"), (0 to 9).map(at => (at * step).toString).toSet)
    }
    assertEquals[Any, Any](a("minmax f"), ("0.0", "4.5"))
    assertEquals[Any, Any](a("minmax d"), ("0.0", "2.25"))
    assertEquals[Any, Any](a("minmax t"), ("t000", "t009"))
    assertEquals[Any, Any](a("minmax dt"), ("2020-01-01", "2020-01-10"))
    assertEquals[Any, Any](a("minmax ts"), ("2020-01-01T00:00:00Z", "2020-01-01T09:00:00Z"))
    assertEquals[Any, Any](a("minmax flag"), ("false", "true"))
    assertEquals[Any, Any](a("minmax inner.x"), ("0", "9"))
    assertEquals(
      a.keySet.filter(_.startsWith("bloomfilter")),
      Set("b", "s", "i", "l", "t").map("bloomfilter " + _)
    )
    // Of nulls only: no bounds, and an empty list.
    assertEquals(plain("c").keySet.filter(_.startsWith("minmax")), Set.empty[String])
    assertEquals[Any, Any](plain("c")("valuelist i"), Set.empty[String])
  }

  test("several files of a store, and encrypted ones, say what a plaintext file says") {
    val root = Files.createTempDirectory("pme-library")
    val (several, none) = read(root, Nil, "several-0", "several-1")
    assertEquals(none, Nil)
    assertEquals(said(several), plain)
    for (store <- Seq("encrypted", "signed")) {
      val (rows, problems) = read(root, Seq("footer", "pii", "pay"), store)
      assertEquals(problems, Nil, store)
      assertEquals(said(rows), plain, store)
    }
  }

  test("a store may have plaintext and encrypted files, and a missing key costs what is under it") {
    val root = Files.createTempDirectory("pme-library")
    val (rows, problems) = read(root, Seq("footer", "pii"), "several-0", "encrypted")
    assertEquals(problems.size, 7, problems)
    assert(problems.forall(_.contains("'pay'")), problems)
    val twice = rows.groupBy(_.id.path).values.count(_.size == 2)
    assertEquals(twice, 3)
    val (locked, all) = read(root, Nil, "several-0", "encrypted")
    assertEquals(locked.size, 3)
    assertEquals(all.size, 1)
  }

  test("files are skipped that Xskipper skips for numbers and texts") {
    val types = Map("i" -> StoredType.Int, "t" -> StoredType.Text)
    val rows = read(Files.createTempDirectory("pme-library"), Nil, "plain")._1
      .map(row => row.copy(summaries = row.summaries.filter(one => types.contains(one._1.columns.head))))
    def left(conditions: FilterPredicate*) =
      "abcdef".map(_.toString).toSet -- skipped(rows, types, conditions: _*).map(_.stripSuffix(".parquet"))
    assertEquals(left(FilterApi.eq(i, Int.box(5))), Set("a"))
    assertEquals(left(FilterApi.eq(i, Int.box(22))), Set.empty[String])
    assertEquals(left(FilterApi.gt(i, Int.box(31))), Set("e", "f"))
    assertEquals(left(t.is("t012")), Set("b"))
    assertEquals(left(t.is("t022")), Set.empty[String])
    // Only the filter of a file knows that it has no such number.
    val blooms = rows.map(row => row.copy(summaries = row.summaries.filter(_._1.kind == "bloomfilter")))
    assertEquals(skipped(blooms, types, FilterApi.eq(i, Int.box(5))).size, 5)
    assertEquals(skipped(blooms, types, t.is("t012")).size, 5)
  }

  test("a file whose texts are not UTF-8 is skipped by none of its kinds of index") {
    // Of the files, `c` has the byte 80, `d` FF, and `e` FF21 and FFFF; each has U+FFFD, which stands for them.
    val (rows, problems) = read(Files.createTempDirectory("pme-library"), Nil, "bytes")
    assertEquals(problems, Nil)
    val types = Map("t" -> StoredType.Text)
    def bytes(of: Int*) = Binary.fromConstantByteArray(of.map(_.toByte).toArray)
    def left(condition: FilterPredicate) =
      "abcde".map(_.toString).toSet -- skipped(rows, types, condition).map(_.stripSuffix(".parquet"))
    val holding: Seq[(FilterPredicate, String)] = Seq(
      FilterApi.eq(t.column, bytes(0x80)) -> "c",
      FilterApi.eq(t.column, bytes(0xff)) -> "d",
      FilterApi.lt(t.column, bytes(0xef, 0xbf, 0xbd)) -> "c",
      FilterApi.gt(t.column, bytes(0xf0)) -> "d",
      FilterApi.eq(t.column, bytes(0xef, 0xbc, 0xa1, 0xff, 0xff)) -> "e"
    )
    holding.foreach { case (condition, file) => assert(left(condition)(file), s"$condition") }
  }
}
