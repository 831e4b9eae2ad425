package io.pmeparquet.spark.options

import munit.FunSuite
import org.apache.spark.sql.types._

import io.pmeparquet.{Condition, PmeException}

/** Tags in the comments and metadata of columns: what seems meant as one and is none is an error. */
class TableTagsSuite extends FunSuite {
  private def column(change: StructField => StructField) =
    TableTags.ofSchema(StructType(Seq(change(StructField("ssn", StringType)))), "pme.tag").map(_._2)

  private def comment(text: String) = column(_.withComment(text))

  private def metadata(name: String, put: (MetadataBuilder, String) => MetadataBuilder) =
    column(_.copy(metadata = put(new MetadataBuilder(), name).build()))

  private def refused(tags: => Seq[String]): Unit =
    assertEquals(intercept[PmeException](tags).condition, Condition.BadOption: Condition)

  test("a comment has tags, or says nothing of them") {
    assertEquals(comment("of a person, pme.tag=pii,pay"), Seq("pii", "pay"))
    assertEquals(comment("pme.tag=pii and pme.tag=pay"), Seq("pii", "pay"))
    Seq("", "of a person", "a stage.pme.x", "xpme.tag=pii").foreach(text => assertEquals(comment(text), Nil))
  }

  for (
    text <- Seq(
      "PME.tag=pii",
      "pme.tag: pii",
      "(pme.tag=pii)",
      "pme.tag = pii",
      "pme.tag=",
      "pme.tag=,",
      "pme.tags=pii"
    )
  ) test(s"a comment without the tag that it seems to have: $text")(refused(comment(text)))

  test("metadata have tags as text, and at least one") {
    assertEquals(metadata("pme.tag", _.putString(_, "pii")), Seq("pii"))
    refused(metadata("pme.tag", _.putString(_, " ")))
    refused(metadata("pme.tag", _.putLong(_, 1)))
    refused(metadata("pme.tag", _.putNull(_)))
    refused(metadata("Pme.Tag", _.putString(_, "pii")))
  }
}
