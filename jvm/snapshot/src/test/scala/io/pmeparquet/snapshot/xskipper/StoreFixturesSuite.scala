package io.pmeparquet.snapshot.xskipper

import java.nio.file.{Files, Path => LocalPath, Paths}

import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}

/**
 * Xskipper's own stores of versions 1 to 4, each with the query that Xskipper tests it with. Where its test skips a file
 * that can hold a row for other data with the same metadata, no file is skipped here; `sound` says why.
 */
class StoreFixturesSuite extends StoreSuite {
  import StoreFixturesSuite._

  private val types = Map(
    "address" -> StoredType.Text,
    "account_name" -> StoredType.Text,
    "temp" -> StoredType.Double,
    "salary" -> StoredType.Double,
    "num" -> StoredType.Int,
    "timestamp" -> StoredType.Timestamp
  )

  private val address = where.text("address")
  private def notNull(name: String) =
    FilterApi.notEq(where.double(name), null.asInstanceOf[java.lang.Double])
  private def temp(least: Double, greatest: Double) = Seq(
    notNull("temp"),
    FilterApi.gtEq(where.double("temp"), Double.box(least)),
    FilterApi.ltEq(where.double("temp"), Double.box(greatest))
  )
  private def above(name: String, value: Double) =
    Seq(notNull(name), FilterApi.gt(where.double(name), Double.box(value)))
  private def isTemp(value: Double) = FilterApi.eq(where.double("temp"), Double.box(value))
  private def isNotTemp(value: Double) = FilterApi.notEq(where.double("temp"), Double.box(value))
  private def micros(time: String) = Long.box(java.time.Instant.parse(time).toEpochMilli * 1000)
  private val isH = Seq(address.isNotNull, address.in("H"))
  private val letters = address.in("Telaviv" +: ('a' to 'p').map(_.toString): _*)
  private val notIn = Seq(address.isNotNull, address.isNot("Jerusalem"), address.isNot("Batyam"))
  private val long = "Jerusalem" + "m" * 243 + "zzzz"

  private val OnlyNulls =
    "null bounds do not say that all values are null: a file with NaN only has them, too"
  private val Within = "a value between the bounds says nothing of <>"

  private val cases: Map[Int, Case] = Map(
    1 -> Case(notIn, "20-25-BJ.csv"),
    2 -> Case(notNull("temp") +: Seq(0.1, 1.1, 2.2).map(isNotTemp)).sound(Within),
    3 -> Case(Seq(FilterApi.eq(where.long("timestamp"), micros("2018-02-17T11:49:46Z"))), "c000.csv"),
    5 -> Case(Seq(FilterApi.gt(where.long("timestamp"), micros("2018-02-18T10:10:10Z"))), "c001.csv"),
    7 -> Case(Seq(where.text("account_name").above("qqq")), "c000.csv"),
    8 -> Case(Seq(where.text("account_name").in("f6d"))),
    9 -> Case(above("salary", 9000)),
    10 -> Case(above("temp", 10)).sound(OnlyNulls),
    11 -> Case(above("temp", -5)).sound(OnlyNulls),
    12 -> Case(isH, First, Second),
    13 -> Case(isH, First, Second),
    14 -> Case(isH ++ above("temp", 10), First, Second),
    15 -> Case(isH ++ above("temp", 10), First, Second),
    16 -> Case(isH, First, Second),
    17 -> Case(Seq(isTemp(21.1)), First, Second),
    18 -> Case(Seq(FilterApi.eq(where.int("num"), Int.box(21))), First, Second),
    19 -> Case(Seq(address.isNotNull, letters), "20-25-BJ.csv", "20-33-JH.csv"),
    20 -> Case(Seq(address.isNotNull, letters), "20-25-BJ.csv", "20-33-JH.csv"),
    21 -> Case(temp(0, 10), Second, Third),
    23 -> Case(temp(0, 10), Second, Third),
    24 -> Case(temp(0, 10), Second, Third),
    25 -> Case(
      Seq(FilterApi.or(address.in("H"), FilterApi.lt(where.double("temp"), Double.box(11.1)))),
      Third
    ),
    26 -> Case(Seq(FilterApi.lt(where.double("temp"), Double.box(10.1))), Second, Third),
    27 -> Case(Seq(isTemp(0.1)), Second, Third),
    28 -> Case(Seq(FilterApi.ltEq(where.double("temp"), Double.box(10.1))), Third),
    33 -> Case(Seq(address.isNotNull, address.in(long)), "10-23-HT.csv", "20-25-BJ.csv"),
    34 -> Case(
      Seq(address.isNotNull, address.in("Jerusalem")) ++ temp(0, 15),
      "10-23-HT.csv",
      "20-25-BJ.csv",
      "20-33-JH.csv"
    ),
    36 -> Case(Seq(FilterApi.ltEq(where.double("temp"), Double.box(10.1))), Third),
    37 -> Case(notIn, "20-25-BJ.csv")
  )

