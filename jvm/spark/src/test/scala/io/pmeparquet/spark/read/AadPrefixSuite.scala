package io.pmeparquet.spark.read

import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.admin.TableCopies
import io.pmeparquet.spark.AlteredFile
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{AadPrefix, BadOption, NotAuthentic}

/** The AAD prefix, which binds files to a table: missing, wrong, moved, or with its boundary shifted. */
class AadPrefixSuite extends SparkSuite {
  private def written(options: (String, String)*): String = {
    write(people, keys ++ options)
    files().head.getFileName.toString
  }

  private def read(options: (String, String)*): DataFrame = reader(kms ++ options).load(target)

  test("a stored prefix needs no option, and is checked where one is given") {
    val file = written("aadPrefix" -> "orders")
    assertEquals(read().count(), 40L)
    assertEquals(read("aadPrefix" -> "orders").count(), 40L)
    refused(AadPrefix, file, "aadPrefix")(read("aadPrefix" -> "invoices").collect())
  }

  test("a prefix that is not stored must be supplied") {
    val file = written("aadPrefix" -> "orders", "storeAadPrefix" -> "false")
    assert(!new String(Files.readAllBytes(files().head), "ISO-8859-1").contains("orders"))
    assertEquals(read("aadPrefix" -> "orders").count(), 40L)
    refused(AadPrefix, file, "aadPrefix")(read().collect())
    refused(NotAuthentic, file, "aadPrefix")(read("aadPrefix" -> "invoices").collect())
  }

  test("a file without a prefix is refused where one is expected") {
    refused(AadPrefix, written())(read("aadPrefix" -> "orders").collect())
  }

  for (plaintextFooter <- Seq("false", "true"))
    test(s"a file moved to another table does not open: plaintextFooter=$plaintextFooter") {
      val file =
        written("aadPrefix" -> "{table}", "storeAadPrefix" -> "false", "plaintextFooter" -> plaintextFooter)
      assertEquals(read("aadPrefix" -> "{table}").count(), 40L)
      Files.move(Paths.get(target), Paths.get(s"$target-moved"))
      def moved(prefix: String) = reader(kms + ("aadPrefix" -> prefix)).load(s"$target-moved")
      refused(NotAuthentic, file)(moved("{table}").collect())
      assertEquals(moved("table").count(), 40L)
    }

  test("swapped files do not open where the prefix names the file") {
    val prefix = "aadPrefix" -> "{table}/{file}"
    write(people.repartition(2), keys ++ Map(prefix, "storeAadPrefix" -> "false"))
    assertEquals(read(prefix).count(), 40L)
    val (one, other) = (files().head, files().last)
    val (first, second) = (Files.readAllBytes(one), Files.readAllBytes(other))
    AlteredFile.replace(one, second)
    AlteredFile.replace(other, first)
    refused(NotAuthentic, "part-")(read(prefix).collect())
  }

  test("directories of partitions are not part of the table's name") {
    val options = keys ++ Map("aadPrefix" -> "{table}", "storeAadPrefix" -> "false")
    val parted = people.selectExpr("*", "id % 2 AS half").write.format("pme-parquet").options(options)
    parted.partitionBy("half").save(target)
    Seq("{table}", "table").foreach(prefix => assertEquals(read("aadPrefix" -> prefix).count(), 40L))
  }

  private def refusedUnique(file: String): Unit =
    for (prefix <- Seq(Map.empty[String, String], Map("aadPrefix" -> "orders")))
      refused(AadPrefix, file, "aad_file_unique")(read(prefix.toSeq: _*).collect())

  test("the boundary between the prefix and the file's part cannot be shifted") {
    val file = written("aadPrefix" -> "orders-2026")
    AlteredFile.aad(files().head) { algorithm =>
      val (prefix, unique) = (algorithm.getAad_prefix, algorithm.getAad_file_unique)
      algorithm.setAad_prefix(prefix.dropRight(5)).setAad_file_unique(prefix.takeRight(5) ++ unique)
      ()
    }
    refusedUnique(file)
  }

  test("a file's part that is not eight bytes is refused") {
    val file = written()
    val path: Path = files().head
    for (length <- Seq(0, 7, 9, 100000)) {
      AlteredFile.aad(path) { algorithm => algorithm.setAad_file_unique(Array.fill(length)(49.toByte)); () }
      refused(AadPrefix, file, "aad_file_unique")(read().collect())
    }
  }

  test("single wrapping with an ambiguous prefix is refused before anything is deleted") {
    write(people, keys)
    for (prefix <- Seq("x", "abc", "orders!", "{table}ab")) {
      val unfit =
        keys ++ Map("aadPrefix" -> prefix, "storeAadPrefix" -> "false", "doubleWrapping" -> "false")
      untouched()(refused(BadOption, "aadPrefix", prefix) {
        people.write.format("pme-parquet").options(unfit).mode("overwrite").save(target)
      })
    }
  }

  for (stored <- Seq("true", "false"))
    test(s"double wrapping accepts a prefix of any length: storeAadPrefix=$stored") {
      write(people, keys ++ Map("aadPrefix" -> "payroll", "storeAadPrefix" -> stored))
      for (by <- Seq("pages", "spark"))
        assertEquals(read("aadPrefix" -> "payroll", "reader" -> by).count(), 40L)
    }

  test("a copy is refused before anything is written if no file may have its prefix") {
    people.write.parquet(target)
    Files.move(files().head, directory.resolve("table/abcdefg"))
    val unfit = (keys ++ Map("aadPrefix" -> "{file}", "doubleWrapping" -> "false")).asJava
    def check(copy: => Any) =
      untouched(directory.toString)(refused(BadOption, "aadPrefix", "abcdefg")(copy))
    check(TableCopies.encrypt(spark, target, s"$target-copy", kms.asJava, unfit))
    check(TableCopies.encryptInPlace(spark, target, Map.empty[String, String].asJava, unfit))
  }
}
