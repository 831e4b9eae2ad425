package io.pmeparquet.columns

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}

/** What files state of values that name their keys. */
class KeyValuesSuite extends FunSuite {
  private def at(directory: String, texts: (String, String)*) =
    FilePlace.of(directory).stating(KeyValues(texts.toMap))
  private def name(text: String, place: FilePlace, caseSensitive: Boolean = false) =
    KeyTemplate.of(text, "footerKey").name(place, caseSensitive, "file")

  private def refused(condition: Condition, words: String*)(block: => Any): Unit = {
    val failed = intercept[PmeException](block)
    assertEquals(failed.condition, condition)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  private def read(text: String) =
    KeyValues.of(Some(text), "f")

  test("a file states values, and names follow them as they follow directories") {
    assertEquals(name("t-{tenant}", at("/t", "tenant" -> "acme")), "t-acme")
    assertEquals(name("{day}.{tenant}", at("/t/day=1", "tenant" -> "acme")), "1.acme")
    // A text is what it is: no directory is spelled with it.
    assertEquals(
      name("t-{tenant}", at("/t", "tenant" -> "__HIVE_DEFAULT_PARTITION__")),
      "t-__HIVE_DEFAULT_PARTITION__"
    )
    for (value <- Seq("a%40b", "a/b", "a b", ".."))
      refused(Condition.BadOption, "column 'tenant'")(name("t-{tenant}", at("/t", "tenant" -> value)))
    for (text <- Seq("t-{tenant}", "t-{tenant:bucket(4)}"))
      refused(Condition.BadOption, "NULL or empty", "Leave out the rows")(
        name(text, at("/t", "tenant" -> ""))
      )
    refused(Condition.KeyMetadata, "states no value of it", "Write it again")(
      name("t-{tenant}", at("/t", "other" -> "acme"))
    )
  }

  test("a file states a bucket, or the value that says which bucket it is in") {
    val bucket = KeyTemplate.bucketOf("acme", 64)
    assertEquals(name("t-{tenant:bucket(64)}", at("/t", "tenant:bucket(64)" -> s"$bucket")), s"t-$bucket")
    assertEquals(name("t-{tenant:bucket(64)}", at("/t", "tenant" -> "acme")), s"t-$bucket")
    // The value counts where both are stated.
    val both = at("/t", "tenant" -> "acme", "tenant:bucket(64)" -> "63")
    assertEquals(name("t-{tenant:bucket(64)}", both), s"t-$bucket")
    refused(Condition.KeyMetadata)(name("t-{tenant}", at("/t", "tenant:bucket(64)" -> "1")))
    refused(Condition.KeyMetadata)(name("t-{tenant:bucket(8)}", at("/t", "tenant:bucket(64)" -> "1")))
    for (number <- Seq("64", "01", "-1", "+1", "1 ", "", "x", "٣", "99999999999"))
      refused(Condition.KeyMetadata, "column 'tenant'") {
        name("t-{tenant:bucket(64)}", at("/t", "tenant:bucket(64)" -> number))
      }
  }

  test("a column that a directory has, too, or that is stated twice, has no value") {
    refused(Condition.KeyMetadata)(name("t-{tenant}", at("/t/tenant=acme", "tenant" -> "acme")))
    refused(Condition.KeyMetadata)(name("t-{tenant}", at("/t/tenant=acme", "tenant:bucket(2)" -> "1")))
    refused(Condition.KeyMetadata)(
      name("t-{tenant:bucket(2)}", at("/t/tenant=acme", "TENANT:bucket(2)" -> "1"))
    )
    val twice = at("/t", "tenant" -> "acme", "Tenant" -> "bolt")
    refused(Condition.KeyMetadata)(name("t-{tenant}", twice))
    assertEquals(name("t-{tenant}", twice, caseSensitive = true), "t-acme")
    refused(Condition.KeyMetadata)(name("t-{TENANT}", twice, caseSensitive = true))
  }

  test("the entry is a JSON object of texts, and nothing else is") {
    val values = KeyValues(Map("tenant" -> "a\"b", "n:bucket(4)" -> "3"))
    assertEquals(values.json, """{"n:bucket(4)":"3","tenant":"a\"b"}""")
    assertEquals(read(values.json), values)
    assertEquals(KeyValues.of(None, "f"), KeyValues.none)
    for (
      text <- Seq(
        "",
        "null",
        "[]",
        """{"a":1}""",
        """{"a":null}""",
        """{"a":{}}""",
        """{"a":"1","a":"2"}""",
        "{} x",
        "{"
      )
    )
      refused(Condition.DamagedFile, KeyValues.Entry)(read(text))
  }

  test("a column is mentioned by its value and by its buckets") {
    val values = KeyValues(Map("Tenant:bucket(4)" -> "3", "tenant:bucket(8)" -> "5", "day" -> "1"))
    assert(values.mentions("tenant", caseSensitive = false) && values.mentions("DAY", caseSensitive = false))
    assert(
      !values.mentions("TENANT", caseSensitive = true) && !values.mentions("bucket", caseSensitive = false)
    )
    assertEquals(values.buckets("tenant", caseSensitive = false).toSet, Set(4 -> "3", 8 -> "5"))
    assertEquals(values.buckets("tenant", caseSensitive = true), Seq(8 -> "5"))
    // A template has no such buckets, and no value is in one.
    for (count <- Seq("0", "000", "08"))
      assertEquals(
        KeyValues(Map(s"tenant:bucket($count)" -> "0")).buckets("tenant", caseSensitive = true),
        Nil
      )
  }

  private def binding(footer: String, caseSensitive: Boolean = false) =
    KeyBinding(Some(footer), ColumnKeys(Nil), UnlistedColumns.UseFooterKey, caseSensitive)
  private val table = FilePlace.of("/t")

  test("a policy waits for the footer where no directory has a value") {
    assert(binding("t-{tenant}").waitsForFooter(table))
    assert(!binding("t-{tenant}").waitsForFooter(FilePlace.of("/t/tenant=a")))
    assert(!binding("footer").waitsForFooter(table))
  }
}
