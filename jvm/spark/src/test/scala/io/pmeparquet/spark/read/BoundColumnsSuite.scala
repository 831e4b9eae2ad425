package io.pmeparquet.spark.read

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroupFactory
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.MetadataBuilder
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.admin.TableCopies
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition.{BadOption, KeyMetadata, PlaintextFile, Unsupported}

/** A read that names column keys accepts no file with columns under other keys, and `pme_verify` finds such files. */
class BoundColumnsSuite extends SparkSuite {
  private val ofFooter = kms + ("footerKey" -> "footer")
  private val ways = Seq(
    Map("scan" -> "v1"),
    Map("scan" -> "v2"),
    Map("reader" -> "spark"),
    Map("reader" -> "spark", "scan" -> "v2")
  )

  // Files that somebody with the footer's key, or without any column key, may write: each with the columns that
  // `pme_verify` finds, where null is the footer, and with what is found and required.
  private val planted: Seq[(String, Map[String, String], Set[String], Seq[String])] = Seq(
    (
      "the footer's key for all",
      ofFooter,
      Set("ssn", "salary"),
      Seq("column 'ssn'", "the footer's key, 'footer'", "requires key 'pii'")
    ),
    (
      "a readable footer",
      ofFooter + ("plaintextFooter" -> "true"),
      Set("ssn", "salary"),
      Seq("column 'ssn'", "'footer'", "'pii'")
    ),
    (
      "external key material",
      ofFooter + ("keyMaterial" -> "external"),
      Set("ssn", "salary"),
      Seq("column 'ssn'", "'footer'", "'pii'")
    ),
    (
      "a plaintext column",
      ofFooter ++ Map("columnKeys" -> "pii: ssn; footer: id", "unlistedColumns" -> "plaintext"),
      Set("salary"),
      Seq("column 'salary'", "is plaintext", "columnKeys requires key 'pay'")
    ),
    (
      "another column's key",
      ofFooter + ("columnKeys" -> "pii: ssn, salary"),
      Set("salary"),
      Seq("column 'salary'", "encrypted with key 'pii'", "columnKeys requires key 'pay'")
    ),
    (
      "an unlisted column in plaintext",
      keys + ("unlistedColumns" -> "plaintext"),
      Set("id"),
      Seq("column 'id'", "is plaintext", "unlistedColumns=footerKey requires the footer's key")
    ),
    (
      "another footer key",
      keys + ("footerKey" -> "other"),
      Set[String](null),
      Seq("footer", "'other'", "footerKey requires key 'footer'")
    )
  )

  /** Appends a file to a new table, and returns its name. */
  private def plant(options: Map[String, String], frame: DataFrame = people): String = {
    write(people, keys)
    val before = files()
    frame.write.format("pme-parquet").options(options).mode("append").save(target)
    files().diff(before).head.getFileName.toString
  }

  private def load(options: Map[String, String] = Map.empty): DataFrame =
    reader(keys ++ options).schema(people.schema).load(target)

  for ((kind, options, columns, words) <- planted)
    test(s"a planted file is refused by every reader, and pme_verify finds each column of it once: $kind") {
      val file = plant(options)
      // This column is as it should be.
      for (way <- ways) refused(KeyMetadata, file +: words: _*)(load(way).select("id").collect())
      val found = verify(keys)
      assertEquals(found.map(row => (row._1, row._2)).distinct, Seq(file -> "PME_KEY_METADATA"))
      assertEquals(found.map(_._3).toSet, columns)
      assertEquals(found.size, columns.size)
      assert(found.exists(row => words.forall(row._4.contains)), found)
      // A reader that names only the KMS requires no keys; different readable columns are reported all the same.
      val expected = if (kind.contains("plaintext")) Seq("PME_PLAINTEXT_FILE") else Nil
      assertEquals(verify(kms).map(_._2).distinct, expected)
    }

  /** File, condition, column and message of what is wrong with the table. */
  private def verify(options: Map[String, String]) = {
    val listed = options.map { case (name, value) => s"'$name', '$value'" }.mkString("map(", ", ", ")")
    spark
      .sql(s"SELECT * FROM pme_verify('$target', options => $listed)")
      .select("file", "condition", "column", "message")
      .collect()
      .map(row => (row.getString(0).split('/').last, row.getString(1), row.getString(2), row.getString(3)))
      .toSeq
  }

  private val queries: Map[String, () => Any] = Map(
    "count" -> (() => reader(keys).load(target).count()),
    "filter" -> (() => reader(keys).load(target).where("id = -1").collect()),
    "denied columns" -> (() => reader(keys + ("deniedColumns" -> "null")).load(target).collect()),
    "merged schemas" -> (() => reader(keys + ("mergeSchema" -> "true")).load(target)),
    "aggregate" -> { () =>
      set(Map("spark.sql.parquet.aggregatePushdown" -> "true"))
      load().groupBy().max("id").collect()
    },
    "stream" -> { () =>
      val stream = spark.readStream.format("pme-parquet").options(keys).schema(people.schema).load(target)
      val query = stream.writeStream.format("noop").option("checkpointLocation", s"$target-c")
      query.trigger(Trigger.AvailableNow()).start().awaitTermination()
    }
  )

  for ((query, run) <- queries)
    test(s"a planted file is refused by every query: $query") {
      val file = plant(ofFooter)
      refused(KeyMetadata, file, "'pii'")(run())
    }

