package io.pmeparquet.spark.rules

import java.nio.file.{Files, Paths}

import org.apache.spark.sql.catalyst.DataSourceOptions
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.options.TellingOptions
import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition.BadOption

/** Options of ours for another format: a write is refused before anything is deleted, a read warns. */
class OtherFormatsSuite extends SparkSuite with EachSpark {
  private val options = kms + ("footerKey" -> "footer")
  private val clause = options.map { case (name, value) => s"'$name' '$value'" }.mkString(", ")

  private def writer(mode: String) = people.write.options(options).mode(mode)

  private val byPath: Map[String, () => Any] = Map(
    "parquet()" -> (() => writer("overwrite").parquet(target)),
    "save()" -> (() => writer("overwrite").save(target)),
    "append" -> (() => writer("append").parquet(target)),
    "ignore" -> (() => writer("ignore").parquet(s"$target-2")),
    "error" -> (() => writer("error").parquet(s"$target-2")),
    "csv" -> (() => writer("overwrite").csv(target)),
    "orc" -> (() => writer("overwrite").format("ORC").save(target)),
    "class" -> (() => writer("overwrite").format("org.apache.spark.sql.parquet").save(target)),
    "partitions" -> (() => writer("overwrite").partitionBy("ssn").parquet(target)),
    "noop" -> (() => writer("overwrite").format("noop").save()),
    "jdbc" -> (() =>
      writer("error").format("jdbc").option("url", "jdbc:nothing:x").option("dbtable", "t").save()
    ),
    "directory" -> (() =>
      spark.sql(s"INSERT OVERWRITE DIRECTORY '$target' USING parquet OPTIONS ($clause) SELECT 1 AS id")
    )
  )

  for ((name, run) <- byPath)
    test(s"a write of another format is refused and nothing is lost: $name") {
      write(people, options)
      untouched(directory.toString)(
        refused(BadOption, "options (footerKey, kms)", "format(\"pme-parquet\")")(run())
      )
    }

  private val intoTables: Map[String, () => Any] = Map(
    "saveAsTable" -> (() => writer("error").saveAsTable("t")),
    "bucketBy" -> (() => writer("error").bucketBy(2, "id").saveAsTable("t")),
    "CREATE TABLE" -> (() => spark.sql(s"CREATE TABLE t (id INT) USING parquet OPTIONS ($clause)")),
    "CTAS" -> (() => spark.sql(s"CREATE TABLE t USING parquet OPTIONS ($clause) AS SELECT 1 AS id")),
    "writeTo" -> (() => people.writeTo("t").using("parquet").options(options).create())
  )

  for ((name, run) <- intoTables)
    test(s"a table of another format is refused: $name") {
      refused(BadOption, "footerKey", "'parquet'")(run())
      assert(!spark.catalog.tableExists("t"))
    }

  test("an append to a table of another format is refused") {
    // Spark drops the options if the table exists.
    people.write.saveAsTable("t")
    refused(BadOption, "footerKey", "'parquet'")(writer("append").saveAsTable("t"))
    assertEquals(spark.table("t").count(), 40L)
  }

  test("another spelling of an option is refused too") {
    for (
      name <- Seq(
        "FOOTERKEY",
        "footerkey",
        "ColumnKeys",
        "KMS.keystore.path",
        "parquet.encryption.footer.key"
      )
    )
      refused(BadOption, "'parquet'")(people.write.option(name, "footer").parquet(target))
    assert(!Files.exists(Paths.get(target)))
  }

  test("options of a view are checked when it is written to") {
    spark.range(1).write.parquet(target)
    spark.sql(
      s"CREATE TEMPORARY VIEW v (id BIGINT) USING parquet OPTIONS (path '$target', footerKey 'footer')"
    )
    untouched()(refused(BadOption, "footerKey")(spark.range(1).write.insertInto("v")))
  }

  test("a stream into another format is refused, and so is a batch of a stream") {
    spark.range(3).write.parquet(s"$target-in")
    def stream = spark.readStream.schema("id BIGINT").parquet(s"$target-in").writeStream
    for (sink <- Seq("parquet", "json", "noop", "console")) {
      val started = stream.format(sink).options(options).option("checkpointLocation", s"$target-$sink-c")
      refused(BadOption, "footerKey") {
        started.trigger(Trigger.AvailableNow()).start(s"$target-$sink").awaitTermination()
      }
      assertEquals(allFiles(s"$target-$sink"), Nil)
    }
    var looked = Seq.empty[Long]
    val batch: (DataFrame, Long) => Unit = { (frame, _) =>
      refused(BadOption, "'parquet'")(frame.write.options(options).parquet(target))
      looked :+= frame.count()
    }
    val query = stream.foreachBatch(batch).option("checkpointLocation", s"$target-c")
    query.trigger(Trigger.AvailableNow()).start().awaitTermination()
    assertEquals(looked, Seq(3L))
    assert(!Files.exists(Paths.get(target)))
  }

  test("settings of the session do not count as options of a write") {
    setOptions(options)
    people.write.option("compression", "gzip").option("header", "true").parquet(target)
    assertEquals(files().size, 1)
  }

  test("built-in encryption with its crypto factory is left alone") {
    val javas = Map(
      "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
      "parquet.encryption.kms.client.class" -> classOf[TestKms].getName,
      "parquet.encryption.uniform.key" -> "footer",
      "parquet.encryption.key.access.token" -> directory.toString
    )
    people.write.options(javas).parquet(target)
    assertEquals(files().map(file => new String(Files.readAllBytes(file).take(4), "UTF-8")), Seq("PARE"))
    refused(BadOption, "footerKey") {
      people.write.options(javas).option("footerKey", "footer").mode("overwrite").parquet(target)
    }
  }

  test("every name of our format is recognized") {
    setOptions(kms)
    for (name <- Seq("PME-Parquet", "io.pmeparquet.spark.PmeDataSource")) {
      people.write.format(name).options(options).mode("overwrite").save(target)
      assertEquals(rows(reader(kms).load(target)), rows(people))
      people.write.format(name).options(options).mode("overwrite").saveAsTable("t")
      assertEquals(rows(spark.table("t")), rows(people))
    }
  }

  test("no option of Spark's own formats is mistaken for one of ours") {
    // Spark does not open both to other packages.
    for (owner <- Seq("csv.CSVOptions", "json.JSONOptions")) {
      val found = Class.forName(s"org.apache.spark.sql.catalyst.$owner$$").getField("MODULE$").get(null)
      val names = found.asInstanceOf[DataSourceOptions].getAllOptions
      assert(names.exists(_.contains("encoding")))
      assertEquals(TellingOptions.among(names, parquetEncrypts = false), Nil)
    }
  }
}
