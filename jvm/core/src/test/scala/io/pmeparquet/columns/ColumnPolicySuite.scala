package io.pmeparquet.columns

import munit.FunSuite

import io.pmeparquet.columns.ColumnPolicy.Asked
import io.pmeparquet.columns.ColumnProtection.{ColumnKey, FooterKey, Plaintext}
import io.pmeparquet.PmeException

class ColumnPolicySuite extends FunSuite {
  private def leaf(path: String*) = LeafColumn(path, path)
  private val leaves = Seq(leaf("ssn"), leaf("pay", "base"), leaf("pay", "bonus"), leaf("id"))

  private def binding(
      text: String,
      unlisted: UnlistedColumns = UnlistedColumns.UseFooterKey,
      footer: Option[String] = Some("f"),
      exact: Boolean = false
  ) = KeyBinding(footer, ColumnKeys.parse(text), unlisted, exact)
  private def accepted(policy: ColumnPolicy, of: Seq[LeafColumn] = leaves) = policy.of(of).map(_.accepted)

  test("listed columns have their key, and others what unlistedColumns says") {
    def rest(unlisted: UnlistedColumns) = accepted(binding("k: ssn; p: pay", unlisted)).last
    assertEquals(
      accepted(binding("k: ssn; p: pay")),
      Seq(Seq(ColumnKey("k")), Seq(ColumnKey("p")), Seq(ColumnKey("p")), Seq(FooterKey))
    )
    assertEquals(rest(UnlistedColumns.Plaintext), Seq(Plaintext))
    assertEquals(rest(UnlistedColumns.Error), Nil)
    assertEquals(
      binding("k: ssn").of(leaves).map(_.by),
      "columnKeys" +: Seq.fill(3)("unlistedColumns=footerKey")
    )
  }

  test("a policy that asks for a key is met by that key alone, as a column's own or the footer's") {
    val asked = Asked(ColumnKey("k"), "")
    assert(asked.isMetBy(ColumnKey("k"), None))
    assert(asked.isMetBy(FooterKey, Some("k")))
    Seq(ColumnKey("K"), ColumnKey("f"), FooterKey, Plaintext).foreach(found =>
      assert(!asked.isMetBy(found, Some("f")))
    )
    assert(!asked.isMetBy(FooterKey, None))
  }

  test("the footer's key is met by itself, and by a column's own under the same master key") {
    val asked = Asked(FooterKey, "")
    assert(asked.isMetBy(FooterKey, None))
    assert(asked.isMetBy(ColumnKey("f"), Some("f")))
    assert(!asked.isMetBy(ColumnKey("f"), None))
    assert(!asked.isMetBy(ColumnKey("k"), Some("f")))
    assert(!asked.isMetBy(Plaintext, Some("f")))
  }

  test("plaintext is met by plaintext alone, and no key at all by nothing") {
    assert(Asked(Plaintext, "").isMetBy(Plaintext, Some("f")))
    assert(!Asked(Plaintext, "").isMetBy(FooterKey, Some("f")))
    Seq(Plaintext, FooterKey, ColumnKey("k")).foreach(found =>
      assert(!Asked(Nil, "").isMetBy(found, Some("k")))
    )
  }

  test("a pattern may match nothing, and a misspelt one leaves its column to unlistedColumns") {
    assertEquals(accepted(binding("k: snn")).head, Seq(FooterKey))
    assertEquals(accepted(binding("k: ssn; p: gone"), Seq(leaf("id"))), Seq(Seq(FooterKey)))
  }

  test("a file without any listed column may be encrypted as a whole, as writers make it") {
    val plaintext = binding("k: gone", UnlistedColumns.Plaintext)
    assertEquals(accepted(plaintext), leaves.map(_ => Seq(Plaintext, FooterKey)))
    assertEquals(accepted(plaintext.copy(keys = ColumnKeys.parse("k: ssn")))(1), Seq(Plaintext))
  }

  test("a column with two keys is an error, as on write") {
    val failed = intercept[PmeException](binding("k: ssn; p: s*").of(leaves))
    assertEquals(failed.getCondition(), "PME_BAD_OPTION")
    assertEquals(accepted(binding("k: ssn; k: s*")).head, Seq(ColumnKey("k")))
  }

  test("one key for all is asked of the footer too") {
    val uniform = UniformBinding("u", caseSensitive = false)
    assertEquals(accepted(uniform), leaves.map(_ => Seq(ColumnKey("u"))))
    assertEquals(uniform.footer.map(_.accepted), Some(Seq(ColumnKey("u"))))
    assertEquals(binding("k: ssn", footer = None).footer, None)
  }

  test("names that Spark takes for the same are the same") {
    // Each in lower case is the other's lower case; İ becomes two characters.
    Seq("SSN" -> "ssn", "straße" -> "STRAßE", "İd" -> "i̇d", "ΟΔΟΣ" -> "οδος", "KEY" -> "key").foreach {
      case (pattern, name) =>
        Seq(pattern -> name, name -> pattern).foreach { case (one, other) =>
          assertEquals(
            accepted(binding(s"k: $one"), Seq(leaf(other))),
            Seq(Seq(ColumnKey("k"))),
            s"$one, $other"
          )
        }
    }
    assertEquals(accepted(binding("k: SSN", exact = true)).head, Seq(FooterKey))
  }
}
