package io.pmeparquet.spark.snapshot

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.net.URI
import java.nio.file.{Files, Path, Paths}
import java.nio.file.attribute.FileTime
import java.util.Collections

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec
import org.apache.spark.sql.execution.datasources.FilePartition
import org.apache.spark.sql.execution.FileSourceScanExec
import org.apache.spark.sql.types.{DoubleType, IntegerType, StringType, StructField, StructType}
import org.apache.spark.util.sketch.BloomFilter

import io.pmeparquet.spark.{AlteredFile, SparkSuite}
import io.pmeparquet.spark.admin.QueryStatistics
import io.pmeparquet.Condition.BadOption

/**
 * Reads skip files by a store of Xskipper: exactly those that it proves to hold no row, and rows are never lost.
 *
 * The 40 API cases of Xskipper with their data, from https://github.com/xskipper-io/xskipper, commit 3bfbeea, Apache
 * License 2.0, Copyright 2021 IBM Corp.: `src/test/resources/test_config/APITests.json` and `input_datasets`. What is
 * skipped differs where Xskipper skips a file that can hold a row for other data with the same metadata: there, `why`
 * says it.
 */
class XskipperReadsSuite extends SparkSuite {
  import XskipperReadsSuite._

  /** The files of each table that a test has written. */
  private val written = mutable.HashMap.empty[(String, String), Array[Byte]]

  /** Writes a table whose files have these names and rows, encrypted with the footer's key. */
  private def make(data: String, place: Path): Unit = {
    val (schema, contents) = Data(data)
    for ((name, rows) <- contents) {
      def made = {
        val part = s"$directory/part-$data-${name.replace('/', '-')}"
        val frame = spark.createDataFrame(java.util.Arrays.asList(rows.map(Row.fromSeq): _*), schema)
        write(frame.coalesce(1), kms + ("footerKey" -> "footer"), part)
        Files.readAllBytes(files(part).head)
      }
      val to = place.resolve(s"$name.parquet")
      Files.createDirectories(to.getParent)
      AlteredFile.replace(to, written.getOrElseUpdate((data, name), made))
    }
  }

  /** What a store calls a file: its path and modification time in milliseconds. */
  private def idOf(file: Path) = s"$file#${Files.getLastModifiedTime(file).toMillis}"

  /** Writes a store of the table's data, with indexes of a text such as `minmax temp, valuelist address`. */
  private def fill(data: String, place: Path, store: Path, indexes: String): Unit = {
    val (schema, contents) = Data(data)
    val made = indexes.split(", ").toSeq.map { text =>
      val column = text.split(' ').last
      Index(text.split(' ').head, column, schema(column).dataType.typeName)
    }
    val rows = contents.map { case (name, rows) =>
      idOf(place.resolve(s"$name.parquet")) -> made.map { index =>
        index.of(rows.map(_(schema.fieldIndex(index.column))))
      }
    }
    XskipperReadsSuite.write(store, made, rows)
  }

  private def loaded(place: Path, options: (String, String)*): DataFrame =
    reader(kms ++ options).load(place.toString)

  /** The names, below their tables, of the files that each scan of a query reads. */
  private def filesRead(frame: DataFrame): Seq[Set[String]] =
    frame.queryExecution.executedPlan.collectLeaves().map {
      case scan: BatchScanExec =>
        val parts =
          scan.batch.planInputPartitions().toSeq.collect { case part: FilePartition => part.files.toSeq }
        parts.flatten.map(file => nameOf(file.urlEncodedPath)).toSet
      case scan: FileSourceScanExec =>
        val listed = scan.relation.location.listFiles(scan.partitionFilters, scan.dataFilters)
        listed.flatMap(_.files).map(file => nameOf(file.getPath.toUri.toString)).toSet
      case other => fail(s"$other")
    }

