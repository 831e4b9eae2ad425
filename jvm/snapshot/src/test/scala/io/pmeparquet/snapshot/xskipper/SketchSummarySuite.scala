package io.pmeparquet.snapshot.xskipper

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Paths}

import scala.collection.JavaConverters._

/** Filters are those that Spark's sketches make, byte for byte. */
class SketchSummarySuite extends munit.FunSuite {
  private def made(settings: Map[String, String], values: Iterator[Any]): Option[Array[Byte]] = {
    val summary = new SketchSummary
    summary.configure(settings.asJava)
    Option(summary.summarize(values.map(_.asInstanceOf[Object]).asJava))
  }

  private def mightContain(filter: Array[Byte], value: Any) = TestSketches.open(filter)(value)

  test("a filter of numbers, or of texts, is that which Xskipper made of the same values") {
    val settings = Map("fpp" -> "0.05", "ndv" -> "20")
    for (
      (name, values) <- Seq(
        "bloom-integer" -> (0 until 10).map(Int.box),
        "bloom-string" -> (0 until 10).map(at => f"t$at%03d".getBytes(UTF_8))
      )
    ) {
      val library = Files.readAllBytes(Paths.get(getClass.getResource(s"/xskipper/library/$name").toURI))
      val filter = made(settings, values.iterator).get
      assertEquals(SerializedSummary.ofSketch(filter).toSeq, library.toSeq, name)
    }
  }

  test("a filter without a stated number is as large as the distinct values require") {
    val values = Iterator.fill(5)(1 to 1000).flatten.map(at => Long.box(at.toLong))
    val filter = made(Map("fpp" -> "0.01"), values).get
    assertEquals(filter.length, 12 + 8 * 150)
    assert((1 to 1000).forall(at => mightContain(filter, at.toLong)))
    assert((1001 to 11000).count(at => mightContain(filter, at.toLong)) < 200)
    val empty = made(Map("fpp" -> "0.01"), Iterator.empty).get
    assert(!(1 to 1000).exists(at => mightContain(empty, at.toLong)))
  }

  test("a filter that would be longer than a seal takes is none, and one of the most values is not") {
    val most = SparkSketch.mostValues(0.5).toInt
    val full = made(Map("fpp" -> "0.5"), Iterator.range(0, most).map(Int.box))
    assert(full.exists(_.length <= 128 * 1024))
    assert(full.exists(_.length > 127 * 1024))
    assert(made(Map("fpp" -> "0.5"), Iterator.range(0, most + 1).map(Int.box)).isEmpty)
    assert(made(Map("fpp" -> "0.5", "ndv" -> s"$most"), Iterator.range(0, most + 1).map(Int.box)).isDefined)
  }

  test("a text that is not UTF-8 leaves no filter") {
    val texts = Seq("a".getBytes(UTF_8), Array[Byte](-1))
    assert(made(Map("fpp" -> "0.01"), texts.iterator).isEmpty)
    assert(made(Map("fpp" -> "0.01", "ndv" -> "5"), texts.iterator).isEmpty)
    assertEquals(new SketchSummary().holdsNone(Array[Byte](), null), false)
  }
}
