package io.pmeparquet.spark.write

import java.net.URI
import java.nio.file.{Files, Path}

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.internal.io.HadoopMapReduceCommitProtocol
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.functions.{col, concat, lit}
import org.apache.spark.sql.streaming.Trigger

import io.pmeparquet.columns.{KeyTemplate, KeyValues}
import io.pmeparquet.parquet.scope.Scopes
import io.pmeparquet.parquet.write.FileEncryption
import io.pmeparquet.spark.admin.{Compaction, KeyUsage, KeysOfFiles, TableCopies, Verification, WritePlan}
import io.pmeparquet.spark.admin.recovery.Recovery
import io.pmeparquet.spark.keys.KeyGuard
import io.pmeparquet.spark.options.ResolvedOptions
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{BadOption, KeyDenied, KeyMetadata, KeyNotFound, Unsupported}

/**
 * Names of keys are templates over columns that are no partition columns: files are cut at their values, state them, and no
 * query sees rows of other values.
 */
class KeysByColumnSuite extends SparkSuite {
  private val templates = Map("footerKey" -> "t-{tenant}", "columnKeys" -> "pii-{tenant}: ssn")
  private val all = kms ++ templates

  private def rowsOf: DataFrame =
    people.selectExpr("*", "concat('c', id % 3) AS tenant", "IF(id % 2 = 0, 'DE', 'FR') AS country")

  private def saved(frame: DataFrame, options: Map[String, String], mode: String = "error"): Unit =
    frame.write.format("pme-parquet").options(options).mode(mode).save(target)

  private def table(options: Map[String, String]): Unit =
    copied(options)(rowsOf.write.format("pme-parquet").options(options).save(_))

  private def expected = rows(rowsOf)
  private def found(options: Map[String, String]) =
    rows(reader(options).load(target).selectExpr(rowsOf.columns.toIndexedSeq: _*))

  /** The master keys that a file names. */
  private def keysOf(file: Path): Set[String] =
    KeyUsage.of(spark, file.toString, kms).select("master_key").collect().map(_.getString(0)).toSet

  private def rowsIn(file: Path): Seq[Row] =
    reader(kms).load(file.toString).select("tenant").collect().toSeq.distinct

  private def requireCut(): Unit = {
    val keys = KeysOfFiles.of(spark, target, kms)
    assertEquals(keys.keySet, files().map(_.toString).toSet)
    val found = reader(kms).load(target).select("_metadata.file_path", "tenant").collect().toSeq
    val tenants = found.groupBy(row => new URI(row.getString(0)).getPath).map { case (file, some) =>
      file -> some.map(_.getString(1)).distinct
    }
    assert(tenants.nonEmpty && tenants.values.forall(_.size == 1), tenants)
    val named = tenants.map { case (file, tenant) => file -> Set(s"t-${tenant.head}", s"pii-${tenant.head}") }
    assertEquals(keys, named)
  }

  private val ways: Map[String, () => Unit] = Map(
    "save" -> (() => saved(rowsOf, all)),
    "append" -> { () =>
      saved(rowsOf.where("id < 20"), all)
      saved(rowsOf.where("id >= 20"), all, "append")
    },
    "overwrite" -> { () =>
      saved(rowsOf.where("id < 20"), all)
      saved(rowsOf, all, "overwrite")
    },
    "beside a partition column, and overwrite of some partitions" -> { () =>
      def partitioned(frame: DataFrame, options: Map[String, String], mode: String) =
        frame.write.format("pme-parquet").options(options).mode(mode).partitionBy("country").save(target)
      partitioned(rowsOf, all, "error")
      partitioned(rowsOf.where("country = 'FR'"), all + ("partitionOverwriteMode" -> "dynamic"), "overwrite")
      assertEquals(files().size, 6)
    },
    "a table of the catalog, and INSERT" -> { () =>
      rowsOf.where("id < 20").createOrReplaceTempView("some")
      rowsOf.where("id >= 20").createOrReplaceTempView("others")
      val listed = all.map { case (name, value) => s"'$name' '$value'" }.mkString(", ")
      setOptions(kms)
      spark.sql(
        s"CREATE TABLE by_key USING `pme-parquet` OPTIONS ($listed) LOCATION '$target' AS SELECT * FROM some"
      )
      spark.sql("INSERT INTO by_key SELECT * FROM others")
    },
    "files of few rows" -> (() => saved(rowsOf, all + ("maxRecordsPerFile" -> "5"))),
    "single wrapping" -> (() => saved(rowsOf, all + ("doubleWrapping" -> "false"))),
    "external material, and a prefix with the file's name" -> { () =>
      saved(rowsOf, all ++ Map("keyMaterial" -> "external", "aadPrefix" -> "{path}/{file}"))
    },
    "batches of a stream" -> { () =>
      Seq("id < 10", "id >= 10 AND id < 25", "id >= 25").foreach { some =>
        rowsOf.where(some).write.mode("append").parquet(s"$target-in")
      }
      val write = (batch: Dataset[Row], _: Long) => saved(batch, all, "append")
      streamed.writeStream.foreachBatch(write).trigger(Trigger.AvailableNow()).start().awaitTermination()
    }
  )