  private def nameOf(url: String): String = {
    val path = Paths.get(URI.create(url).getPath)
    val parent = path.getParent.getFileName.toString
    (if (parent.contains("=")) s"$parent/" else "") + path.getFileName.toString.stripSuffix(".parquet")
  }

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    set(Map("spark.sql.adaptive.enabled" -> "false"))
  }

  private def table(view: String) = directory.resolve(view)
  private def store(view: String) = directory.resolve(s"store-$view")

  /** The query of a case over its tables. */
  private def query(one: Case, scan: String, withStore: Boolean): DataFrame = {
    for ((view, _, _, _) <- one.tables) {
      val named = if (withStore) Seq("xskipperStore" -> store(view).toString) else Nil
      loaded(table(view), named :+ ("scan" -> scan): _*).createOrReplaceTempView(view)
    }
    spark.sql(one.query)
  }

  /** Compares the query with and without its stores. */
  private def compare(one: Case, scan: String, skipped: Seq[Set[String]]): Unit = {
    val without = query(one, scan, withStore = false)
    val (expected, everything) = (rows(without), filesRead(without))
    val read = query(one, scan, withStore = true)
    assertEquals(rows(read), expected)
    assertEquals(filesRead(read), everything.zip(skipped).map { case (all, left) => all -- left })
  }

  for ((one, number) <- Cases.zipWithIndex)
    test(s"case ${number + 1} of Xskipper skips what its store proves") {
      for ((view, data, indexes, _) <- one.tables) {
        make(data, table(view))
        fill(data, table(view), store(view), indexes)
      }
      val skipped = one.tables.map(_._4)
      for (scan <- if (number == 0 || number == 34) Seq("v1", "v2") else Seq("v1"))
        compare(one, scan, skipped)
      for ((data, left) <- one.updated) {
        make(data, table("data"))
        for (name <- Data(data)._2.map(_._1))
          Files.setLastModifiedTime(
            table("data").resolve(s"$name.parquet"),
            FileTime.fromMillis(2000000000000L)
          )
        // The store states other times now.
        compare(one, "v1", Seq(Set.empty))
        fill(data, table("data"), store("data"), one.tables.head._3)
        compare(one, "v1", Seq(left))
      }
    }

  test("the cases are those of Xskipper") {
    assertEquals(Cases.size, 40)
    assertEquals(Cases.zipWithIndex.filter(_._1.why.nonEmpty).map(_._2 + 1), Seq(6, 10, 11, 38, 40))
  }

  // ---- the table of samples, with a store of its column temp

  private def sample(): Unit = {
    make("sample1", table("t"))
    fill("sample1", table("t"), store("t"), "minmax temp")
  }

  /** The files that a query for small temperatures reads. */
  private def small(options: (String, String)*): Set[String] = {
    val frame = loaded(table("t"), options :+ ("xskipperStore" -> store("t").toString): _*).where("temp < 10")
    assertEquals(rows(frame.select("temp")), Seq("[0.1]", "[1.1]", "[2.2]"))
    filesRead(frame).head
  }

  test("only files that are as the store states are skipped") {
    sample()
    assertEquals(small(), Set(First))
    Files.setLastModifiedTime(table("t").resolve(s"$Second.parquet"), FileTime.fromMillis(1900000000000L))
    assertEquals(small(), Set(First, Second))
    Files.move(table("t").resolve(s"$Third.parquet"), table("t").resolve("renamed.parquet"))
    assertEquals(small(), Set(First, Second, "renamed"))
  }

  test("two rows of one file must both prove it") {
    sample()
    val index = Index("minmax", "temp", "double")
    def add(file: String, part: String) = {
      val id = idOf(table("t").resolve(s"$file.parquet"))
      XskipperReadsSuite.write(store("t"), Seq(index), Seq(id -> Seq(Bounds(1.0, 2.0))), part)
    }
    add(Third, "part-1.parquet")
    assertEquals(small(), Set(First, Third))
    // In whichever order they come.
    add(Second, "part-0-first.parquet")
    assertEquals(small(), Set(First, Second, Third))
  }

  test("a store that is damaged or missing costs skipping and no row") {
    sample()
    val part = store("t").resolve("part-0.parquet")
    AlteredFile.replace(part, AlteredFile.bytes("PAR1 and no more"))
    assertEquals(small(), Set(First, Second, Third))
    allFiles("store-t").foreach(Files.delete(_))
    Files.delete(store("t"))
    assertEquals(small(), Set(First, Second, Third))
  }

  test("a read that accepts only what is signed uses no store") {
    sample()
    val signed = Map("xskipperStore" -> store("t").toString, "verifyKey" -> "file:/keys/signer.pem")
    for (scan <- Seq("v1", "v2")) {
      refused(BadOption, "xskipperStore and verifyKey", "not signed", "snapshot=off") {
        // With a schema, no file is opened before.
        val typed = reader(kms ++ signed + ("scan" -> scan)).schema("temp double")
        typed.load(table("t").toString).where("temp < 10").collect()
      }
      setOptions(Map("verifyKey" -> signed("verifyKey")))
      assertEquals(small("scan" -> scan, "snapshot" -> "off"), Set(First))
      spark.conf.unset("spark.datasource.pme-parquet.verifyKey")
    }
  }

  test("a type that has changed proves nothing") {
    make("texts", table("t"))
    val ids = Seq("one", "two").map(name => idOf(table("t").resolve(s"$name.parquet")))
    XskipperReadsSuite.write(
      store("t"),
      Seq(Index("minmax", "temp", "integer")),
      ids.map(_ -> Seq(Bounds(1, 2)))
    )
    val frame = loaded(table("t"), "xskipperStore" -> store("t").toString).where("temp = '9'")
    assertEquals(frame.count(), 1L)
    assertEquals(filesRead(frame), Seq(Set("one", "two")))
  }

  test("a table cannot name a store, and a session can") {
    sample()
    setOptions(kms)
    spark.sql(
      s"CREATE TABLE stored USING `pme-parquet` OPTIONS (xskipperStore '${store("t")}') LOCATION '${table("t")}'"
    )
    refused(BadOption, "xskipperStore")(spark.table("stored").collect())
    setOptions(Map("xskipperStore" -> store("t").toString))
    val frame = loaded(table("t")).where("temp < 10")
    assertEquals(frame.count(), 3L)
    assertEquals(filesRead(frame), Seq(Set(First)))
  }

  for (scan <- Seq("v1", "v2"))
    test(s"a sealed table is skipped by its own indexes and by a store: $scan") {
      sample()
      spark
        .sql(
          s"SELECT * FROM pme_seal('${table("t")}', options => map('kms', '${kms("kms")}'), expect => 'unsealed', min_max => array('lat'))"
        )
        .collect()
      val frame =
        loaded(table("t"), "xskipperStore" -> store("t").toString, "scan" -> scan).where("temp < 10")
      assertEquals(frame.count(), 3L)
      assertEquals(filesRead(frame), Seq(Set(First)))
      val counted = QueryStatistics.json(frame)
      val skipped = """"skippedBy":[{"kind":"minMax","column":["temp"],"files":2}]"""
      Seq("\"version\":1", "\"files\":3", "\"filesRead\":1", skipped).foreach { part =>
        assert(counted.contains(part), counted)
      }
    }
}

