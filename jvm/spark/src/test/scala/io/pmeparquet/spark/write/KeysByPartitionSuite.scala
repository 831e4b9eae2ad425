package io.pmeparquet.spark.write

import java.nio.file.{Files, Paths, StandardCopyOption}

import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.columns.KeyTemplate
import io.pmeparquet.spark.admin.{KeysOfFiles, TableCopies, WritePlan}
import io.pmeparquet.spark.keys.KeyGuard
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{AadPrefix, BadOption, KeyDenied, KeyMetadata, KeyNotFound, Unsupported}

/** Names of keys are templates over partition columns: each file has the keys of its partition, and no reader takes others. */
class KeysByPartitionSuite extends SparkSuite {
  private val templates = Map("footerKey" -> "t-{tenant}", "columnKeys" -> "pii-{country}: ssn")
  private val all = kms ++ templates

  private def rowsOf: DataFrame = people.selectExpr(
    "*",
    "concat('c', id % 3) AS tenant",
    "CASE WHEN id % 2 = 0 THEN 'DE' ELSE 'FR' END AS country"
  )

  private def partitioned(
      frame: DataFrame,
      options: Map[String, String],
      mode: String = "error",
      path: String = target
  ): Unit =
    frame.write
      .format("pme-parquet")
      .options(options)
      .mode(mode)
      .partitionBy("tenant", "country")
      .save(path)

  private def table(): Unit = copied("table")(path => partitioned(rowsOf, all, path = path))

  private def expected = rows(rowsOf)
  private def found(options: Map[String, String]) =
    rows(reader(options).load(target).selectExpr(rowsOf.columns.toIndexedSeq: _*))

  private def partition(name: String) = directory.resolve("table").resolve(name)

  /** The master keys that the files of each directory name. */
  private def used: Map[String, Set[String]] =
    KeysOfFiles
      .of(spark, target, kms)
      .toSeq
      .groupBy { case (file, _) =>
        partition("").relativize(Paths.get(file).getParent).toString
      }
      .map { case (directory, files) => directory -> files.flatMap(_._2).toSet }

  private val named = (for (tenant <- 0 to 2; country <- Seq("DE", "FR"))
    yield s"tenant=c$tenant/country=$country" -> Set(s"t-c$tenant", s"pii-$country")).toMap

  private val ways: Map[String, () => Unit] = Map(
    "save" -> (() => partitioned(rowsOf, all)),
    "append" -> { () =>
      partitioned(rowsOf.where("id < 20"), all)
      partitioned(rowsOf.where("id >= 20"), all, "append")
    },
    "overwrite" -> { () =>
      partitioned(rowsOf.where("id < 20"), all)
      partitioned(rowsOf, all, "overwrite")
    },
    "overwrite of some partitions" -> { () =>
      partitioned(rowsOf, all)
      val dynamic = all + ("partitionOverwriteMode" -> "dynamic")
      partitioned(rowsOf.where("tenant = 'c1' AND country = 'FR'"), dynamic, "overwrite")
    },
    "a table of the catalog, and INSERT into one partition" -> { () =>
      rowsOf.where("tenant <> 'c0' OR country <> 'DE'").createOrReplaceTempView("source")
      rowsOf.createOrReplaceTempView("every")
      val listed = all.map { case (name, value) => s"'$name' '$value'" }.mkString(", ")
      setOptions(kms)
      spark.sql(
        s"CREATE TABLE by_key USING `pme-parquet` OPTIONS ($listed) LOCATION '$target' " +
          "PARTITIONED BY (tenant, country) AS SELECT * FROM source"
      )
      spark.sql(
        "INSERT INTO by_key PARTITION (tenant = 'c0', country = 'DE') " +
          "SELECT ssn, salary, id FROM every WHERE tenant = 'c0' AND country = 'DE'"
      )
    },
    "single wrapping" -> (() => partitioned(rowsOf, all + ("doubleWrapping" -> "false"))),
    "external material" -> (() => partitioned(rowsOf, all + ("keyMaterial" -> "external"))),
    "without planned writes" -> { () =>
      set(Map("spark.sql.optimizer.plannedWrite.enabled" -> "false"))
      partitioned(rowsOf, all)
    }
  )

  // Other suites show that a write takes these settings.
  private val settings = Set("single wrapping", "external material")

  for ((way, write) <- ways if isWhole || !settings(way))
    test(s"each file has the keys that its partition names: $way") {
      write()
      assertEquals(used, named)
      assertEquals(found(all), expected)
      assertEquals(found(kms), expected)
    }

  test("a key by bucket is the same for all values of its bucket, and binds reads") {
    val options = kms ++ Map("uniformKey" -> "t-{tenant:bucket(2)}")
    partitioned(rowsOf, options)
    assert(used.values.flatten.toSet.subsetOf(Set("t-0", "t-1")))
    assertEquals(found(options), expected)
  }

  test("direct keys are named by partitions, too") {
    val held =
      holding("t-c0", "t-c1", "t-c2", "pii-DE", "pii-FR") ++ templates + ("keyManagement" -> "direct")
    partitioned(rowsOf, held)
    assertEquals(found(held), expected)
  }

