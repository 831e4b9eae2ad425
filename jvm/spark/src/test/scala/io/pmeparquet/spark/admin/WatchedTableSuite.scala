package io.pmeparquet.spark.admin

import java.nio.file.{Files, Path, Paths}
import java.util.Base64

import scala.collection.mutable
import scala.util.Try

import org.apache.commons.io.FileUtils
import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{AlteredFile, SparkSuite}

/** Tests on a table whose KMS records what it is asked: `footer` for the footer, `pii` for ssn and `pay` for salary. */
abstract class WatchedTableSuite extends SparkSuite {
  protected val old = Seq("footer", "pay", "pii")
  protected val renewed: Map[String, String] = old.map(name => name -> s"$name-2").toMap
  protected val protection = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn; pay: salary")

  protected def watched: Map[String, String] = WatchedKms.options

  override def beforeEach(context: BeforeEach): Unit = {
    super.beforeEach(context)
    WatchedKms.reset()
  }

  /** Tables of the suite by their options, with the keys that the KMS wrapped for them, and as it wrapped them. */
  private val made = mutable.Map.empty[Seq[(String, String)], (Path, Seq[String], Seq[String])]

  /** Two files with the rows of `people`. What the KMS did for them is forgotten, except for the keys it wrapped. */
  protected def written(more: (String, String)*): Seq[Path] = {
    def make() = {
      val place = Files.createTempDirectory(SparkSuite.scratch, "written").resolve("table")
      write(people.repartition(2), watched ++ protection ++ more, place.toString)
      (place, WatchedKms.keys.toList, WatchedKms.wrapped.toList)
    }
    assertEquals(WatchedKms.wrapped.toSeq, Nil)
    val (table, keys, wrapped) = made.getOrElseUpdate(more, make())
    FileUtils.copyDirectory(table.toFile, Paths.get(target).toFile)
    WatchedKms.reset()
    WatchedKms.keys ++= keys
    WatchedKms.wrapped ++= wrapped
    files()
  }

  protected def load(path: String = target, more: Map[String, String] = Map.empty): DataFrame =
    reader(watched ++ more).load(path)

  private lazy val everyone = rows(people)

  /** Fails unless everybody without these master keys reads all rows. */
  protected def readWithout(lacking: Iterable[String], more: (String, String)*): Unit = {
    val before = WatchedKms.lacks
    WatchedKms.lacks = lacking.toSet
    try assertEquals(rows(load(more = more.toMap)), everyone)
    finally WatchedKms.lacks = before
  }

  /** The bytes of each data file before its footer. */
  protected def pages(path: String = target): Map[String, Seq[Byte]] = files(path).map { file =>
    val content = Files.readAllBytes(file)
    directory.resolve(path).relativize(file).toString -> content.take(AlteredFile.footerStart(content)).toSeq
  }.toMap

  /** Which texts are in any file of the table, as they are or decoded. */
  protected def left(texts: Seq[String]): Seq[String] = {
    val contents = allFiles().map(file => new String(Files.readAllBytes(file), "ISO-8859-1"))
    texts.filter { text =>
      val decoded = Try(new String(Base64.getDecoder.decode(text), "ISO-8859-1")).toOption
      (text +: decoded.toSeq).exists(form => contents.exists(_.contains(form)))
    }
  }

  protected def materialOf(file: Path): Path =
    file.resolveSibling(s"_KEY_MATERIAL_FOR_${file.getFileName}.json")
}
