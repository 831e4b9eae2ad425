package io.pmeparquet.parquet.admission

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.parquet.format._

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.columns.{ColumnKeys, FilePlace, KeyBinding, LeafColumn, UnlistedColumns}

/** Checks chunks as footers have them, without files. */
class ColumnCheckSuite extends FunSuite {
  private val leaves = Seq("ssn", "id").map(name => LeafColumn(Seq(name), Seq(name)))
  private val policy =
    KeyBinding(Some("f"), ColumnKeys.parse("pii: ssn"), UnlistedColumns.UseFooterKey, false)

  private def withFooterKey(column: String) = {
    val crypto = ColumnCryptoMetaData.ENCRYPTION_WITH_FOOTER_KEY(new EncryptionWithFooterKey)
    plaintext(column).setCrypto_metadata(crypto)
  }
  private def plaintext(column: String) = {
    val metadata = new ColumnMetaData
    metadata.setPath_in_schema(Seq(column).asJava)
    new ColumnChunk(0L).setMeta_data(metadata)
  }
  private def under(key: String, column: String) = {
    val own = new EncryptionWithColumnKey(Seq(column).asJava).setKey_metadata(key.getBytes(UTF_8))
    new ColumnChunk(0L).setCrypto_metadata(ColumnCryptoMetaData.ENCRYPTION_WITH_COLUMN_KEY(own))
  }
  private def group(chunks: ColumnChunk*) = new RowGroup(chunks.asJava, 0L, 1L)
  private val right = group(under("pii", "ssn"), withFooterKey("id"))

  private val parsed = mutable.ArrayBuffer.empty[String]
  private def check(groups: RowGroup*) = new ColumnCheck(
    policy,
    "/t/f",
    Some("f"),
    (metadata, column) => {
      val id = new String(metadata, UTF_8)
      parsed += id
      if (id.startsWith("{")) throw PmeErrors.keyMetadata(s"/t/f, column '$column'", "it is garbage")
      id
    }
  ).columns(leaves, groups).map { case (leaf, refused) => leaf.display -> refused }

  private def only(found: Seq[(String, PmeException)]) = {
    assertEquals(found.size, 1, found.toString)
    found.head
  }

  test("columns under the required keys pass") {
    assertEquals(check(right, right), Nil)
    assertEquals(check(), Nil)
  }

  test(
    "the error for a column under another key names the found and the required key, once for all row groups"
  ) {
    Seq(
      under("pay", "ssn") -> "encrypted with key 'pay'",
      withFooterKey("ssn") -> "the footer's key, 'f'",
      plaintext("ssn") -> "plaintext"
    )
      .foreach { case (chunk, found) =>
        val wrong = group(chunk, withFooterKey("id"))
        val (column, refused) = only(check(wrong, wrong))
        assertEquals((column, refused.getCondition()), ("ssn", "PME_KEY_METADATA"))
        Seq("/t/f, column 'ssn'", found, "columnKeys requires key 'pii'").foreach(words =>
          assert(refused.problem.contains(words))
        )
      }
  }

  test("the check finds and names the one row group that deviates") {
    val (_, refused) = only(check(right, right, group(withFooterKey("ssn"), withFooterKey("id"))))
    assert(refused.problem.startsWith("/t/f, row group 2, column 'ssn'"), refused.problem)
  }

  test("missing or meaningless key metadata is no key") {
    val garbage = only(check(group(under("{", "ssn"), withFooterKey("id"))))._2
    assertEquals(garbage.getCondition(), "PME_KEY_METADATA")
    val none = under("pii", "ssn")
    none.getCrypto_metadata.getENCRYPTION_WITH_COLUMN_KEY.unsetKey_metadata()
    assertEquals(only(check(group(none, withFooterKey("id"))))._2.getCondition(), "PME_NO_KEY")
    val neither = plaintext("ssn").setCrypto_metadata(new ColumnCryptoMetaData)
    assertEquals(only(check(group(neither, withFooterKey("id"))))._2.getCondition(), "PME_DAMAGED_FILE")
  }

  test("a chunk with another column's name is refused, since some readers find columns by name") {
    val exchanged =
      Seq(group(under("pii", "id"), withFooterKey("id")), group(under("pii", "ssn"), withFooterKey("ssn")))
    exchanged.foreach { chunks =>
      assertEquals(only(check(chunks))._2.getCondition(), "PME_DAMAGED_FILE")
    }
  }

  test("key metadata shared by row groups is parsed once") {
    parsed.clear()
    check(right, right, right)
    assertEquals(parsed.toList, List("pii"))
  }

  test("a policy that requires a footer key is compared with the footer's key") {
    ColumnCheck.footer(policy, "/t/f", Some("f"))
    ColumnCheck.footer(policy.copy(footerKey = None), "/t/f", None)
    Seq(Some("g"), None).foreach { other =>
      val refused = intercept[PmeException](ColumnCheck.footer(policy, "/t/f", other))
      assertEquals(refused.getCondition(), "PME_KEY_METADATA")
      assert(refused.problem.contains("footerKey requires key 'f'"))
    }
  }

  test(
    "before the footer opens, its key has the name that directories give, though names of columns wait for it"
  ) {
    val byCity = policy.copy(footerKey = Some("t-{tenant}"), keys = ColumnKeys.parse("pii-{city}: ssn"))
    def check(of: KeyBinding, directory: String, footerKey: String) =
      ColumnCheck.beforeFooter(of, FilePlace.of(directory), s"$directory/f", Some(footerKey))
    def refused(of: KeyBinding, directory: String, footerKey: String) =
      assertEquals(
        intercept[PmeException](check(of, directory, footerKey)).getCondition(),
        "PME_KEY_METADATA"
      )
    check(byCity, "/t/tenant=acme", "t-acme")
    refused(byCity, "/t/tenant=acme", "t-bolt")
    // Only the footer states the tenant.
    check(byCity, "/t", "t-bolt")
    refused(byCity, "/t", "other")
    check(byCity.copy(footerKey = Some("f")), "/t", "f")
    refused(byCity.copy(footerKey = Some("f")), "/t", "g")
    check(byCity.copy(footerKey = None), "/t", "g")
  }
}
