package io.pmeparquet.spark.read

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.types._
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{AlteredFile, SparkSuite}
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition.{KeyNotFound, NotAuthentic, Unsupported}

/** Columns matched by field id under other names: readers need the keys of the names in the file. */
class FieldIdsSuite extends SparkSuite {
  private val writing = Map("spark.sql.parquet.fieldId.write.enabled" -> "true")
  private val reading = Map("spark.sql.parquet.fieldId.read.enabled" -> "true")
  private val ways =
    for (scan <- Seq("v1", "v2"); reader <- Seq("pages", "spark"))
      yield Map("scan" -> scan, "reader" -> reader)

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

  private def read(of: StructType, way: Map[String, String], options: Map[String, String]): DataFrame =
    reader(options ++ way).schema(of).load(target)

  for (way <- ways)
    test(
      s"columns are read by their ids, each under the key of its name in the file: ${way.values.mkString(", ")}"
    ) {
      val file = writeIds()
      assertEquals(rows(read(renamed, way, holding("footer", "pii", "pay"))), rows(people))
      val limited = holding("footer", "pay")
      assertEquals(
        rows(read(renamed, way, limited).select("wage", "number")),
        rows(people.select("salary", "id"))
      )
      refused(KeyNotFound, file, "'pii'", "ssn")(read(renamed, way, limited).select("social").collect())
      // A schema with the name of the file's ssn for its id.
      val exchanged = schema(("ssn", LongType, 3), ("wage", DoubleType, 2))
      assertEquals(rows(read(exchanged, way, limited)), rows(people.select("id", "salary")))
    }

  for (way <- ways)
    test(s"a missing key is reported before a page is read: ${way.values.mkString(", ")}") {
      val file = writeIds()
      // The pages of ssn are first in the file: if they were read before salary's key is missed, they would not open.
      (0 until 4).foreach(AlteredFile.flipInModule(files().head, _))
      val limited = read(renamed, way, holding("footer", "pii"))
      refused(NotAuthentic, file)(limited.select("social").collect())
      refused(KeyNotFound, file, "'pay'", "salary")(limited.select("social", "wage").collect())
    }

  for (way <- ways)
    test(s"nested fields are matched by their ids too: ${way.values.mkString(", ")}") {
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
      val whole = read(other, way, holding("footer", "pii", "pay")).selectExpr("who.*")
      assertEquals(whole.schema.fieldNames.toSeq, Seq("social", "wage"))
      assertEquals(rows(read(other, way, holding("footer", "pii", "pay"))), rows(frame))
      refused(KeyNotFound, files().head.getFileName.toString, "'pii'", "person.name") {
        read(other, way, holding("footer", "pay")).collect()
      }
    }

  for (way <- ways)
    test(s"clear levels of a column under another name are refused: ${way.values.mkString(", ")}") {
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
        read(renamed, way, kms).select("social").collect()
      }
      assertEquals(rows(read(renamed, way, kms + ("clearLevels" -> "allow"))), rows(people))
    }

  test("without field ids, columns are matched by name") {
    val file = writeIds()
    spark.conf.unset("spark.sql.parquet.fieldId.read.enabled")
    refused(KeyNotFound, file, "'pii'", "ssn") {
      read(schema(("ssn", StringType, 3)), Map.empty, holding("footer", "pay")).collect()
    }
  }
}
