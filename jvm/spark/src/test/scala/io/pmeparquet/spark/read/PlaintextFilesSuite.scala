package io.pmeparquet.spark.read

import java.nio.file.{Files, Path}

import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{AlteredFile, SparkSuite}
import io.pmeparquet.Condition.{KeyNotFound, NotAuthentic, PlaintextFile}

/** Plaintext files are refused however they are read, and Spark's settings to skip unreadable files skip none. */
class PlaintextFilesSuite extends SparkSuite {
  private val scans = Seq("v1", "v2")
  private val skipping = Map("spark.sql.files.ignoreCorruptFiles" -> "true")
  private val allowed = "spark.datasource.pme-parquet.plaintextFiles"

  private def load(options: Map[String, String], path: String = target): DataFrame =
    reader(kms ++ options).schema(people.schema).load(path)

  /** A plaintext table, and the name of its file. */
  private def plain(): String = {
    people.write.parquet(target)
    files().head.getFileName.toString
  }

  /** An encrypted table with a plaintext file that somebody put into its directory. */
  private def invaded(): String = {
    write(people, keys)
    people.write.parquet(s"$target-plain")
    Files.copy(files(s"$target-plain").head, directory.resolve("table/part-00000-intruder.parquet"))
    "part-00000-intruder.parquet"
  }

  private val ways: Map[String, () => Any] = Map(
    "load" -> (() => reader(kms).load(target).collect()),
    "a schema" -> (() => load(Map.empty).collect()),
    "a write" -> (() => reader(kms).load(target).write.format("noop").mode("overwrite").save()),
    "a table" -> { () =>
      spark.sql(
        s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$target'"
      )
      spark.table("t").collect()
    },
    "a stream" -> { () =>
      val stream = spark.readStream.format("pme-parquet").options(kms).schema(people.schema).load(target)
      val query = stream.writeStream.format("noop").option("checkpointLocation", s"$target-c")
      query.trigger(Trigger.AvailableNow()).start().awaitTermination()
    },
    "a path in SQL" -> (() => spark.sql(s"SELECT * FROM `pme-parquet`.`$target`").collect())
  )

  for ((way, run) <- ways)
    test(s"a plaintext table is refused however it is read: $way") {
      val file = plain()
      setOptions(kms)
      refused(PlaintextFile, file)(run())
    }

  test("a plaintext table is read where plaintext is allowed") {
    val file = plain()
    refused(PlaintextFile, file, "plaintextFiles=allow")(reader(kms).load(target).collect())
    assertEquals(rows(reader(kms + ("plaintextFiles" -> "allow")).load(target)), rows(people))
  }

  for (scan <- scans)
    test(s"each query follows the session as it is when it runs: $scan") {
      val file = plain()
      set(Map(allowed -> "allow"))
      val read = reader(kms + ("scan" -> scan)).load(target)
      assertEquals(read.where("id >= 0").count(), 40L)
      spark.conf.unset(allowed)
      refused(PlaintextFile, file)(read.where("id >= 0").collect())
      // Spark has planned this one before.
      val planned = load(Map.empty)
      planned.queryExecution.executedPlan
      set(Map(allowed -> "allow"))
      assertEquals(rows(read.where("id >= 0")), rows(people))
      assertEquals(rows(planned), rows(people))
    }

  for (scan <- scans)
    test(s"a plaintext intruder is refused, whatever is selected, and is not skipped: $scan") {
      val intruder = invaded()
      val options = Map("scan" -> scan)
      refused(PlaintextFile, intruder)(reader(kms ++ options).load(target).collect())
      set(Map("spark.sql.parquet.aggregatePushdown" -> "true"))
      for (columns <- Seq("id", "count(*)", "max(id)"))
        refused(PlaintextFile, intruder)(load(options).selectExpr(columns).collect())
      set(skipping)
      refused(PlaintextFile, intruder)(load(options).collect())
      refused(PlaintextFile, intruder)(reader(kms ++ options).load(target).collect())
      assertEquals(load(options + ("plaintextFiles" -> "allow")).count(), 80L)
    }

