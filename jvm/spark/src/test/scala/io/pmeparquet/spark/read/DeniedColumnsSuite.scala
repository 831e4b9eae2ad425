package io.pmeparquet.spark.read

import java.nio.file.Files

import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.functions.{expr, lit}
import org.apache.spark.sql.types._

import io.pmeparquet.spark.GuardedSuite
import io.pmeparquet.Condition.{KeyDenied, KeyNotFound}

/** `deniedColumns=null|drop`: a column whose key the KMS refuses reads as NULL, or is left out, and nothing else does. */
class DeniedColumnsSuite extends GuardedSuite {

  for (scan <- scans; batches <- Seq("true", "false"))
    test(s"refused columns read as NULL, and no others do: $scan, vectorized $batches") {
      set(Map(vectorized -> batches))
      assertEquals(rows(seen("scan" -> scan)), rows(masked))
      assertEquals(rows(reader(denied() + ("scan" -> scan)).load(guarded)), rows(expected))
    }

  for (scan <- scans)
    test(s"refused columns are left out of the schema: $scan") {
      val dropped = seen("deniedColumns" -> "drop", "scan" -> scan)
      assertEquals(
        dropped.schema.simpleString,
        "struct<id:bigint,salary:bigint,address:struct<city:string>>"
      )
      val left =
        expected.selectExpr("id", "salary", "IF(address IS NULL, NULL, struct(address.city)) AS address")
      assertEquals(rows(dropped), rows(left))
    }

  test("with a given schema, what would be left out reads as NULL") {
    val found =
      reader(denied("pii") + ("deniedColumns" -> "drop")).schema("ID bigint, Ssn string").load(guarded)
    assertEquals(rows(found), rows(expected.selectExpr("id", "CAST(NULL AS string)")))
  }

  private val selections = Seq(
    Seq("ssn"),
    Seq("address.street"),
    Seq("address.city"),
    Seq("address.street", "id"),
    Seq("phones.kind"),
    Seq("phones.number"),
    Seq("tags['key']"),
    Seq("count(ssn)", "count(*)", "count(address)"),
    Seq("max(ssn)", "min(id)", "max(id)")
  )

  for (batches <- Seq("true", "false"))
    test(s"a selection reads what it would over NULLs: vectorized $batches") {
      set(Map(vectorized -> batches))
      val frame = seen()
      for (selected <- selections) {
        // `phones.kind` is not refused, and neither is the list of it alone.
        val over = if (selected == Seq("phones.kind")) expected else masked
        assertEquals(rows(frame.selectExpr(selected: _*)), rows(over.selectExpr(selected: _*)), selected)
      }
      val places = Seq("ssn", "_metadata.row_index", "_metadata.file_block_start")
      val over = reader(denied()).load(guarded).withColumn("ssn", lit(null))
      assertEquals(rows(frame.selectExpr(places: _*)), rows(over.selectExpr(places: _*)))
    }

  for (scan <- scans)
    test(s"footers do not answer aggregates of refused columns: $scan") {
      set(Map("spark.sql.parquet.aggregatePushdown" -> "true"))
      val asked = Seq("max(ssn)", "min(ssn)", "count(ssn)", "count(*)", "max(id)")
      assertEquals(
        rows(seen("scan" -> scan).selectExpr(asked: _*)),
        rows(masked.selectExpr(asked: _*))
      )
      val allowed = reader(denied() + ("scan" -> scan)).load(guarded)
      assertEquals(rows(allowed.selectExpr(asked: _*)), rows(expected.selectExpr(asked: _*)))
    }

  test("groups of a refused column are one where conditions see NULLs, and are refused otherwise") {
    refused(KeyDenied, "'ssn'", "'pii'")(seen().groupBy("ssn").count().collect())
    assertEquals(rows(seen(lenient).groupBy("ssn").count()), Seq("[null,40]"))
  }

  for (batches <- Seq("true", "false"))
    test(s"a default of the definition does not replace a refused column: vectorized $batches") {
      set(Map(vectorized -> batches))
      val default = new MetadataBuilder()
        .putString("EXISTS_DEFAULT", "'default'")
        .putString("CURRENT_DEFAULT", "'default'")
        .build()
      val schema = new StructType()
        .add("id", LongType)
        .add("ssn", StringType, nullable = true, default)
        .add("absent", StringType, nullable = true, default)
      val found = reader(denied("pii") + lenient).schema(schema).load(guarded)
      assertEquals(found.select("ssn", "absent").collect().toSet, Set(Row(null, "default")))
      assertEquals(found.where("ssn = 'default'").count(), 0L)
      assertEquals(found.where("ssn IS NULL AND id > 20").count(), 19L)
    }

  test("columns that are found by number are masked") {
    def schema(names: String*) =
      StructType(names.zip(Seq(LongType, StringType)).zipWithIndex.map { case ((name, kind), at) =>
        val number = new MetadataBuilder().putLong("parquet.field.id", at + 1L).build()
        StructField(name, kind, nullable = true, number)
      })
    set(Seq("read", "write").map(way => s"spark.sql.parquet.fieldId.$way.enabled" -> "true").toMap)
    val written = spark.createDataFrame(content.select("id", "ssn").rdd, schema("id", "ssn"))
    writeGuarded(written, target, "columnKeys" -> "pii: ssn")
    val renamed = reader(denied("pii")).schema(schema("number", "secret")).load(target)
    assertEquals(rows(renamed), rows(expected.selectExpr("id", "NULL")))
    refused(KeyDenied, "'ssn'")(renamed.where("secret IS NULL").collect())
  }

