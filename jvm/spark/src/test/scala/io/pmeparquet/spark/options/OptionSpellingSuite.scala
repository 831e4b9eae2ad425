package io.pmeparquet.spark.options

import java.util.Locale

import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition

/** Names of options count in any letters, from every source, in either scan. */
class OptionSpellingSuite extends SparkSuite {
  private val spellings: Seq[String => String] =
    Seq(
      _.toUpperCase(Locale.ROOT),
      _.toLowerCase(Locale.ROOT),
      _.split('.').map(part => part.head.toUpper +: part.tail).mkString(".")
    )
  private val scans = Seq("v1", "v2")

  // This KMS has an option with dots in its name.
  private def store = holding("footer", "pii", "pay")
  private def reading = store + ("aadPrefix" -> "orders")
  private def writing = keys ++ store

  private def respelt(options: Map[String, String], spelling: String => String) =
    options.map { case (name, value) => spelling(name) -> value }

  /** A table whose readers must name the AAD prefix. */
  private def writeOrders(): Unit =
    write(people, writing ++ Map("aadPrefix" -> "orders", "storeAadPrefix" -> "false"))

  for (scan <- scans)
    test(s"options of a read count in any spelling, and the last of two spellings: $scan") {
      writeOrders()
      for (spelling <- spellings) {
        val options = respelt(reading + ("scan" -> scan), spelling)
        assertEquals(rows(reader(options).load(target)), rows(people))
        assertEquals(rows(reader(options).schema(people.schema).load(target)), rows(people))
      }
      val wrong = respelt(store, _.toLowerCase) ++ Map("scan" -> scan, "AADPREFIX" -> "invoices")
      refused(Condition.NotAuthentic, files().head.getFileName.toString, "aadPrefix") {
        reader(wrong).load(target).collect()
      }
      val twice =
        reader(store + ("scan" -> scan)).option("aadPrefix", "invoices").option("AADPREFIX", "orders")
      assertEquals(twice.load(target).count(), 40L)
    }

  for (scan <- scans)
    test(s"settings of the session count in any spelling, and an option outranks them: $scan") {
      writeOrders()
      for (spelling <- spellings) {
        val settings = respelt(reading, spelling)
        setOptions(settings)
        assertEquals(rows(reader(Map("scan" -> scan)).load(target)), rows(people))
        settings.keys.foreach(name => spark.conf.unset(s"spark.datasource.pme-parquet.$name"))
      }
      setOptions(
        Map("AADPREFIX" -> "invoices", "Kms" -> "no.such.Kms", "Kms.Static.Keys" -> "file:/no/such/keys")
      )
      assertEquals(reader(reading + ("scan" -> scan)).load(target).count(), 40L)
    }

  test("options of a write count in any spelling") {
    for ((spelling, number) <- spellings.zipWithIndex) {
      val path = directory.resolve(s"t$number").toString
      write(people, respelt(writing + ("unlistedColumns" -> "plaintext"), spelling), path)
      assertEquals(rows(reader(store).load(path)), rows(people))
      refused(Condition.AadPrefix, files(path).head.getFileName.toString) {
        reader(store + ("AADPREFIX" -> "orders")).load(path).collect()
      }
    }
  }

  test("options of a table in the catalog count in any spelling") {
    writeOrders()
    setOptions(store)
    for (spelling <- spellings) {
      val listed = respelt(reading, spelling).map { case (name, value) => s"'$name' '$value'" }.mkString(", ")
      spark.sql(
        s"CREATE TABLE respelt (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` OPTIONS ($listed) " +
          s"LOCATION '$target'"
      )
      assertEquals(rows(spark.table("respelt")), rows(people))
      assertEquals(spark.read.option("AadPrefix", "orders").table("respelt").count(), 40L)
      spark.sql("DROP TABLE respelt")
    }
  }
}