  for (scan <- scans)
    test(s"a file whose key is missing is not skipped: $scan") {
      write(people, keys)
      val options = holding("nothing") + ("scan" -> scan)
      set(skipping)
      val file = files().head.getFileName.toString
      refused(KeyNotFound, file)(load(options).collect())
      refused(KeyNotFound, file)(reader(options).load(target).collect())
    }

  test("a footer stripped of algorithm and signature is refused, also where plaintext is allowed") {
    write(people, keys + ("plaintextFooter" -> "true"))
    val file = files().head
    AlteredFile.plainFooter(file, isSigned = false) { footer =>
      footer.unsetEncryption_algorithm()
      footer.unsetFooter_signing_key_metadata()
    }
    val name = file.getFileName.toString
    refused(NotAuthentic, name, "no signature")(reader(kms).load(target).collect())
    // Column id has no key of its own, so parquet-java would take it for plaintext.
    refused(NotAuthentic, name, "no signature") {
      reader(kms + ("plaintextFiles" -> "allow")).load(target).select("id").collect()
    }
  }

  /** Two files: if one were skipped, there would still be rows. */
  private def two(): Path = {
    write(people, keys)
    people.write.format("pme-parquet").options(keys).mode("append").save(target)
    files().head
  }

  // The modules of the table's first column, in file order: it has one page.
  private val pageHeader = 0
  private val page = 1

  private val zeros: Array[Byte] => Array[Byte] = module => new Array[Byte](module.length)
  private val cut: Array[Byte] => Array[Byte] = module => module.take(16).padTo(module.length, 0.toByte)
  private val lengths: Seq[Array[Byte] => Array[Byte]] =
    Seq(0, 27, 28, 1000000, -16).map(length =>
      (module: Array[Byte]) => module.patch(0, AlteredFile.little(length), 4)
    )

  private def assertFails(file: Path, frame: => DataFrame): Unit = {
    val name = file.getFileName.toString
    val found = intercept[Exception](frame.collect())
    val ours = io.pmeparquet.PmeException.find(found).getOrElse(throw found)
    assert(Set("PME_DAMAGED_FILE", "PME_NOT_AUTHENTIC").contains(ours.condition.name), ours.getMessage)
    assert(ours.getMessage.contains(name), ours.getMessage)
  }

  for ((scan, one) <- scans.zipWithIndex; (reader, other) <- Seq("pages", "spark").zipWithIndex)
    test(s"a page that is cut, or has a false length, is never skipped: $scan, $reader") {
      val file = two()
      val original = Files.readAllBytes(file)
      val options = Map("scan" -> scan, "reader" -> reader)
      // In turn: each with each scan, and with each reader.
      for (
        (module, turn) <- Seq(pageHeader, page).zipWithIndex;
        (kind, at) <- (lengths :+ cut :+ zeros).zipWithIndex
        if isWhole || (turn + at + one + other) % 2 == 0
      ) {
        AlteredFile.overwrite(file, module)(kind)
        assertFails(file, load(options + ("IGNORECORRUPTFILES" -> "true")))
        AlteredFile.replace(file, original)
      }
      AlteredFile.overwrite(file, page)(zeros)
      assertFails(file, load(options + ("ignoreCorruptFiles" -> "true")))
      set(skipping)
      assertFails(file, load(options))
      set(Map("spark.sql.parquet.enableVectorizedReader" -> "false"))
      assertFails(file, load(options))
    }

  test("Spark's own source does skip what it cannot read") {
    people.write.parquet(target)
    people.write.mode("append").parquet(target)
    AlteredFile.change(files().head)(_.patch(4, new Array[Byte](100), 100))
    for (name <- Seq("ignoreCorruptFiles", "IGNORECORRUPTFILES"))
      assertEquals(rows(spark.read.option(name, "true").parquet(target)), rows(people))
    set(skipping)
    assertEquals(rows(spark.read.parquet(target)), rows(people))
  }
}