  for (version <- 1 to 4)
    table.test(s"the stores of version $version are read, and skip what they prove") { root =>
      val found = cases.map { case (id, query) =>
        id -> skipped(read(root, version, id), types, query.conditions: _*)
      }
      // By id and name, so that differences are easy to see.
      def lines(all: Map[Int, Set[String]]) =
        all.toSeq.sortBy(_._1).map { case (id, names) => s"$id: ${names.toSeq.sorted.mkString(", ")}" }
      assertEquals(lines(found), lines(cases.map { case (id, query) => id -> query.skipped }))
    }

  table.test("every version says the same of the same data") { root =>
    def plain(version: Int, id: Int) =
      read(root, version, id).map(row => row.id.path -> shown(row).toSet).toSet
    cases.keys.foreach(id => (2 to 4).foreach(version => assertEquals(plain(version, id), plain(1, id))))
  }

  table.test("values of all kinds are those that Spark wrote") { root =>
    val both = read(root, 4, 34).map(row => row.id.path.split('/').last -> shown(row).toMap).toMap
    assertEquals(
      both("10-23-HT.csv"),
      Map[String, Any](
        "valuelist address" -> Set("Telaviv", "Haifa"),
        "minmax temp" -> (("10.1", "22.2"))
      )
    )
    val times = read(root, 2, 5).map(row => shown(row).head._2).toSet
    assertEquals(
      times,
      Set[Any](
        ("2018-02-28T02:06:43Z", "2018-02-28T02:06:43Z"),
        ("2018-02-17T00:03:32Z", "2018-02-17T11:49:46Z")
      )
    )
    assertEquals(read(root, 1, 13).map(shown(_).head._2).toSet, Set[Any](14977))
    assertEquals(
      read(root, 4, 1).map(_.id).toSet,
      Set("20-33-JH", "20-25-BJ", "10-23-HT").map { name =>
        FileId(
          None,
          s"/tmp/xskipper_version_tests/input_datasets/vallist1/initial/csv/date=2018-05-21/$name.csv",
          1620676090000L
        )
      }
    )
  }

  private def read(root: LocalPath, version: Int, id: Int): Seq[StoreRow] = {
    val store = Files.createTempDirectory(root, "store")
    val fixture = Paths.get(getClass.getResource(s"/xskipper/version-$version/$id.parquet").toURI)
    Files.copy(fixture, store.resolve("part-0.parquet"))
    val (rows, problems) = rowsOf(store)
    assertEquals(problems, Nil)
    assert(rows.nonEmpty)
    rows
  }
}

object StoreFixturesSuite {
  private val First = "0-3-JTH.csv"
  private val Second = "10-23-JT.csv"
  private val Third = "20-33-HT.csv"

  private final case class Case(conditions: Seq[FilterPredicate], skipped: Set[String]) {

    /** @param why no file is skipped that Xskipper skips */
    def sound(why: String): Case = {
      require(why.nonEmpty)
      this
    }
  }

  private object Case {
    def apply(conditions: Seq[FilterPredicate], skipped: String*): Case = Case(conditions, skipped.toSet)
  }
}
