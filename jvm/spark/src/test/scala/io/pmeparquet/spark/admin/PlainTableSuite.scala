package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path}
import java.nio.ByteBuffer
import java.nio.ByteOrder.LITTLE_ENDIAN

import scala.collection.JavaConverters._

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame

import io.pmeparquet.parquet.copy.Copied
import io.pmeparquet.spark.SparkSuite

/** Tests that copy and encrypt tables: a plaintext one of two partitions, with page indexes and Bloom filters. */
abstract class PlainTableSuite extends WatchedTableSuite {
  protected val ofPii: Map[String, String] = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn")
  protected val ctr = "algorithm" -> "AES_GCM_CTR_V1"

  /** Ways to encrypt a table. */
  protected val ways: Seq[(String, Map[String, String])] = Seq(
    "one key" -> Map("uniformKey" -> "footer"),
    "column keys" -> ofPii,
    "CTR beside" -> Map(
      "footerKey" -> "footer",
      "columnKeys" -> "pii: ssn",
      "unlistedColumns" -> "plaintext",
      "plaintextFooter" -> "true",
      ctr,
      "keyMaterial" -> "external",
      "doubleWrapping" -> "false"
    )
  )

  protected def halves: DataFrame = people.selectExpr("*", "id % 2 AS half")

  /** Written once for the suite. */
  private lazy val kept: Path = {
    val indexed = Map("parquet.page.row.count.limit" -> "10", "parquet.bloom.filter.enabled#ssn" -> "true")
    val made = Files.createTempDirectory(SparkSuite.scratch, "plain").resolve("table")
    halves.write.options(indexed).partitionBy("half").parquet(made.toString)
    made
  }

  protected def plain(): Path = {
    val path = directory.resolve("plain")
    FileUtils.copyDirectory(kept.toFile, path.toFile)
    path
  }

  protected def copy(source: Any, to: Any, write: Map[String, String], read: (String, String)*): Copied =
    TableCopies.encrypt(
      spark,
      source.toString,
      to.toString,
      (watched ++ read).asJava,
      (watched ++ write).asJava
    )

  protected def rekey(source: Any, to: Any, write: Map[String, String], read: (String, String)*): Copied =
    TableCopies.rekey(
      spark,
      source.toString,
      to.toString,
      (watched ++ read).asJava,
      (watched ++ write).asJava
    )

  protected def decrypt(source: Any, to: Any, read: (String, String)*): Copied =
    TableCopies.decrypt(spark, source.toString, to.toString, (watched ++ read).asJava, writePlaintext = true)

  /** The rows of an encrypted table, with its partitions. */
  protected def read(path: Any, more: (String, String)*): Seq[String] =
    rows(
      load(path.toString, more.toMap).select(halves.columns.map(org.apache.spark.sql.functions.col).toSeq: _*)
    )

  /** What is in a directory, hidden files as well. */
  protected def names(path: Path = directory): Seq[String] =
    path.toFile.list().toSeq.filterNot(_.startsWith("keys-")).sorted

  /** The names of files within a table. */
  protected def within(path: Any): Seq[String] = {
    val root = directory.resolve(path.toString)
    files(root.toString).map(root.relativize(_).toString)
  }

  protected def readable(path: Any, texts: String*): Seq[String] = {
    val contents = allFiles(path.toString).map(file => new String(Files.readAllBytes(file), "ISO-8859-1"))
    texts.filter(text => contents.exists(_.contains(text)))
  }

  /** A decrypted file is what it was, but for the footer on Spark 3: parquet-java 1.13 omits optional fields of it. */
  protected def same(before: Path, after: Path): Unit = {
    val content = Seq(before, after).map { file =>
      val bytes = Files.readAllBytes(file)
      val footer =
        if (isSpark4) 0 else ByteBuffer.wrap(bytes).order(LITTLE_ENDIAN).getInt(bytes.length - 8) + 8
      bytes.dropRight(footer)
    }
    assert(content.head.sameElements(content.last), before.toString)
  }
}