private object XskipperReadsSuite {
  val First = "0-3-JTH"
  val Second = "10-23-JT"
  val Third = "20-33-HT"
  private val (ht, bj, jh) =
    ("date=2018-05-21/10-23-HT", "date=2018-05-21/20-25-BJ", "date=2018-05-21/20-33-JH")
  private val long = "Jerusale" + "m" * 244 + "zzzz"

  private def schema(fields: (String, org.apache.spark.sql.types.DataType)*) =
    StructType(fields.map { case (name, kind) => StructField(name, kind) })
  private val samples =
    schema("temp" -> DoubleType, "lat" -> DoubleType, "address" -> StringType, "comments" -> StringType)
  private val numbered = samples.add("num", IntegerType)
  private val listed = schema("temp" -> DoubleType, "address" -> StringType, "comments" -> StringType)
  private val dated = schema("date" -> StringType, "account_name" -> StringType)
  private val paid = dated.add("salary", DoubleType)

  private def row(values: Any*): Seq[Any] = values
  type Contents = Seq[(String, Seq[Seq[Any]])]
  private val one: Seq[Seq[Any]] =
    Seq(row(0.1, 12.1, "J", "X3"), row(1.1, 12.2, "T", "Y3"), row(2.2, 12.3, "H", "Z3"))
  private val two: Seq[Seq[Any]] =
    Seq(row(10.1, 13.1, "J", "X1"), row(11.1, 13.2, "T", "Y1"), row(22.2, 13.3, "J", "Z1"))
  private val three: Seq[Seq[Any]] =
    Seq(row(20.1, 13.1, "F", "X"), row(21.1, 13.1, "T", "Y"), row(32.2, 13.1, "T", "Z"))
  private def ofThree(a: Seq[Seq[Any]], b: Seq[Seq[Any]], c: Seq[Seq[Any]]): Contents =
    Seq(First -> a, Second -> b, Third -> c)

