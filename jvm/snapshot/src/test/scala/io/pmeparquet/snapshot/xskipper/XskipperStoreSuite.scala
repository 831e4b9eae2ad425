package io.pmeparquet.snapshot.xskipper

import java.nio.file.Files

import org.apache.parquet.example.data.Group
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.io.api.Binary

import io.pmeparquet.snapshot.xskipper.MadeStores.{json, list, minMax, write}

class XskipperStoreSuite extends StoreSuite {
  private val V4 = """{"version":4,"tableIdentifier":"/t"}"""
  private val Doubles = "optional group d_minmax_1 { optional double min; optional double max; }"
  private val Texts =
    "optional group s_minmax_1 { optional binary min (STRING); optional binary max (STRING); }"
  private val d = where.double("d")
  private val s = where.text("s")
  private val types = Map("d" -> StoredType.Double, "s" -> StoredType.Text, "n" -> StoredType.Int)

  private def doubles(min: Double, max: Double)(row: Group): Unit = {
    row.addGroup("d_minmax_1").append("min", min).append("max", max)
    ()
  }
  private def texts(min: String, max: String)(row: Group): Unit = {
    row.addGroup("s_minmax_1").append("min", min).append("max", max)
    ()
  }
  private def isNot(value: Double) = FilterApi.notEq(d, Double.box(value))
  private val dNotNull = FilterApi.notEq(d, null.asInstanceOf[java.lang.Double])

  table.test(
    "unequal skips no file between its bounds, and one that holds nothing else only for exact types"
  ) { root =>
    write(root, json(V4, minMax("d_minmax_1", "d", "double")), Doubles)(
      "/t/a#1" -> doubles(1, 5) _,
      "/t/b#1" -> doubles(3, 3) _
    )
    val (rows, problems) = rowsOf(root)
    assertEquals(problems, Nil)
    // A file with 3 only may also hold NaN, which is not 3.
    assertEquals(skipped(rows, types, dNotNull, isNot(3)), Set.empty[String])
    assertEquals(skipped(rows, types, FilterApi.eq(d, Double.box(9))), Set("a", "b"))
  }

  table.test("NaN, which bounds may leave out, is greater than all numbers") { root =>
    write(root, json(V4, minMax("d_minmax_1", "d", "double")), Doubles)(
      "/t/bounds#1" -> doubles(1, 5) _,
      "/t/nan#1" -> doubles(1, Double.NaN) _,
      "/t/nulls#1" -> (row => { row.addGroup("d_minmax_1"); () }),
      "/t/nothing#1" -> (_ => ())
    )
    val (rows, _) = rowsOf(root)
    def skips(condition: org.apache.parquet.filter2.predicate.FilterPredicate) =
      skipped(rows, types, dNotNull, condition)
    assertEquals(skips(FilterApi.gt(d, Double.box(7))), Set.empty[String])
    assertEquals(skips(FilterApi.gtEq(d, Double.box(7))), Set.empty[String])
    assertEquals(skips(FilterApi.eq(d, Double.box(Double.NaN))), Set.empty[String])
    assertEquals(skips(FilterApi.lt(d, Double.box(1))), Set("bounds", "nan"))
    assertEquals(skips(FilterApi.eq(d, Double.box(0))), Set("bounds", "nan"))
    assertEquals(skips(FilterApi.eq(d, Double.box(7))), Set("bounds"))
    assertEquals(skips(FilterApi.gt(d, Double.box(Double.PositiveInfinity))), Set.empty[String])
  }

  table.test("bounds of strings hold in the order of bytes, whatever order made them") { root =>
    // By UTF-16, a character beyond 16 bits is less than U+E000 to U+FFFF; by bytes, it is greater.
    val turtle = new String(Character.toChars(0x1f422))
    val late = "\uff21"
    write(root, json(V4, minMax("s_minmax_1", "s", "string")), Texts)(
      "/t/late#1" -> texts("a", late) _,
      "/t/early#1" -> texts(turtle, late) _,
      "/t/plain#1" -> texts("b", "c") _
    )
    val (rows, _) = rowsOf(root)
    // The files between "a" or the turtle and U+FF21 in UTF-16 may hold the turtle, and what is between in bytes.
    assertEquals(skipped(rows, types, s.is(turtle)), Set("plain"))
    assertEquals(skipped(rows, types, s.above(late)), Set("plain"))
    assertEquals(skipped(rows, types, s.below(late)), Set.empty[String])
    assertEquals(skipped(rows, types, s.is("a")), Set("plain"))
    assertEquals(skipped(rows, types, s.below("b")), Set("plain"))
  }

