package io.pmeparquet

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import scala.collection.JavaConverters._

import munit.FunSuite

/** The layers of docs/architecture.md, by what the sources import. sbt enforces them by class path as well. */
class LayersSuite extends FunSuite {
  private lazy val jvm: Path = Iterator
    .iterate(Paths.get("").toAbsolutePath)(_.getParent)
    .takeWhile(_ != null)
    .map(_.resolve("jvm"))
    .find(folder => Files.isDirectory(folder.resolve("core")))
    .getOrElse(fail("no jvm folder above the folder the tests run in"))

  private def mentions(module: String, text: String): Seq[String] = {
    val files = Files
      .walk(jvm.resolve(module).resolve("src/main"))
      .iterator()
      .asScala
      .filter(file => Seq(".scala", ".java").exists(file.toString.endsWith(_)))
    val found =
      files.filter(file => mentions(file, text)).map(_.toString).toList
    found
  }

  /** Names of entries in files, which are texts, are no dependency. */
  private def mentions(file: java.nio.file.Path, text: String): Boolean =
    new String(Files.readAllBytes(file), UTF_8).replace("\"" + text, "").contains(text)

  test("core knows no Hadoop, no Parquet and no Spark")(
    assertEquals(mentions("core", "import org.apache."), Nil)
  )
  test("core knows no kms")(assertEquals(mentions("core", "io.pmeparquet.kms"), Nil))
  test("kms knows no Spark and none of parquet's packages")(
    assertEquals(
      mentions("kms", "org.apache.spark") ++ mentions("kms", "import io.pmeparquet.parquet"),
      Nil
    )
  )
  test("parquet knows no Spark")(assertEquals(mentions("parquet", "org.apache.spark"), Nil))
  test("spark calls no cipher")(assertEquals(mentions("spark", "javax.crypto"), Nil))
  test("the search finds a mention")(assert(mentions("spark", "import org.apache.spark").nonEmpty))
}
