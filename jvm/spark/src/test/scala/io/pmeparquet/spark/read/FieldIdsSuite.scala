package io.pmeparquet.spark.read

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._
import org.apache.spark.sql.DataFrame

import io.pmeparquet.parquet.AlteredFile
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition.{KeyNotFound, NotAuthentic, Unsupported}

/** Columns matched by field id under other names: readers need the keys of the names in the file. */
class FieldIdsSuite extends SparkSuite {
  private val writing = Map("spark.sql.parquet.fieldId.write.enabled" -> "true")
  private val reading = Map("spark.sql.parquet.fieldId.read.enabled" -> "true")
  private val scans = Seq("v1", "v2")

  private def id(number: Long) = new MetadataBuilder().putLong("parquet.field.id", number).build()
  private def schema(columns: (String, DataType, Long)*) = StructType(columns.map { case (name, of, number) =>
    StructField(name, of, nullable = true, id(number))
  })
  private val renamed = schema(("social", StringType, 1), ("wage", DoubleType, 2), ("number", LongType, 3))

  private def numbered: DataFrame = people.select(
    Seq("ssn", "salary", "id").zipWithIndex.map { case (name, at) => col(name).as(name, id(at + 1L)) }: _*
  )

  /** Writes a table whose columns have ids, and returns the name of its file. */
  private def writeIds(): String = {
    set(writing)
    write(numbered, holding("footer", "pii", "pay") ++ (keys -- Seq("kms")))
    set(reading)
    files().head.getFileName.toString
  }

  private def read(of: StructType, scan: String, options: Map[String, String]): DataFrame =
    reader(options + ("scan" -> scan)).schema(of).load(target)

  for (scan <- scans)
    test(s"columns are read by their ids, each under the key of its name in the file: $scan") {
      val file = writeIds()
      assertEquals(rows(read(renamed, scan, holding("footer", "pii", "pay"))), rows(people))
      val limited = holding("footer", "pay")
      assertEquals(
        rows(read(renamed, scan, limited).select("wage", "number")),
        rows(people.select("salary", "id"))
      )
      refused(KeyNotFound, file, "'pii'", "ssn")(read(renamed, scan, limited).select("social").collect())
      // A schema with the name of the file's ssn for its id.
      val exchanged = schema(("ssn", LongType, 3), ("wage", DoubleType, 2))
      assertEquals(rows(read(exchanged, scan, limited)), rows(people.select("id", "salary")))
    }

  for (scan <- scans)
    test(s"a missing key is reported before a page is read: $scan") {
      val file = writeIds()
      // The pages of ssn are first in the file: if they were read before salary's key is missed, they would not open.
      (0 until 4).foreach(AlteredFile.flipInModule(files().head, _))
      val limited = read(renamed, scan, holding("footer", "pii"))
      refused(NotAuthentic, file)(limited.select("social").collect())
      refused(KeyNotFound, file, "'pay'", "salary")(limited.select("social", "wage").collect())
    }

  for (scan <- scans)
    test(s"nested fields are matched by their ids too: $scan") {
      def person(name: String, pay: String, outer: String) =
        schema((outer, schema((name, StringType, 11), (pay, DoubleType, 12)), 10))
      val frame = spark.createDataFrame(
        people.selectExpr("named_struct('name', ssn, 'pay', salary) AS person").rdd,
        person("name", "pay", "person")
      )
      set(writing)
      write(
        frame.coalesce(1),
        holding("footer", "pii", "pay") ++
          Map("footerKey" -> "footer", "columnKeys" -> "pii: person.name; pay: person.pay")
      )
      set(reading)
      // Whole structs: if Spark prunes fields within one, it loses their ids, in its own source, too.
      val other = person("social", "wage", "who")
      val whole = read(other, scan, holding("footer", "pii", "pay")).selectExpr("who.*")
      assertEquals(whole.schema.fieldNames.toSeq, Seq("social", "wage"))
      assertEquals(rows(read(other, scan, holding("footer", "pii", "pay"))), rows(frame))
      refused(KeyNotFound, files().head.getFileName.toString, "'pii'", "person.name") {
        read(other, scan, holding("footer", "pay")).collect()
      }
    }

  for (scan <- scans)
    test(s"clear levels of a column under another name are refused: $scan") {
      set(writing)
      numbered.write
        .options(
          Map(
            "parquet.crypto.factory.class" -> "org.apache.parquet.crypto.keytools.PropertiesDrivenCryptoFactory",
            "parquet.encryption.kms.client.class" -> classOf[TestKms].getName,
            "parquet.encryption.footer.key" -> "footer",
            "parquet.encryption.column.keys" -> "pii: ssn; pay: salary",
            "parquet.encryption.complete.columns" -> "true",
            "parquet.writer.version" -> "v2"
          )
        )
        .parquet(target)
      set(reading)
      refused(Unsupported, files().head.getFileName.toString, "ssn", "clearLevels=allow") {
        read(renamed, scan, kms).select("social").collect()
      }
      assertEquals(rows(read(renamed, scan, kms + ("clearLevels" -> "allow"))), rows(people))
    }

  test("without field ids, columns are matched by name") {
    val file = writeIds()
    spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    refused(KeyNotFound, file, "'pii'", "ssn") {
      read(schema(("ssn", StringType, 3)), "v1", holding("footer", "pay")).collect()
    }
  }
}