  table.test("bounds of strings hold for bytes that are not UTF-8, in whose place Xskipper saw U+FFFD") {
    root =>
      write(root, json(V4, minMax("s_minmax_1", "s", "string")), Texts)(
        "/t/accent#1" -> texts("aé", "b") _,
        "/t/late#1" -> texts("a", "b\uff21") _
      )
      val (rows, _) = rowsOf(root)
      def bytes(of: Int*) = Binary.fromConstantByteArray(of.map(_.toByte).toArray)
      // Between "aé" and "b", as "a" and U+FFFD are, and less than "aé" by its bytes.
      assertEquals(skipped(rows, types, FilterApi.eq(s.column, bytes('a', 0x80))), Set.empty[String])
      assertEquals(skipped(rows, types, s.below("aé")), Set.empty[String])
      // Before "b" and U+FF21, and greater than it and than "b" with the greatest byte.
      assertEquals(skipped(rows, types, FilterApi.eq(s.column, bytes('b', 0xff, 0xff))), Set("accent"))
      assertEquals(skipped(rows, types, s.above("c")), Set("accent", "late"))
  }

  table.test("an empty list says that all values are null, and a missing one says nothing") { root =>
    val columns =
      "optional group s_valuelist_1 (LIST) { repeated group list { optional binary element (STRING); } }"
    write(root, json(V4, list("s_valuelist_1", "s", "string")), columns)(
      "/t/empty#1" -> (row => { row.addGroup("s_valuelist_1"); () }),
      "/t/missing#1" -> (_ => ()),
      "/t/x#1" -> (row => { row.addGroup("s_valuelist_1").addGroup("list").append("element", "x"); () })
    )
    val (rows, problems) = rowsOf(root)
    assertEquals(problems, Nil)
    assertEquals(skipped(rows, types, s.is("y")), Set("empty", "x"))
    assertEquals(skipped(rows, types, s.isNotNull, s.isNot("x")), Set("empty", "x"))
    // Stores do not count nulls.
    assertEquals(skipped(rows, types, s.isNot("x")), Set.empty[String])
    assertEquals(
      skipped(rows, types, FilterApi.eq(s.column, null.asInstanceOf[Binary])),
      Set.empty[String]
    )
  }

  table.test("two rows of one file, as a refresh leaves them for a while, are both returned") { root =>
    val text = json(V4, minMax("d_minmax_1", "d", "double"))
    write(root, text, Doubles, name = "old.parquet")("/t/a#1" -> doubles(1, 5) _)
    write(root, text, Doubles, name = "new.parquet")("/t/a#1" -> doubles(6, 7) _, "/t/b#1" -> doubles(1, 5) _)
    write(root, text, Doubles, name = ".staged.parquet")("/t/c#1" -> doubles(1, 5) _)
    val (rows, _) = rowsOf(root)
    assertEquals(rows.map(_.id.path).sorted, Seq("/t/a", "/t/a", "/t/b"))
  }

  table.test("versions that are not known, and files without a schema, are not used; others are") { root =>
    val index = minMax("d_minmax_1", "d", "double")
    Seq("5", "-1", "4.5", "\"4\"", "99999999999").zipWithIndex.foreach { case (version, at) =>
      val text = json(s"""{"version":$version,"tableIdentifier":"/t"}""", index)
      write(root, text, Doubles, name = s"unknown-$at.parquet")(s"/t/$at#1" -> doubles(1, 2) _)
    }
    write(root, "{", Doubles, name = "cut.parquet")("/t/cut#1" -> doubles(1, 2) _)
    write(root, "[" * 100000, Doubles, name = "deep.parquet")("/t/deep#1" -> doubles(1, 2) _)
    Files.write(root.resolve("none.parquet"), "no Parquet file".getBytes)
    write(root, json(V4, index), Doubles)("/t/known#1" -> doubles(1, 2) _)
    val (rows, problems) = rowsOf(root)
    assertEquals(rows.map(_.id.path), Seq("/t/known"))
    assertEquals(problems.size, 8)
    assertEquals(problems.count(_.contains("its version is ")), 5)
  }

