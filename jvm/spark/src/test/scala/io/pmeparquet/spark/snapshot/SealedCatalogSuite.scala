package io.pmeparquet.spark.snapshot

import java.nio.file.{Path, Paths}

import io.pmeparquet.spark.SealedSuite
import io.pmeparquet.Condition.{BadOption, SnapshotMismatch, SnapshotNotAuthentic}

/** Sealed tables of the session catalog. */
class SealedCatalogSuite extends SealedSuite {
  private val everyone = range(20)
  private val byPartition = "PARTITIONED BY (country)"

  private def clause(more: (String, String)*) = {
    val pairs = (("footerKey" -> "footer") +: more).map { case (name, value) => s"'$name' '$value'" }
    s"USING `pme-parquet` OPTIONS (${pairs.mkString(", ")})"
  }

  /** A table of 20 people at the target, which is not sealed. */
  private def create(partitions: String = "", more: Seq[(String, String)] = Nil): Path = {
    setOptions(kms)
    byCountry().createOrReplaceTempView("people")
    spark.sql(
      s"CREATE TABLE sealed ${clause(more: _*)} $partitions LOCATION '$target' AS SELECT * FROM people"
    )
    Paths.get(target)
  }

  /** The ids of the table's rows, as the storage now has them. */
  private def read(condition: String = "true", table: String = "sealed"): Seq[Long] = {
    spark.catalog.refreshTable(table)
    ids(spark.table(table).where(condition))
  }

  /** Five more people in the directory, behind the catalog. */
  private def more(partitions: String*) = plant(byCountry(20, 5), partitions = partitions)

  for ((name, partitions) <- Seq("plain" -> "", "partitioned" -> byPartition))
    test(s"a sealed table is read, and what is inserted is sealed along: $name") {
      create(partitions)
      assertEquals(seal(indexes = minMax("id")).rows, 20L)
      setOptions(required)
      assertEquals(read(), everyone)
      assertEquals(read("country = 'fr'"), everyone.filter(_ % 3 == 1))
      assertEquals(filesRead(spark.table("sealed").where("id > 100")), 0)
      assertEquals(spark.sql("SELECT id FROM sealed WHERE id < 5").count(), 5L)
      spark.sql("INSERT INTO sealed SELECT id + 100, country FROM people WHERE id < 2")
      assertEquals((versions(), read()), (Seq(1L, 2L), everyone ++ Seq(100L, 101L)))
      more((if (partitions.isEmpty) Nil else Seq("country")): _*)
      for (condition <- Seq("true", "country = 'fr'"))
        refused(SnapshotMismatch, "is not in the list")(read(condition))
    }

  test("a managed table is sealed by its directory") {
    setOptions(kms)
    byCountry().write.format("pme-parquet").options(footer).saveAsTable("sealed")
    val described = spark.sql("DESCRIBE EXTENDED sealed").where("col_name = 'Location'").head().getString(1)
    val place = described.stripPrefix("file:")
    assertEquals(seal(described).rows, 20L)
    assertEquals(read(), everyone)
    delete(files(place).head)
    refused(SnapshotMismatch, "it is missing")(read())
  }

  test("a partition that the catalog gets is refused, and one that it dropped is not missed") {
    val place = create(byPartition)
    seal()
    copy(place.resolve("country=fr"), place.resolve("country=xx"))
    // The catalog does not list it.
    assertEquals(read(), everyone)
    spark.sql("ALTER TABLE sealed ADD PARTITION (country = 'xx')")
    refused(SnapshotMismatch, "country=xx", "is not in the list")(read())
    Seq("xx", "fr").foreach(one => spark.sql(s"ALTER TABLE sealed DROP PARTITION (country = '$one')"))
    assertEquals(read().size, 13)
  }

  test("a partition at another place is refused") {
    val place = create(byPartition)
    seal()
    val elsewhere = directory.resolve("elsewhere")
    copy(place.resolve("country=fr"), elsewhere)
    spark.sql(s"ALTER TABLE sealed PARTITION (country = 'fr') SET LOCATION '$elsewhere'")
    refused(SnapshotMismatch)(read())
    setOptions(Map("minSnapshot" -> "1"))
    refused(SnapshotMismatch)(read())
    setOptions(required)
    refused(SnapshotMismatch)(read())
  }

  for (
    (name, changes) <- Seq(
      "twice" -> Seq("ADD PARTITION (country = 'zz') LOCATION '{}/country=de'"),
      "exchanged" -> Seq(
        "PARTITION (country = 'de') SET LOCATION '{}/country=fr'",
        "PARTITION (country = 'fr') SET LOCATION '{}/country=de'"
      )
    )
  ) test(s"a catalog gives no partition the values of another: $name") {
    create(byPartition)
    seal()
    assertEquals(read(), everyone)
    changes.foreach(change => spark.sql(s"ALTER TABLE sealed ${change.replace("{}", target)}"))
    for (condition <- Seq("true", "country IN ('fr', 'zz')")) refused(SnapshotMismatch)(read(condition))
  }

  test("files of a listed partition are missed") {
    val french = create(byPartition).resolve("country=fr")
    seal()
    files(french.toString).foreach(delete)
    refused(SnapshotMismatch, "country=fr", "it is missing")(read())
    delete(french)
    refused(SnapshotMismatch, "country=fr", "it is missing")(read())
  }

  test("a table does not say how it is sealed") {
    create()
    seal()
    for (
      (option, value) <- Seq(
        "snapshot" -> "off",
        "verifyKey" -> "file:/keys/signer.pem",
        "signingKey" -> "signer"
      )
    ) {
      spark.sql(s"CREATE TABLE other_$option (id LONG) ${clause(option -> value)} LOCATION '$target'")
      refused(BadOption, option)(read(table = s"other_$option"))
    }
  }

  test("a table states the least version of its snapshot") {
    refused(SnapshotMismatch, "the table has no snapshot", "minSnapshot")(
      create(more = Seq("minSnapshot" -> "2"))
    )
    save(byCountry())
    val columns = "(id LONG, country STRING)"
    spark.sql(s"CREATE TABLE sealed $columns ${clause("minSnapshot" -> "2")} LOCATION '$target'")
    refused(SnapshotMismatch, "the table has no snapshot", "minSnapshot")(read())
    seal()
    refused(SnapshotNotAuthentic, "it is version 1", "minSnapshot=2")(read())
    seal()
    assertEquals(read(), everyone)
    // The session's own value counts, and the table must not state another.
    setOptions(Map("minSnapshot" -> "3"))
    refused(BadOption, "minSnapshot")(read())
    setOptions(Map("minSnapshot" -> "2"))
    assertEquals(read(), everyone)
  }

  test("a session that requires snapshots refuses a table without one") {
    create()
    setOptions(required)
    refused(SnapshotMismatch, "has no snapshot", "require")(read())
  }

  test("a table may store that its writes seal it") {
    setOptions(kms)
    val stored = footer ++ Map("snapshot" -> "update", "path" -> target)
    byCountry().write.format("pme-parquet").options(stored).saveAsTable("sealed")
    spark.sql("INSERT INTO sealed SELECT id + 100, country FROM sealed")
    assertEquals(versions(), Seq(1L, 2L))
    assertEquals(read().size, 40)
    setOptions(required)
    assertEquals(read().size, 40)
    delete(snapshotsOf())
    refused(SnapshotMismatch)(read())
  }

  test("a stream of a table reads by its snapshot") {
    create()
    seal()
    def run() = drained(spark.readStream.table("sealed"), None)
    assertEquals(run(), everyone)
    more()
    refused(SnapshotMismatch)(run())
  }
}
