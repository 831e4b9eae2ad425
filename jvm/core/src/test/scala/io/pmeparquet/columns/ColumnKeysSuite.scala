package io.pmeparquet.columns

import munit.FunSuite

import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey}
import io.pmeparquet.PmeException

class ColumnKeysSuite extends FunSuite {
  private def leaf(path: String*) = LeafColumn(path, path)
  private val tags = LeafColumn(Seq("tags", "list", "element"), Seq("tags", "element"))
  private val leaves =
    Seq(
      leaf("ssn"),
      leaf("address", "street"),
      leaf("address", "zip"),
      tags,
      leaf("odd.name"),
      leaf("s*r"),
      leaf("star")
    )

  private def plan(
      text: String,
      unlisted: UnlistedColumns = UnlistedColumns.UseFooterKey,
      exact: Boolean = false
  ) =
    KeyPlan.of(leaves, Some(ColumnKeys.parse(text)), unlisted, exact).columns.toMap
  private def keyed(text: String): Set[String] =
    plan(text).collect { case (column, ColumnKey("k")) => column.sparkPath.mkString("/") }.toSet
  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  test("both grammars say the same") {
    val text = plan("k: ssn, address ; k2 : tags;")
    assertEquals(plan("""{"k": ["ssn", "address"], "k2": ["tags"]}"""), text)
    assertEquals(text(tags), ColumnKey("k2"): ColumnProtection)
    assertEquals(text(leaf("star")), FooterKey: ColumnProtection)
  }

  test("a struct covers its leaves, and so does a star below it") {
    assertEquals(keyed("k: address"), Set("address/street", "address/zip"))
    assertEquals(keyed("k: address.*"), Set("address/street", "address/zip"))
    assertEquals(keyed("k: address.zip"), Set("address/zip"))
  }

  test("a list is named as Spark names it, or as Parquet does") {
    Seq("tags", "tags.element", "tags.list.element").foreach(name =>
      assertEquals(keyed(s"k: $name"), Set("tags/element"))
    )
  }

  test("the error recognizes keys and columns that changed places") {
    Seq("ssn: pii", """{"SSN": ["pii"]}""", "address.zip: pii").foreach { text =>
      val told = intercept[PmeException](plan(text))
      assertEquals(told.getCondition(), "PME_UNKNOWN_COLUMN")
      assert(
        told.getMessage.contains("The mapping is probably reversed: columnKeys maps a key to its columns"),
        told.getMessage
      )
    }
    val told = intercept[PmeException](plan("pii: sssn")).getMessage
    assert(!told.contains("reversed"), told)
  }

  test("a star matches within one name, and is a character in backticks") {
    assertEquals(keyed("k: s*"), Set("ssn", "s*r", "star"))
    assertEquals(keyed("k: `s*r`"), Set("s*r"))
    assertEquals(keyed("k: add*.z*"), Set("address/zip"))
  }

  test("names with dots need backticks, in JSON too") {
    assertEquals(keyed("k: `odd.name`"), Set("odd.name"))
    assertEquals(keyed("""{"k": ["`odd.name`"]}"""), Set("odd.name"))
  }

  test("a key id with colons is given in JSON") {
    val columns = plan("""{"arn:aws:kms:x:1:key/2": ["ssn"]}""")
    assertEquals(columns(leaf("ssn")), ColumnKey("arn:aws:kms:x:1:key/2"): ColumnProtection)
  }

  test("names are matched as Spark matches them") {
    assertEquals(keyed("k: SSN"), Set("ssn"))
    assertEquals(condition(plan("k: SSN", exact = true)), "PME_UNKNOWN_COLUMN")
  }

  test("a name that matches nothing lists the candidates") {
    for (name <- Seq("snn", "ssn.last", "addr.*", "`ss*`", "ssn_*")) {
      val failed = intercept[PmeException](plan(s"k: $name"))
      assertEquals(failed.getCondition(), "PME_UNKNOWN_COLUMN", name)
      Seq(name, "address.street", "`odd.name`").foreach(word =>
        assert(failed.getMessage.contains(word), word)
      )
    }
  }

  test("a column with two keys is refused") {
    assertEquals(condition(plan("k: address; k2: address.zip")), "PME_BAD_OPTION")
  }

  test("a wildcard that takes in a partition column is refused, and a struct's field of its name is not") {
    def check(keys: String, exact: Boolean = false) =
      KeyPlan.checkPartitions(Seq("day_pii"), Some(ColumnKeys.parse(keys)), exact)
    val failed = intercept[PmeException](check("k: *_PII"))
    assertEquals(failed.getCondition(), "PME_UNSUPPORTED")
    assert(failed.getMessage.contains("*_PII") && failed.getMessage.contains("day_pii"))
    check("k: *_PII", exact = true)
    check("k: address.*_pii; k2: ssn")
    KeyPlan.checkPartitions(Seq("day_pii"), None, caseSensitive = false)
  }

  test("columns without key: footer key, plaintext or an error") {
    assertEquals(
      plan("k: ssn", UnlistedColumns.Plaintext)(tags),
      ColumnProtection.Plaintext: ColumnProtection
    )
    assertEquals(condition(plan("k: ssn", UnlistedColumns.Error)), "PME_UNKNOWN_COLUMN")
  }

  test("a draft has all that a plan is refused for, the plan's own refusal first") {
    val keys = ColumnKeys.parse("k: snn, adress, ssn, tags; k2: tags")
    val draft = KeyDraft.of(leaves, Some(keys), UnlistedColumns.Error, caseSensitive = false)
    assertEquals(draft.unmatched.map(_.pattern.text), Seq("snn", "adress"))
    assertEquals(draft.unmatched.map(entry => draft.nearest(entry.pattern).head), Seq("ssn", "address"))
    val conditions = Seq("PME_UNKNOWN_COLUMN", "PME_UNKNOWN_COLUMN", "PME_BAD_OPTION", "PME_UNKNOWN_COLUMN")
    assertEquals(draft.refusals.map(_.getCondition()), conditions)
    val refused =
      intercept[PmeException](KeyPlan.of(leaves, Some(keys), UnlistedColumns.Error, caseSensitive = false))
    assertEquals(refused.getMessage, draft.refusals.head.getMessage)
  }

  test("text that cannot be read says where") {
    Seq(
      "",
      "k",
      "k:",
      "k: a b: c",
      ": a",
      "k: a,,b",
      "k: `a",
      "{",
      """{"k": "a"}""",
      """{"k": [1]}""",
      """{"k": [""]}""",
      "{}"
    )
      .foreach(text => assertEquals(condition(ColumnKeys.parse(text)), "PME_BAD_OPTION", text))
  }

  test("a name matches whole names only") {
    Seq(true, false).foreach { exact =>
      Seq("ss", "sn", "s", "addres", "address.zi", "tag").foreach { part =>
        assertEquals(condition(plan(s"k: $part", exact = exact)), "PME_UNKNOWN_COLUMN", part)
      }
      assertEquals(plan("k: s*n", exact = exact)(leaf("star")), FooterKey: ColumnProtection)
    }
  }
}