  test("a key that is missing fails a write before it deletes or writes anything, with the names") {
    table()
    val some = holding("t-c0", "t-c1", "pii-DE") ++ templates
    untouched() {
      for (mode <- Seq("append", "overwrite"))
        refused(KeyNotFound, "t-c2", "pii-FR")(partitioned(rowsOf, some, mode))
    }
    // Partitions that no row is in need no key.
    partitioned(rowsOf.where("tenant = 'c1' AND country = 'DE'"), some, "append")
  }

  test("a file in another partition's directory is refused by its key") {
    table()
    val (from, to) = (partition("tenant=c0/country=DE"), partition("tenant=c1/country=DE"))
    val moved = files().find(_.startsWith(from)).get
    Files.move(moved, to.resolve("part-moved.parquet"), StandardCopyOption.REPLACE_EXISTING)
    refused(KeyMetadata, "part-moved", "'t-c0'", "requires key 't-c1'")(reader(all).load(target).collect())
    // Queries of other partitions do not meet it.
    assertEquals(
      rows(reader(all).load(target).where("tenant = 'c2'").selectExpr(rowsOf.columns.toIndexedSeq: _*)),
      rows(rowsOf.where("tenant = 'c2'"))
    )
  }

  test("a directory that spells a value in another way is refused, whatever its key") {
    val numbers = people.selectExpr("*", "id % 3 AS tenant")
    val options = kms ++ Map("footerKey" -> "t-{tenant:bucket(4)}")
    numbers.write.format("pme-parquet").options(options).partitionBy("tenant").save(target)
    // Another tenant's key protects a directory that Spark reads as this tenant's.
    val other = (1 to 40)
      .map(n => "0" * n + "2")
      .find { text =>
        KeyTemplate.bucketOf(text, 4) == KeyTemplate.bucketOf("0", 4)
      }
      .get
    val planted = Files.createDirectories(partition(s"tenant=$other")).resolve("part-planted.parquet")
    Files.copy(files().find(_.toString.contains("tenant=0/")).get, planted)
    for (reader <- Seq("pages", "spark"))
      refused(KeyMetadata, "part-planted", "'tenant'", "read as '2'") {
        this.reader(options + ("reader" -> reader)).load(target).collect()
      }
    refused(BadOption, "scan=v2")(reader(options + ("scan" -> "v2")).load(target).collect())
  }

  test("a partition of a catalog that lies in another one's directory is refused") {
    table()
    val listed = all.map { case (name, value) => s"'$name' '$value'" }.mkString(", ")
    setOptions(kms)
    val columns = "ssn STRING, salary DOUBLE, id BIGINT, tenant STRING, country STRING"
    spark.sql(
      s"CREATE TABLE moved ($columns) USING `pme-parquet` OPTIONS ($listed) PARTITIONED BY (tenant, country) " +
        s"LOCATION '$target-empty'"
    )
    spark.sql(
      "ALTER TABLE moved ADD PARTITION (tenant = 'c1', country = 'DE') " +
        s"LOCATION '${partition("tenant=c0/country=DE")}'"
    )
    refused(KeyMetadata, "'tenant'", "read as 'c1'")(spark.table("moved").collect())
  }

  test("an overwrite with rows that a second run of the query may not have is refused") {
    table()
    val random = people.selectExpr("*", "concat('c', CAST(rand() * 3 AS INT)) AS tenant", "'DE' AS country")
    untouched() {
      refused(Unsupported, "not the same in each run")(partitioned(random, all, "overwrite"))
    }
  }

  test("names that a KMS could take for one are refused") {
    val frame = rowsOf.withColumn("tenant", expr("IF(id < 20, 'acme', 'Acme')"))
    refused(Unsupported, "differ only in case")(partitioned(frame, all))
    assert(!Files.exists(directory.resolve("table")))
  }

  test("partitions of a time zone have the names that the write gives them") {
    val times = people.selectExpr("*", "TIMESTAMP '2026-01-01 12:00:00' AS at")
    val options = kms ++ Map("footerKey" -> "t-{at:bucket(1000)}", "timeZone" -> "Asia/Tokyo")
    times.write.format("pme-parquet").options(options).partitionBy("at").save(target)
    assertEquals(reader(options).load(target).count(), 40L)
  }

  test("a footer key alone binds reads by its template") {
    table()
    refused(KeyMetadata, "requires key 'x-c")(
      reader(kms + ("footerKey" -> "x-{tenant}")).load(target).collect()
    )
  }

  test("a prefix with the partition fails a file that was moved under the same key") {
    val options = kms ++ Map("footerKey" -> "footer", "aadPrefix" -> "{table}/{partition}")
    partitioned(rowsOf, options)
    assertEquals(found(options), expected)
    val (from, to) = (partition("tenant=c0/country=DE"), partition("tenant=c1/country=DE"))
    val moved = files().find(_.startsWith(from)).get
    Files.move(moved, to.resolve("part-moved.parquet"))
    refused(AadPrefix, "part-moved")(reader(options).load(target).collect())
    assert(reader(kms).load(target).count() == 40, "without the prefix nothing binds it")
  }