  private def streamed =
    spark.readStream.schema(rowsOf.schema).option("maxFilesPerTrigger", "1").parquet(s"$target-in")

  for ((way, write) <- ways)
    test(s"each file has the rows and the keys of one value: $way") {
      write()
      requireCut()
      assertEquals(found(all), expected)
      assertEquals(found(kms), expected)
    }

  test("a task writes one file for each value, sorted, and keeps the order that rows have") {
    saved(rowsOf.repartition(1).sortWithinPartitions("salary"), all)
    assertEquals(files().size, 3)
    files().foreach { file =>
      val salaries = reader(kms).load(file.toString).select("salary").collect().map(_.getDouble(0)).toSeq
      assertEquals(salaries, salaries.sorted)
    }
  }

  test("values of one bucket share a file and its key") {
    val options = kms ++ Map("uniformKey" -> "t-{tenant:bucket(2)}")
    val many = people.selectExpr("*", "concat('c', id % 10) AS tenant")
    saved(many.repartition(1), options)
    assertEquals(files().size, 2)
    files().foreach { file =>
      val buckets = rowsIn(file).map(row => s"t-${KeyTemplate.bucketOf(row.getString(0), 2)}").toSet
      assertEquals(keysOf(file), buckets)
    }
    assertEquals(rows(reader(options).load(target)), rows(many))
    // A file that states a bucket does not say which value it has.
    refused(KeyMetadata, "column 'tenant'")(reader(all).load(target).collect())
  }

