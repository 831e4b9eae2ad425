package io.pmeparquet.orc

import munit.FunSuite
import org.apache.orc.TypeDescription

import io.pmeparquet.columns.{ColumnKeys, UnlistedColumns}
import io.pmeparquet.options.OrcWriteSettings
import io.pmeparquet.PmeException

/** From `columnKeys` to what ORC's writer reads. ORC itself is asked what that means. */
class OrcColumnsSuite extends FunSuite {
  private val schema = TypeDescription.fromString(
    "struct<id:bigint,ssn:string,s:struct<a:int,b:array<int>>,m:map<string,struct<x:int,y:int>>,u:uniontype<int,string>," +
      "`a.b`:int,`t``k`:int,l:array<struct<x:int>>>"
  )

  private def text(
      keys: String,
      unlisted: UnlistedColumns = UnlistedColumns.Plaintext,
      caseSensitive: Boolean = false
  ) =
    OrcColumns.encryptText(schema, OrcWriteSettings(ColumnKeys.parse(keys), unlisted, None, caseSensitive))

  /** The columns that ORC finds under each key in such a text. */
  private def found(encrypt: String) = {
    val annotated = schema.clone()
    annotated.annotateEncryption(encrypt, null)
    def below(node: TypeDescription): Seq[(String, String)] = {
      val own =
        Option(node.getAttributeValue(TypeDescription.ENCRYPT_ATTRIBUTE)).map(_ -> node.getFullFieldName)
      own.toSeq ++ Option(node.getChildren).toSeq.flatMap(list =>
        (0 until list.size).flatMap(at => below(list.get(at)))
      )
    }
    below(annotated).toSet
  }

  private def condition(run: => Any) = intercept[PmeException](run).getCondition()

  test("leaves have the names of ORC and those of Spark") {
    val leaves = OrcColumns.leaves(schema)
    assertEquals(
      leaves.map(_.path.mkString("/")),
      Seq(
        "id",
        "ssn",
        "s/a",
        "s/b/_elem",
        "m/_key",
        "m/_value/x",
        "m/_value/y",
        "u/0",
        "u/1",
        "a.b",
        "t`k",
        "l/_elem/x"
      )
    )
    assertEquals(leaves(3).display, "s.b.element")
    assertEquals(leaves(6).display, "m.value.y")
  }

  test("a struct, list or map under one key is encrypted as a whole, with its lengths and nulls") {
    assertEquals(found(text("pii: ssn, s")), Set("pii" -> "ssn", "pii" -> "s"))
    assertEquals(found(text("pii: s.a, s.b")), Set("pii" -> "s"))
    assertEquals(found(text("pii: s.b")), Set("pii" -> "s.b"))
    assertEquals(found(text("pii: s.a; pay: s.b")), Set("pii" -> "s.a", "pay" -> "s.b"))
    assertEquals(found(text("pii: m; pay: u")), Set("pii" -> "m", "pay" -> "u"))
    assertEquals(found(text("pii: m.value; pay: l")), Set("pii" -> "m._value", "pay" -> "l"))
    assertEquals(found(text("pii: m.value.x; pay: m.key")), Set("pii" -> "m._value.x", "pay" -> "m._key"))
  }

  test("names and keys with dots, quotes and versions reach ORC as they are") {
    val odd = """{"a:b;c": ["`a.b`"], "pii@2": ["ssn"], "k`q": ["`t``k`"]}"""
    assertEquals(found(text(odd)).map(_._1), Set("a:b;c", "pii@2", "k`q"))
    assertEquals(OrcColumns.keysIn(text(odd), schema).toSet, Set("a:b;c", "pii@2", "k`q"))
  }

  test("names match as Spark's, and what matches nothing or twice is refused") {
    assertEquals(found(text("pii: SSN")), Set("pii" -> "ssn"))
    assertEquals(condition(text("pii: SSN", caseSensitive = true)), "PME_UNKNOWN_COLUMN")
    assertEquals(condition(text("pii: nope")), "PME_UNKNOWN_COLUMN")
    assertEquals(condition(text("pii: ssn; pay: ssn")), "PME_BAD_OPTION")
    assertEquals(condition(text("pii: ssn", UnlistedColumns.Error)), "PME_UNKNOWN_COLUMN")
  }

  test("masks that ORC has pass, for encrypted columns only") {
    val encrypt = text("pii: ssn, s; pay: id")
    // Redaction needs a library that Spark has: tests/orc/test_masks.py.
    for (mask <- Seq("nullify:ssn", "sha256:ssn", "nullify:s", "sha256:ssn;nullify:s.a,id"))
      OrcColumns.requireMasks(schema, encrypt, mask)
    for (mask <- Seq("nullify:m", "nullify:u", "rot13:ssn", "sha256:u", "nullify", "nullify:nope")) {
      val found =
        try {
          OrcColumns.requireMasks(schema, encrypt, mask)
          "accepted"
        } catch { case failed: PmeException => failed.getMessage }
      assert(found.startsWith("[PME_BAD_OPTION]") && found.contains(mask), s"$mask: $found")
    }
  }
}