  test("a write is refused whose table does not have the columns of its keys") {
    refused(BadOption, "tenant", "country", "does not have")(write(people, all))
    assert(!Files.exists(directory.resolve("table")))
    val plan = WritePlan.of(spark, rowsOf.drop("tenant").schema, Seq("country"), all)
    assert(plan.refusals.exists(_.message.contains("tenant")), plan.refusals)
    assertEquals(WritePlan.of(spark, rowsOf.schema, Seq("tenant", "country"), all).refusals, Nil)
  }

  test("a value that names no key is refused before anything is written") {
    for (
      (value, why) <- Seq("NULL" -> "NULL or empty", "''" -> "NULL or empty", "'a/b'" -> "characters other")
    )
      refused(BadOption, "column 'tenant'", why) {
        partitioned(
          rowsOf.selectExpr("ssn", "salary", "id", s"CAST($value AS STRING) AS tenant", "country"),
          all
        )
      }
    refused(BadOption, "can both have the name 't-c0'") {
      val odd = kms ++ Map("footerKey" -> "t-c0", "columnKeys" -> "t-{tenant}: ssn")
      partitioned(rowsOf, odd)
    }
    assert(!Files.exists(directory.resolve("table")))
  }

  /** A stream of the plaintext files of a directory, each batch of which has one of them. */
  private def streamed(options: Map[String, String]): Unit = spark.readStream
    .schema(rowsOf.schema)
    .option("maxFilesPerTrigger", "1")
    .parquet(s"$target-in")
    .writeStream
    .format("pme-parquet")
    .options(options)
    .partitionBy("tenant", "country")
    .option("checkpointLocation", s"$target-c")
    .trigger(Trigger.AvailableNow())
    .start(target)
    .awaitTermination()

  test("each batch of a stream gives files the keys of their partitions, and asks once for each") {
    Seq("id < 10", "id >= 10 AND id < 25", "id >= 25").foreach { some =>
      rowsOf.where(some).write.mode("append").parquet(s"$target-in")
    }
    val user = KeyGuard()
    streamed(user.options ++ templates)
    assertEquals(found(all), expected)
    assertEquals(used, named)
    assertEquals(user.wraps, (0 to 2).map(n => s"t-c$n" -> 3).toMap ++ Map("pii-DE" -> 3, "pii-FR" -> 3))
  }

  test("a batch of a stream whose key is missing adds nothing, and runs again when the key is there") {
    rowsOf.where("tenant <> 'c2'").write.parquet(s"$target-in")
    streamed(all)
    rowsOf.where("tenant = 'c2'").write.mode("append").parquet(s"$target-in")
    val user = KeyGuard().deny("t-c2")
    refused(KeyDenied, "t-c2")(streamed(user.options ++ templates))
    assertEquals(
      rows(reader(all).load(target).select("id")),
      rows(rowsOf.where("tenant <> 'c2'").select("id"))
    )
    streamed(all)
    assertEquals(found(all), expected)
  }

  test(
    "a stream whose tasks would ask the KMS for each file is refused, and so are names that differ in case only"
  ) {
    rowsOf.write.parquet(s"$target-in")
    Seq("doubleWrapping" -> "false", "kms.callFrom" -> "executor").foreach { option =>
      refused(Unsupported, "callFrom=driver")(streamed(all + option))
    }
    val alike = rowsOf.withColumn("tenant", expr("CASE WHEN id < 20 THEN 'acme' ELSE 'ACME' END"))
    alike.write.mode("overwrite").parquet(s"$target-in")
    refused(Unsupported, "small letters")(streamed(all))
  }

  test("other formats refuse templates") {
    refused(Unsupported, "pme-orc") {
      val orc = kms + ("columnKeys" -> "pii-{country}: ssn")
      rowsOf.write.format("pme-orc").options(orc).partitionBy("country").save(s"$target-orc")
    }
  }

  test("copies and encryption in place give each file the keys of its partition") {
    rowsOf.write.partitionBy("tenant", "country").parquet(s"$target-plain")
    TableCopies.encrypt(spark, s"$target-plain", target, javaOf(kms), javaOf(all))
    assertEquals(used, named)
    assertEquals(found(all), expected)
    val one = kms ++ Map("footerKey" -> "one")
    TableCopies.rekey(spark, target, s"$target-one", javaOf(kms), javaOf(one))
    TableCopies.encryptInPlace(spark, s"$target-plain", new java.util.HashMap, javaOf(all))
    assertEquals(
      rows(reader(all).load(s"$target-plain").selectExpr(rowsOf.columns.toIndexedSeq: _*)),
      expected
    )
  }

  private def javaOf(options: Map[String, String]) = {
    val made = new java.util.HashMap[String, String]
    options.foreach { case (name, value) => made.put(name, value) }
    made
  }
}