  val Data: Map[String, (StructType, Contents)] = Map(
    "sample1" -> (samples -> ofThree(one, two, three)),
    "sample1 updated" -> (samples -> ofThree(
      one,
      row(null, 13.1, "J", "X1") +: two.tail,
      row(9.1, 13.1, "H", "X") +: three.tail
    )),
    "sample1Multiple" -> (samples -> ofThree(
      Seq(row(0.1, 12.1, "J2", "X3"), row(1.1, 12.2, "T2", "Y3"), row(2.2, 12.3, "H2", "Z3")),
      two,
      row(20.1, 13.1, "H", "X") +: three.tail
    )),
    "sample1Na" -> (samples -> ofThree(
      Seq(row(null, 12.1, "J", "X3"), row(1.1, 12.2, "T", "Y3"), row(2.2, null, null, "Z3")),
      two.take(2) :+ row(null, 13.3, "J", "Z1"),
      row(20.1, 13.1, "H", "X") +: three.tail
    )),
    "sample1Na updated" -> (samples -> ofThree(
      one,
      row(8.1, 13.1, "J", "X1") +: two.tail,
      Seq(row(20.1, 13.1, "H", "X"), row(null, 13.1, "T", "Y"), row(null, 13.1, "T", "Z"))
    )),
    "sample1Na2" -> (numbered -> ofThree(
      Seq(
        row(null, 12.1, "J", "X3", null),
        row(null, 12.2, "T", "Y3", null),
        row(null, null, null, "Z3", null)
      ),
      Seq(
        row(10.1, 13.1, null, "X1", 11),
        row(11.1, 13.2, null, "Y1", 12),
        row(null, 13.3, null, "Z1", null)
      ),
      Seq(row(20.1, 13.1, "H", "X", 20), row(21.1, 13.1, "T", "Y", 21), row(32.2, 13.1, "T", "Z", 32))
    )),
    "vallist1" -> (listed -> Seq(
      ht -> Seq(row(10.1, "Haifa", "X"), row(11.1, "Telaviv", "Y"), row(22.2, "Haifa", "Z")),
      bj -> Seq(row(20.0, "Jerusalem", "X"), row(21.1, "Batyam", "Y"), row(25.0, "Jerusalem", "Z")),
      jh -> Seq(
        row(20.1, "Jerusalem", "X"),
        row(21.1, "Haifa", "Y"),
        row(32.2, "Jerusalem", "Z"),
        row(32.2, long, "Z")
      )
    )),
    "dates" -> (dated -> Seq(
      "c000" -> Seq(row("2018-02-27", "int"), row("2018-02-28", "f6d")),
      "c001" -> Seq(row("2018-02-17", "9a9"), row("2018-02-17", "b20"), row("2018-02-16", "zhe"))
    )),
    "empty" -> (paid -> Seq(
      "c000" -> Seq(row("2018-02-27", "int", 9000.5), row("2018-02-28", "f6d", 25000.9)),
      "c001" -> Nil
    )),
    "texts" -> (schema("temp" -> StringType) -> Seq("one" -> Seq(row("9")), "two" -> Seq(row("10"))))
  )