  test("numbers, dates and truth values name keys as their texts") {
    val frame = people.selectExpr(
      "*",
      "id % 2 AS n",
      "date_add(DATE '2026-01-30', CAST(id % 2 AS INT)) AS day",
      "id % 2 = 0 AS even"
    )
    val options = kms ++ Map("footerKey" -> "t-{n}_{day}_{even}")
    saved(frame, options)
    assertEquals(files().flatMap(keysOf).toSet, Set("t-0_2026-01-30_true", "t-1_2026-01-31_false"))
    for (vectorized <- Seq("true", "false")) {
      set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized))
      assertEquals(rows(reader(options).load(target)), rows(frame))
    }
  }

  test("a key that is missing fails a write before it deletes or writes anything, with the names") {
    table(all)
    val some = holding("t-c0", "t-c1", "pii-c0") ++ templates
    untouched() {
      for (mode <- Seq("append", "overwrite"))
        refused(KeyNotFound, "t-c2", "pii-c1", "pii-c2")(saved(rowsOf, some, mode))
    }
    saved(rowsOf.where("tenant = 'c0'"), some, "append")
  }

  test("a plan has no objection, and a value is what it is") {
    assertEquals(WritePlan.of(spark, rowsOf.schema, Nil, all).refusals, Nil)
    val odd = rowsOf.withColumn("tenant", concat(lit("$"), lit("{user.name}"), col("tenant")))
    val options = kms ++ Map("footerKey" -> "t-{tenant:bucket(2)}")
    saved(odd, options)
    assertEquals(rows(reader(options).load(target)), rows(odd))
    refused(BadOption, "characters other")(saved(odd, all))
  }

  test("the KMS is asked once for each key") {
    val user = KeyGuard()
    saved(rowsOf.repartition(3), user.options ++ templates)
    assertEquals(user.wraps, (0 to 2).flatMap(n => Seq(s"t-c$n" -> 1, s"pii-c$n" -> 1)).toMap)
  }

  test("a reader with some keys reads the files of those with deniedFiles=skip") {
    table(all)
    val user = KeyGuard().deny("t-c1", "t-c2")
    refused(KeyDenied, "t-c")(reader(user.options ++ templates).load(target).collect())
    val skips = user.options ++ templates + ("deniedFiles" -> "skip")
    assertEquals(
      rows(reader(skips).load(target).selectExpr(rowsOf.columns.toIndexedSeq: _*)),
      rows(rowsOf.where("tenant = 'c0'"))
    )
  }

  test("a condition on the column leaves out no file that a read without it refuses") {
    val uniform = (text: String) => kms + ("uniformKey" -> text)
    val bolt = 1 - KeyTemplate.bucketOf("c0", 2)
    for (
      (writes, reads, condition) <- Seq(
        (all, KeyGuard().deny("t-c1").options ++ templates, KeyDenied),
        (uniform("t-{tenant:bucket(2)}"), uniform("t-{tenant:bucket(4)}"), KeyMetadata),
        (uniform("t-{tenant:bucket(2)}"), uniform("t-{tenant}"), KeyMetadata),
        (uniform(s"t-$bolt"), uniform("t-{tenant:bucket(2)}"), KeyMetadata)
      )
    ) {
      saved(rowsOf, writes, "overwrite")
      val read = reader(reads).schema(rowsOf.schema).load(target)
      for (where <- Seq("tenant = 'c0'", "tenant IN ('c0')", "id > 3 AND tenant <=> 'c0'"))
        refused(condition)(read.where(where).collect())
    }
  }

  // Attacks: somebody has a key of his own, and write access to the storage.

  private val fileSchema = MessageTypeParser.parseMessageType(
    "message spark_schema { optional binary ssn (STRING); optional double salary; optional int64 id; " +
      "optional binary tenant (STRING); optional binary country (STRING); }"
  )

  /** A file under a key, with a row of these tenants, that states what its writer likes. */
  private def forged(key: String, stated: Option[String], tenants: String*): Unit = {
    val conf = new Configuration
    val settings = ResolvedOptions.ofFrame(spark, kms ++ Map("uniformKey" -> key)).writeSettings
    val path = new HadoopPath(s"$target/part-forged.parquet")
    val properties = FileEncryption.of(Scopes.forWrite(settings, target, conf), path, fileSchema, conf)
    Files.deleteIfExists(directory.resolve("table/part-forged.parquet"))
    val writer = ExampleParquetWriter
      .builder(path)
      .withType(fileSchema)
      .withEncryption(properties)
      .withExtraMetaData(stated.map(KeyValues.Entry -> _).toMap.asJava)
      .build()
    val group = new SimpleGroupFactory(fileSchema)
    tenants.foreach { tenant =>
      val row = group.newGroup().append("ssn", "0").append("salary", 1.0).append("id", 99L)
      writer.write((if (tenant == null) row else row.append("tenant", tenant)).append("country", "DE"))
    }
    writer.close()
  }

  private val byTenant = kms ++ Map("footerKey" -> "t-{tenant}", "columnKeys" -> "t-{tenant}: ssn")

  /** Each query; in `make test`, all but the first by one of Spark's readers, in turn. */
  private def everyRead(options: Map[String, String], turn: Int = 0)(check: (=> Any) => Unit): Unit =
    for (vectorized <- Seq(true, false); (query, at) <- queries.zipWithIndex)
      if (isWhole || at == 0 || ((at + turn) % 2 == 0) == vectorized) {
        set(Map("spark.sql.parquet.enableVectorizedReader" -> vectorized.toString))
        check(query(reader(options).schema(rowsOf.schema).load(target)).collect())
      }

  private val queries = Seq[DataFrame => DataFrame](
    identity,
    _.select("tenant"),
    _.where("tenant <> 'c2'"),
    _.where("tenant <= 'c1'").select("ssn"),
    _.where("id = 99").select("tenant"),
    _.groupBy("tenant").count()
  )

  test("rows of another value than the one that names a file's key are refused") {
    table(byTenant)
    forged("t-c1", Some("""{"tenant":"c1"}"""), "c1", "c0")
    everyRead(byTenant)(refused(KeyMetadata, "part-forged", "'tenant'", "another value")(_))
    refused(KeyMetadata, "another value")(
      reader(byTenant).load(target).where("tenant = 'c0'").select("id").collect()
    )
    forged("t-c1", Some("""{"tenant":"c1"}"""), "c1", null)
    refused(KeyMetadata, "another value")(reader(byTenant).load(target).collect())
    // A row in its own tenant's file is what the holder of that key may write.
    forged("t-c1", Some("""{"tenant":"c1"}"""), "c1")
    assertEquals(reader(byTenant).load(target).where("tenant = 'c1'").count(), 14L)
  }

  test("a file that states another value than its key has is refused") {
    table(byTenant)
    forged("t-c1", Some("""{"tenant":"c0"}"""), "c0")
    // Without the template of a column, only the footer's key is compared.
    for ((options, turn) <- Seq(byTenant, byTenant - "columnKeys").zipWithIndex)
      everyRead(options, turn)(refused(KeyMetadata, "part-forged", "'t-c1'", "requires key 't-c0'")(_))
  }

  test("a file that states nothing, too much, or what nobody can read is refused") {
    table(byTenant)
    forged("t-c1", None, "c0")
    everyRead(byTenant)(refused(KeyMetadata, "part-forged", "column 'tenant'")(_))
    forged("t-c1", Some("""{"tenant":"c1","TENANT":"c0"}"""), "c0")
    refused(KeyMetadata, "part-forged")(reader(byTenant).load(target).collect())
    for (text <- Seq("""{"tenant":["c1"]}""", """["c1"]""", "c1", "", """{"tenant":"c1"} {}""")) {
      forged("t-c1", Some(text), "c1")
      refused(io.pmeparquet.Condition.DamagedFile, "part-forged", KeyValues.Entry)(
        reader(byTenant).schema(rowsOf.schema).load(target).collect()
      )
    }
  }

  test("a file under a key that no value names is refused before the KMS is asked") {
    table(byTenant)
    forged("other", Some("""{"tenant":"c1"}"""), "c1")
    val user = KeyGuard().deny("other")
    refused(KeyMetadata, "part-forged", "'other'", "requires key 't-{tenant}'")(
      reader(user.options ++ byTenant.filterNot(_._1 == "kms")).schema(rowsOf.schema).load(target).collect()
    )
  }

  test("rows outside of the bucket that a file states are refused") {
    val options = kms ++ Map("uniformKey" -> "t-{tenant:bucket(2)}")
    saved(rowsOf, options)
    val (own, other) = (0L to 9L).map(n => s"c$n").partition(KeyTemplate.bucketOf(_, 2) == 1)
    forged("t-1", Some("""{"tenant:bucket(2)":"1"}"""), own.head, other.head)
    everyRead(options, turn = 1)(refused(KeyMetadata, "part-forged", "another value")(_))
    for (number <- Seq("01", "3", "x", "")) {
      forged("t-1", Some(s"""{"tenant:bucket(2)":"$number"}"""), own.head)
      refused(KeyMetadata, "part-forged")(reader(options).schema(rowsOf.schema).load(target).collect())
    }
  }

  test("a plaintext file is refused where templates name columns, even if others are allowed") {
    table(byTenant)
    rowsOf.where("id = 1").coalesce(1).write.mode("append").parquet(target)
    val allows = byTenant + ("plaintextFiles" -> "allow")
    refused(KeyMetadata, "column 'tenant'")(reader(allows).load(target).collect())
  }

  test("Spark's own reader, and a directory that has the value, too, are refused") {
    table(all)
    refused(Unsupported, "reader=spark")(reader(all + ("reader" -> "spark")).load(target).collect())
    refused(BadOption, "scan=v2")(reader(all + ("scan" -> "v2")).load(target).collect())
    val into = Files.createDirectories(directory.resolve("parts/tenant=c0"))
    Files.copy(files().find(keysOf(_)("t-c0")).get, into.resolve("part-0.parquet"))
    refused(KeyMetadata, "column 'tenant'")(reader(all).load(directory.resolve("parts").toString).collect())
    refused(Unsupported, "one value of it")(
      rowsOf.write.format("pme-parquet").options(all).save(s"$target-b/tenant=c0")
    )
  }

  test("writes that nobody knows how to cut are refused") {
    refused(BadOption, "city", "does not have")(saved(rowsOf, kms ++ Map("footerKey" -> "t-{city}")))
    for (
      (value, why) <- Seq("NULL" -> "NULL or empty", "''" -> "NULL or empty", "'a/b'" -> "characters other")
    ) {
      val odd = rowsOf.selectExpr("ssn", "salary", "id", s"CAST($value AS STRING) AS tenant", "country")
      refused(BadOption, "column 'tenant'", why)(saved(odd, all))
      if (why.startsWith("NULL"))
        refused(BadOption, why, "{tenant:bucket(4)}", "give them one") {
          saved(odd, kms ++ Map("footerKey" -> "t-{tenant:bucket(4)}"))
        }
    }
    refused(Unsupported, "type double")(saved(rowsOf, kms ++ Map("footerKey" -> "t-{salary}")))
    refused(Unsupported, "columnKeys", "each file states")(
      saved(rowsOf, kms ++ Map("footerKey" -> "t-{tenant}", "columnKeys" -> "pii: ten*"))
    )
    refused(BadOption, "plaintextFooter")(saved(rowsOf, all + ("plaintextFooter" -> "true")))
    refused(Unsupported, "seal")(saved(rowsOf, all + ("snapshot" -> "update")))
    refused(Unsupported, "CLUSTERED BY") {
      rowsOf.write
        .format("pme-parquet")
        .options(all)
        .option("path", target)
        .bucketBy(2, "id")
        .saveAsTable("bucketed")
    }
    refused(Unsupported, "example.Committer")(
      saved(rowsOf, all + ("spark.sql.parquet.output.committer.class" -> "example.Committer"))
    )
    for (
      (setting, value) <- Seq(
        "spark.sql.maxConcurrentOutputFileWriters" -> "2",
        "spark.sql.optimizer.plannedWrite.enabled" -> "false"
      )
    ) {
      set(Map(setting -> value))
      refused(Unsupported, setting) {
        rowsOf.write.format("pme-parquet").options(all).partitionBy("country").save(target)
      }
      spark.conf.unset(setting)
    }
    val protocol = classOf[HadoopMapReduceCommitProtocol].getName
    set(Map("spark.sql.sources.commitProtocolClass" -> protocol))
    refused(Unsupported, protocol)(saved(rowsOf, all))
    assert(!Files.exists(directory.resolve("table")))
  }

  test("a stream's own sink is refused, and other formats are") {
    rowsOf.write.parquet(s"$target-in")
    refused(Unsupported, "foreachBatch") {
      streamed.writeStream
        .format("pme-parquet")
        .options(all)
        .option("checkpointLocation", s"$target-c")
        .trigger(Trigger.AvailableNow())
        .start(target)
        .awaitTermination()
    }
    refused(Unsupported, "pme-orc")(
      rowsOf.write.format("pme-orc").options(kms + ("columnKeys" -> "pii-{tenant}: ssn")).save(s"$target-orc")
    )
  }

  test("files of one value are merged, and verify finds nothing; of several values they are not") {
    saved(rowsOf.repartition(4), all)
    val before = files().size
    assertEquals(Verification.verify(spark, target, all).findings.count(), 0L)
    Compaction.compact(spark, target, all)
    assertEquals(files().size, 3, s"of $before")
    requireCut()
    assertEquals(found(all), expected)
  }

  private def javaOf(options: Map[String, String]) = new java.util.HashMap[String, String](options.asJava)

  test("a recovery under the templates is refused, whatever else a file has, and without them works") {
    saved(rowsOf.repartition(1), all)
    val broken = files().sortBy(_.toString).head
    val bytes = Files.readAllBytes(broken)
    Files.write(broken, bytes.updated(bytes.length - 20, (bytes(bytes.length - 20) ^ 1).toByte))
    Files.deleteIfExists(broken.resolveSibling(s".${broken.getFileName}.crc"))
    val to = kms + ("uniformKey" -> "k")
    def recover(options: Map[String, String]) = Recovery
      .recover(spark, target, s"$target-r", javaOf(options), javaOf(to), "rows", false, null, null)
    refused(Unsupported, "a recovery", "nothing would compare its rows")(recover(all))
    assert(!Files.exists(directory.resolve("table-r")))
    assertEquals(recover(kms).lostFiles, 1L)
    assertEquals(reader(to).load(s"$target-r").select("tenant").collect().toSet.size, 2)
  }

  test("plaintext files, which state nothing, are not encrypted in place or copied") {
    rowsOf.write.parquet(s"$target-plain")
    refused(KeyMetadata, "column 'tenant'") {
      TableCopies.encrypt(spark, s"$target-plain", target, javaOf(kms), javaOf(all))
    }
    refused(KeyMetadata, "column 'tenant'") {
      TableCopies.encryptInPlace(spark, s"$target-plain", new java.util.HashMap, javaOf(all))
    }
  }
}