  test("a planted file is not copied") {
    val file = plant(ofFooter)
    untouched(s"$target-copy") {
      refused(KeyMetadata, file, "'pii'") {
        TableCopies.rekey(
          spark,
          target,
          s"$target-copy",
          keys.asJava,
          (keys + ("footerKey" -> "other")).asJava
        )
      }
    }
  }

  for (
    (kind, options) <- Seq[(String, () => Map[String, String])](
      "footer key for the rest" -> (() => keys),
      "plaintext for the rest" -> (() => keys + ("unlistedColumns" -> "plaintext")),
      "a readable footer" -> (() => keys + ("plaintextFooter" -> "true")),
      "external key material" -> (() => keys + ("keyMaterial" -> "external")),
      "single wrapping" -> (() => keys + ("doubleWrapping" -> "false")),
      "direct keys" -> (() => keys ++ holding("footer", "pii", "pay") + ("keyManagement" -> "direct")),
      "one key" -> (() => kms + ("uniformKey" -> "pii")),
      "every column listed" ->
        (() => keys ++ Map("columnKeys" -> "pii: s*; footer: id", "unlistedColumns" -> "error")),
      "columns in other letters" -> (() => keys + ("columnKeys" -> "pii: SSN; pay: Salary"))
    )
  )
    test(s"a table is read with the options that it was written with: $kind") {
      val own = options()
      write(people, own)
      for (way <- Seq(ways.head, ways(2))) assertEquals(rows(reader(own ++ way).load(target)), rows(people))
      assertEquals(verify(own), Nil)
    }

  test("a file written before a column was added is read") {
    write(people.drop("salary"), ofFooter + ("columnKeys" -> "pii: ssn"))
    people.write.format("pme-parquet").options(keys).mode("append").save(target)
    assertEquals(load().where("salary IS NULL").count(), 40L)
  }

  test("misspelt, unlisted and missing keys of columns are refused") {
    write(people, keys)
    val required = "unlistedColumns=footerKey"
    refused(KeyMetadata, "column 'salary'", "encrypted with key 'pay'", required) {
      load(Map("columnKeys" -> "pii: ssn; pay: salry")).collect()
    }
    refused(KeyMetadata, "column 'id'", "'footer'", "unlistedColumns=error") {
      load(Map("unlistedColumns" -> "error")).collect()
    }
    refused(KeyMetadata, "salary", "'pay'")(reader(ofFooter + ("columnKeys" -> "pii: ssn")).load(target))
    def uniform(key: String) = reader(kms + ("uniformKey" -> key)).load(target).collect()
    refused(KeyMetadata, "column 'ssn'", "encrypted with key 'pii'", "uniformKey requires key 'footer'") {
      uniform("footer")
    }
    refused(KeyMetadata, "footer", "uniformKey requires key 'pay'")(uniform("pay"))
    refused(BadOption, "uniformKey") {
      reader(kms ++ Map("uniformKey" -> "footer", "columnKeys" -> "pii: ssn")).load(target).collect()
    }
  }

  test("a planted column in another letter case is the same column") {
    val file = plant(ofFooter, people.withColumnRenamed("salary", "SALARY").withColumnRenamed("ssn", "sSn"))
    refused(KeyMetadata, file, "column 'sSn'", "'pii'")(load().collect())
  }

  test("a plaintext file is read where it is allowed, and has no keys to be bound to") {
    write(people, keys)
    people.write.mode("append").parquet(target)
    refused(PlaintextFile)(load().collect())
    assertEquals(load(Map("plaintextFiles" -> "allow")).count(), 80L)
  }

  test("columns that are read by number are bound to no key") {
    write(people, keys)
    val numbered = people.select(people.columns.toSeq.zipWithIndex.map { case (name, number) =>
      col(name).as(name, new MetadataBuilder().putLong("parquet.field.id", number.toLong).build())
    }: _*)
    val setting = "spark.sql.parquet.fieldId.read.enabled"
    set(Map(setting -> "true", "spark.sql.parquet.fieldId.read.ignoreMissing" -> "true"))
    for (way <- ways)
      refused(Unsupported, "columnKeys", setting) {
        reader(keys ++ way).schema(numbered.schema).load(target).collect()
      }
  }

  test("values of a map are bound whatever the file calls the map") {
    val message = MessageTypeParser.parseMessageType(
      "message m { optional group m { repeated group e { required int32 k; optional int32 v; } } }"
    )
    val conf = new Configuration(false)
    Map(
      "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
      "parquet.encryption.kms.client.class" -> classOf[TestKms].getName,
      "parquet.encryption.uniform.key" -> "footer",
      "parquet.encryption.plaintext.footer" -> "true"
    ).foreach { case (name, value) => conf.set(name, value) }
    val writer = ExampleParquetWriter
      .builder(new Path(s"$target/part-0.parquet"))
      .withType(message)
      .withConf(conf)
      .build()
    writer.write(new SimpleGroupFactory(message).newGroup())
    writer.close()
    // This field makes readers match maps by position.
    set(Map("spark.sql.parquet.enableVectorizedReader" -> "false"))
    refused(KeyMetadata, "'footer'", "columnKeys requires key 'pii'") {
      reader(ofFooter + ("columnKeys" -> "pii: m.value")).schema("m MAP<INT, INT>").load(target).collect()
    }
  }
}