  table.test("files without a version are of version 0") { root =>
    val text = json("{}", minMax("d_minmax", "d", "double", ""","tableIdentifier":"t","params":["a:b:c"]"""))
    write(root, text, Doubles.replace("d_minmax_1", "d_minmax"))(
      "/t/a#1" -> (row => { row.addGroup("d_minmax").append("min", 1.0).append("max", 2.0); () })
    )
    val (rows, problems) = rowsOf(root)
    assertEquals(problems, Nil)
    assertEquals(rows.map(shown), Seq(Seq[(String, Any)]("minmax d" -> (("1.0", "2.0")))))
    assertEquals(rows.head.summaries.head._1.parameters, Map("a" -> "b:c"))
  }

  table.test(
    "an index with another name than its version makes, or another type than it states, is not used"
  ) { root =>
    val text = json(
      V4,
      minMax("other", "d", "double"),
      minMax("s_minmax_1", "s", "integer"),
      minMax("n_minmax_1", "n", "integer")
    )
    val columns = "optional group other { optional double min; optional double max; }" + Texts +
      "optional group n_minmax_1 { optional int32 min; optional int32 max; }"
    write(root, text, columns)("/t/a#1" -> { row =>
      row.addGroup("other").append("min", 1.0).append("max", 2.0)
      texts("a", "b")(row)
      row.addGroup("n_minmax_1").append("min", 1).append("max", 2)
      ()
    })
    val (rows, problems) = rowsOf(root)
    assertEquals(rows.map(shown), Seq(Seq[(String, Any)]("minmax n" -> (("1", "2")))))
    assertEquals(problems.size, 2)
  }

  table.test("a store says nothing of files that are not of the table that it names") { root =>
    val index = minMax("d_minmax_1", "d", "double")
    def named(table: String, file: String): (Int, Seq[String]) = {
      val store = Files.createTempDirectory(root, "store")
      write(store, json(s"""{"version":4,"tableIdentifier":"$table"}""", index), Doubles)(
        file -> doubles(1, 2) _
      )
      val (rows, problems) = rowsOf(store)
      (rows.size, problems)
    }
    for (
      (table, file) <- Seq(
        "/x/t" -> "/x/t/a#1",
        "/x/t" -> "/x/t/day=1/a#1",
        "/x/t/" -> "/x/t/a#1",
        "x/t" -> "/x/t/a#1",
        "cos://b/x/t" -> "cos://b/x/t/a#1",
        "b/x/t" -> "cos://b/x/t/a#1",
        // A table of a catalog may have its files anywhere.
        "db.t" -> "/x/t/a#1"
      )
    ) assertEquals(named(table, file), 1 -> Nil, table)
    for ((table, file) <- Seq("/x/t" -> "/x/t2/a#1", "/x/t" -> "/x/a#1", "cos://b/x/t" -> "/x/t/a#1")) {
      val (rows, problems) = named(table, file)
      assertEquals(rows, 0)
      assert(problems.head.contains("not of its table"), problems)
    }
  }

  test("names of columns are those of each version") {
    assertEquals(IndexName.of(0, Seq("a", "b"), "someindex"), "a:b_someindex")
    assertEquals(IndexName.of(1, Seq("a", "b"), "someindex"), "a_b_someindex")
    assertEquals(
      IndexName.of(2, Seq("lat#_.$_new", "$_lng.#"), "someindex"),
      "lat##_$#$$_new_$_lng$#$##_someindex_14-10"
    )
  }

  test("ids of files are parsed into path, time and bucket") {
    assertEquals(FileId.parse("/a#b/c.parquet#17"), Some(FileId(None, "/a#b/c.parquet", 17)))
    assertEquals(FileId.parse("cos://bucket/a#17"), Some(FileId(Some("bucket"), "/a", 17)))
    Seq(
      "",
      "/a",
      "/a#",
      "/a#x",
      "/a#0",
      "a#1",
      "#1",
      "/a#-1",
      "/a#1234567890123456789",
      "cos:///a#1",
      "s3a://b/a#1"
    )
      .foreach(text => assertEquals(FileId.parse(text), None, text))
    def of(file: String, store: String) =
      FileId.of(new org.apache.hadoop.fs.Path(file), 5, new org.apache.hadoop.fs.Path(store))
    assertEquals(of("file:/t/a", "file:/s"), Seq(FileId(None, "/t/a", 5)))
    assertEquals(of("s3a://one/t/a", "s3a://one/s"), Seq(FileId(None, "/t/a", 5)))
    // The same path in another bucket is another file.
    assertEquals(of("s3a://two/t/a", "s3a://one/s"), Nil)
    assertEquals(of("cos://two.myservice/t/a", "cos://one.myservice/s"), Seq(FileId(Some("two"), "/t/a", 5)))
  }
}