  /**
   * A query over tables.
   *
   * @param tables each view with its data, its indexes, and the files that the query does not read
   * @param updated other data for the same query, and the files that it does not read then
   */
  final case class Case(
      query: String,
      tables: Seq[(String, String, String, Set[String])],
      updated: Option[(String, Set[String])] = None,
      why: String = ""
  )

  private val within = "a value between the bounds says nothing of <>"
  private val nulls = "null bounds do not say that all values are null: a file with only NaN has them, too"
  private val nan = "bounds from footers leave out NaN, which is greater than all numbers"
  private val between = "temp BETWEEN 0 AND 10"
  private val letters = ("Telaviv" +: ('a' to 'p').map(_.toString)).map(text => s"'$text'").mkString(", ")

  private def of(data: String, indexes: String, condition: String, skipped: String*): Case =
    Case(s"SELECT * FROM data WHERE $condition", Seq(("data", data, indexes, skipped.toSet)))
  private val ofBoth = Seq("a" -> "sample1", "b" -> "sample1Multiple").map { case (view, data) =>
    (view, data, "minmax temp", Set(Second, Third))
  }

  val Cases: Seq[Case] = Seq(
    of("vallist1", "minmax temp", "temp IN (10, 12, 11)", bj, jh),
    of("sample1", "minmax temp", "temp IN (1.1, 32.2)", Second),
    of(
      "vallist1",
      "minmax temp",
      "temp IN (10, 10.1, 10.2, 10.3, 10.4, 10.15, 10.25, 10.22, 10.5, 11, 12, 10.9)",
      bj,
      jh
    ),
    of("vallist1", "minmax temp", s"temp IN (${(100 to 201).mkString(",")})", ht, bj, jh),
    of("vallist1", "valuelist address", "address NOT IN ('Jerusalem', 'Batyam')", bj),
    of("sample1", "minmax temp", "temp <> 0.1 AND temp <> 1.1 AND temp <> 2.2").copy(why = within),
    of("dates", "minmax account_name", "account_name > 'qqq'", "c000"),
    // These tables have a file without rows, which Xskipper does not list.
    of("empty", "valuelist account_name", "account_name IN ('f6d')"),
    of("empty", "minmax salary", "salary > 9000"),
    of("sample1Na2", "minmax temp", "temp > 10").copy(why = nulls),
    of("sample1Na2", "minmax temp", "temp > -5").copy(why = nulls),
    of("sample1Na2", "valuelist address", "address IN ('H')", First, Second),
    of("sample1Na2", "bloomfilter address", "address IN ('H')", First, Second),
    of("sample1Na2", "minmax temp, valuelist address", "address IN ('H') AND temp > 10", First, Second),
    of("sample1Na2", "bloomfilter address, minmax temp", "address IN ('H') AND temp > 10", First, Second),
    of("sample1Na", "valuelist address", "address IN ('H')", First, Second),
    of("sample1", "valuelist temp", "temp IN (21.1)", First, Second),
    of("sample1Na2", "bloomfilter num", "num IN (21)", First, Second),
    of("vallist1", "valuelist address", s"address IN ($letters)", bj, jh),
    of("vallist1", "bloomfilter address", s"address IN ($letters)", bj, jh),
    of("sample1Na", "minmax temp", between, Second, Third),
    of("sample1", "minmax temp", between, Second, Third)
      .copy(updated = Some("sample1 updated" -> Set(Second))),
    of("sample1", "minmax temp", between, Second, Third)
      .copy(updated = Some("sample1Na updated" -> Set(Third))),
    of("sample1", "minmax temp", between, Second, Third),
    // With a slash behind the path, in Xskipper's.
    of("sample1", "minmax temp", between, Second, Third)
      .copy(query = s"SELECT address FROM data WHERE $between"),
    of("sample1", "valuelist address, minmax temp", "address IN ('H') OR temp < 11.1", Third),
    of("sample1", "minmax temp", "temp < 10.1", Second, Third),
    of("sample1", "minmax temp", "temp = 0.1", Second, Third),
    of("sample1", "minmax temp", "temp <= 10.1", Third),
    of("vallist1", "valuelist address", s"address IN ('$long')", bj, ht),
    of(
      "vallist1",
      "valuelist address, minmax temp",
      "address IN ('Jerusalem') AND temp BETWEEN 0 AND 15",
      jh,
      bj,
      ht
    ),
    of("sample1", "minmax temp", "tEmP <= 10.1", Third),
    Case("SELECT * FROM a WHERE temp < 10 UNION ALL SELECT * FROM b WHERE temp < 5", ofBoth),
    Case("SELECT a.*, b.* FROM a JOIN b ON a.temp = b.temp WHERE a.temp < 10 AND b.temp < 9.5", ofBoth),
    of("sample1", "minmax temp, valuelist address", "address = 'J' OR temp < 2", Third),
    of("sample1", "minmax temp", "address = 'J' OR temp < 2"),
    of("sample1", "minmax temp, valuelist address", "(address = 'J' OR temp < 2) OR temp > 20"),
    of("sample1", "minmax temp, valuelist address", "(comments = 'J' AND temp < 2) OR temp > 30")
      .copy(why = nan),
    of("sample1", "minmax temp, valuelist address", "NOT (comments = 'J' AND temp < 2) OR temp > 30"),
    of("sample1", "minmax temp, valuelist address", "NOT ((comments = 'J' AND temp < 2) OR temp <= 30)")
      .copy(why = nan)
  )