  test("partitions are pruned as ever") {
    val parted = content.withColumn("part", expr("id % 3"))
    parted.write
      .format("pme-parquet")
      .partitionBy("part")
      .options(kms ++ protection + ("columnKeys" -> "pii: ssn"))
      .save(target)
    val left = expected.withColumn("part", expr("id % 3")).withColumn("ssn", lit(null)).where("part = 1")
    assertEquals(rows(reader(denied("pii")).load(target).where("part = 1")), rows(left))
  }

  test("buckets of a refused column are not believed") {
    // Our writes refuse buckets of a protected column, so a table's definition states them of files from elsewhere.
    writeGuarded(content.repartition(4, expr("ssn")), target, "columnKeys" -> "pii: ssn")
    for ((file, number) <- files().zipWithIndex)
      Files.move(file, file.resolveSibling(f"part-$number%05d-b_$number%05d.c000.snappy.parquet"))
    spark.sql(
      s"CREATE TABLE b (${content.schema.toDDL}) USING `pme-parquet` CLUSTERED BY (ssn) INTO 4 BUCKETS LOCATION '$target'"
    )
    setOptions(denied("pii") + lenient)
    val table = spark.table("b")
    assertEquals(table.where("ssn IS NULL").count(), 40L)
    assertEquals(rows(table.groupBy("ssn").count()), Seq("[null,40]"))
  }

  for (scan <- scans)
    test(s"masked rows can be written elsewhere: $scan") {
      seen("scan" -> scan).write.parquet(target)
      assertEquals(rows(spark.read.parquet(target)), rows(masked))
    }

  // ---- files of one table differ

  /** In one partition, `ssn` is under the refused key; in the other, it is under another one. */
  private lazy val mixed = {
    val path = directory.resolve("mixed").toString
    for ((keys, part) <- Seq("pii: ssn", "pay: ssn").zipWithIndex) {
      val half = content.select("id", "ssn").where(s"id % 2 = $part").coalesce(1)
      writeGuarded(half, s"$path/part=$part", "columnKeys" -> keys)
    }
    path
  }

  for (scan <- scans) {
    test(s"a column that some files refuse is NULL in those: $scan") {
      val mixture =
        expected.selectExpr("id", "IF(id % 2 = 0, NULL, ssn) AS ssn", "CAST(id % 2 AS int) AS part")
      for (mode <- Seq("null", "drop")) {
        val options = denied("pii") ++ Map("deniedColumns" -> mode, "scan" -> scan)
        val found = reader(options).schema("id bigint, ssn string, part int").load(mixed)
        assertEquals(rows(found), rows(mixture), mode)
      }
      val merging = denied("pii") ++ Map("deniedColumns" -> "drop", "mergeSchema" -> "true", "scan" -> scan)
      assertEquals(rows(reader(merging).load(mixed).select("id", "ssn", "part")), rows(mixture))
    }

    test(s"a condition is refused where a file refuses the column: $scan") {
      val options = denied("pii") + ("scan" -> scan)
      val table = reader(options).load(mixed)
      assertEquals(table.where("part = 1 AND ssn = 'ssn-7'").count(), 1L)
      refused(KeyDenied, "'ssn'", "'pii'", "deniedPredicates=null")(table.where("ssn = 'ssn-7'").count())
      val nulls = reader(options + lenient).load(mixed)
      assertEquals(nulls.where("ssn = 'ssn-7'").count(), 1L)
      assertEquals(nulls.where("ssn = 'ssn-6'").count(), 0L)
    }
  }

  // ---- keys that the KMS does not have

  private def three: DataFrame = spark.range(3).selectExpr("id", "'x' AS ssn", "id * 2 AS salary")

  private def writeHeld(): Unit =
    write(
      three,
      holding("footer", "pii", "pay") ++ Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn; pay: salary")
    )

  for (scan <- scans) {
    test(s"a missing key is a refusal only if the read asks for it: $scan") {
      writeHeld()
      val few = holding("footer", "pay") ++ Map("scan" -> scan, "reader" -> "pages")
      def read(options: (String, String)*) = reader(few ++ options).load(target)
      refused(KeyNotFound, "'pii'")(read().collect())
      refused(KeyNotFound, "'pii'")(read("deniedColumns" -> "null").collect())
      assertEquals(rows(read("missingKeys" -> "null")), rows(three.withColumn("ssn", lit(null))))
      assertEquals(read("missingKeys" -> "drop").columns.toSeq, Seq("id", "salary"))
      assertEquals(rows(read("missingKeys" -> "drop")), rows(three.drop("ssn")))
      refused(KeyDenied, "condition")(read("missingKeys" -> "null").where("ssn = 'x'").collect())
    }

    test(s"a denied key is no missing one: $scan") {
      for (missing <- Seq("null", "drop")) {
        val frame = seen("deniedColumns" -> "error", "missingKeys" -> missing, "scan" -> scan)
        refused(KeyDenied)(frame.collect())
        assert(frame.columns.contains("ssn"), missing)
      }
    }
  }

  test("the key of a footer must be there") {
    writeHeld()
    val options = holding("pay") ++ Map("missingKeys" -> "null", "reader" -> "pages")
    refused(KeyNotFound, "footer")(reader(options).load(target).collect())
  }
}