  // ---- stores of version 4, from the specification

  final case class Bounds(least: Any, greatest: Any)

  /** @param kind of an index, of a column of this type in Spark */
  final case class Index(kind: String, column: String, of: String) {
    def field: String = s"${column}_${kind}_${column.length}"

    private def parquet = Map("double" -> "double", "string" -> "binary", "integer" -> "int32")(of)
    private def text = if (of == "string") " (STRING)" else ""

    def inParquet: String = kind match {
      case "minmax" => s"optional group $field { optional $parquet min$text; optional $parquet max$text; }"
      case "valuelist" =>
        s"optional group $field (LIST) { repeated group list { optional $parquet element$text; } }"
      case _ => s"optional binary $field;"
    }

    def inSpark: String = {
      val kindOf = kind match {
        case "minmax" =>
          val bounds =
            Seq("min", "max").map(name => s"""{"name":"$name","type":"$of","nullable":true,"metadata":{}}""")
          s"""{"type":"struct","fields":[${bounds.mkString(",")}]}"""
        case "valuelist" => s"""{"type":"array","elementType":"$of","containsNull":true}"""
        case _ =>
          val name =
            "io.xskipper.metadatastore.parquet.ParquetBaseClauseTranslator$BloomFilterMetaDataTypeUDT"
          s"""{"type":"udt","class":"$name","pyClass":null,"sqlType":"binary"}"""
      }
      val parameters =
        if (kind == "bloomfilter")
          ""","params":{"io.xskipper.index.bloom.fpp":"0.01","io.xskipper.index.bloom.ndv":"100"}"""
        else ""
      s"""{"name":"$field","type":$kindOf,"nullable":true,"metadata":{"index":{"cols":["$column"],"name":"$kind"$parameters}}}"""
    }

    /** What the index says of a file's values, as Xskipper collects it. */
    def of(values: Seq[Any]): Any = {
      val known = values.filter(_ != null)
      def sorted = known.sortWith {
        case (one: String, other: String) => one < other
        case (one, other) => one.asInstanceOf[Number].doubleValue < other.asInstanceOf[Number].doubleValue
      }
      if (values.isEmpty) null
      else
        kind match {
          case "minmax" => Bounds(sorted.headOption.orNull, sorted.lastOption.orNull)
          case "valuelist" => sorted.distinct
          case _ => bloom(known)
        }
    }
  }

  private def bloom(values: Seq[Any]): Array[Byte] = {
    // Spark 4.1 and later make filters of version 2 unless asked.
    val filter = classOf[BloomFilter].getMethods.find(method =>
      method.getName == "create" && method.getParameterCount == 4
    ) match {
      case Some(create) =>
        val first =
          java.lang.reflect.Array.get(create.getParameterTypes.head.getMethod("values").invoke(null), 0)
        val bits = BloomFilter.create(100L, 0.01).bitSize()
        create.invoke(null, first, Long.box(100), Long.box(bits), Int.box(0)).asInstanceOf[BloomFilter]
      case None => BloomFilter.create(100L, 0.01)
    }
    values.foreach {
      case text: String => filter.putString(text)
      case number: Number => filter.putLong(number.longValue)
      case other => throw new IllegalArgumentException(other.toString)
    }
    val out = new ByteArrayOutputStream
    filter.writeTo(out)
    serialized(out.toByteArray)
  }

  /** An object as Java writes it, by the protocol's description. */
  private def serialized(filter: Array[Byte]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    def description(name: String, flags: Int, fields: Int): Unit = {
      out.writeByte(0x72)
      out.writeUTF(name)
      out.writeLong(1)
      out.writeByte(flags)
      out.writeShort(fields)
    }
    def reference(name: String, of: String): Unit = {
      out.writeByte('L')
      out.writeUTF(name)
      out.writeByte(0x74)
      out.writeUTF(s"Lorg/apache/spark/util/sketch/$of;")
    }
    out.writeInt(0xaced0005)
    out.writeByte(0x73)
    description("io.xskipper.index.metadata.BloomFilterMetaData", 2, 1)
    reference("bloomFilter", "BloomFilter")
    out.writeByte(0x78)
    description("io.xskipper.index.metadata.MetadataType", 2, 0)
    Seq(0x78, 0x70, 0x73).foreach(out.writeByte(_))
    description("org.apache.spark.util.sketch.BloomFilterImpl", 3, 2)
    out.writeByte('I')
    out.writeUTF("numHashFunctions")
    reference("bits", "BitArray")
    Seq(0x78, 0x70).foreach(out.writeByte(_))
    filter.grouped(1024).foreach { block =>
      out.writeByte(0x7a)
      out.writeInt(block.length)
      out.write(block)
    }
    out.writeByte(0x78)
    bytes.toByteArray
  }

  def write(
      store: Path,
      indexes: Seq[Index],
      rows: Seq[(String, Seq[Any])],
      name: String = "part-0.parquet"
  ): Unit = {
    val id =
      """{"name":"obj_name","type":"string","nullable":false,"metadata":{"version":4,"tableIdentifier":"t"}}"""
    val json = s"""{"type":"struct","fields":[${(id +: indexes.map(_.inSpark)).mkString(",")}]}"""
    val schema = MessageTypeParser.parseMessageType(
      s"message spark_schema { required binary obj_name (STRING); ${indexes.map(_.inParquet).mkString(" ")} }"
    )
    Files.createDirectories(store)
    Files.deleteIfExists(store.resolve(name))
    Files.deleteIfExists(store.resolve(s".$name.crc"))
    val groups = new SimpleGroupFactory(schema)
    val out = ExampleParquetWriter
      .builder(new HadoopPath(store.resolve(name).toUri))
      .withConf(new Configuration(false))
      .withType(schema)
      .withExtraMetaData(Collections.singletonMap("org.apache.spark.sql.parquet.row.metadata", json))
      .build()
    def append(group: org.apache.parquet.example.data.Group, field: String, value: Any): Unit = value match {
      case null => ()
      case text: String => group.add(field, text)
      case number: Double => group.add(field, number)
      case number: Int => group.add(field, number)
      case bytes: Array[Byte] => group.add(field, Binary.fromConstantByteArray(bytes))
      case Bounds(least, greatest) =>
        val bounds = group.addGroup(field)
        append(bounds, "min", least)
        append(bounds, "max", greatest)
      case some: Seq[_] =>
        val list = group.addGroup(field)
        some.foreach(one => append(list.addGroup("list"), "element", one))
      case other => throw new IllegalArgumentException(other.toString)
    }
    rows.foreach { case (file, said) =>
      val row = groups.newGroup().append("obj_name", file)
      indexes.zip(said).foreach { case (index, value) => append(row, index.field, value) }
      out.write(row)
    }
    out.close()
  }
}
