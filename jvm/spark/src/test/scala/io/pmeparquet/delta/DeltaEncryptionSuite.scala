package io.pmeparquet.delta

import org.apache.spark.sql.types.{StringType, StructType}

import io.pmeparquet.delta.DeltaEncryption.FilesFound
import io.pmeparquet.parquet.inspect.{FileUse, FoundProtection, KeyUse}
import io.pmeparquet.Condition

class DeltaEncryptionSuite extends munit.FunSuite {
  private val keys = Map("id" -> None, "ssn" -> Some("pii"))
  private val id = FoundProtection("id", FoundProtection.Plaintext)
  private val ssn = FoundProtection("ssn", FoundProtection.ColumnKey, Some("pii"))
  private val footer = KeyUse(Some("footer"), kind = KeyUse.Footer)

  private def fits(columns: Seq[FoundProtection], footer: KeyUse = footer, isEncrypted: Boolean = true) =
    DeltaEncryption.fits(FileUse(List(footer), isEncrypted, Some(columns.toList)), keys, "footer")

  test("files with the right keys are not rewritten") {
    assert(fits(Seq(id, ssn)))
    assert(fits(Seq(id, ssn.copy(column = "SSN"))))
    assert(fits(Seq(id.copy(kind = FoundProtection.FooterKey, masterKey = Some("footer")), ssn)))
  }

  test("a file with another key of its footer, or of any column, is rewritten") {
    for (
      other <- Seq(
        ssn.copy(masterKey = Some("old")),
        ssn.copy(masterKey = None),
        ssn.copy(kind = FoundProtection.Plaintext, masterKey = None),
        ssn.copy(kind = FoundProtection.FooterKey, masterKey = Some("footer")),
        id.copy(kind = FoundProtection.ColumnKey, masterKey = Some("pii")),
        id.copy(kind = FoundProtection.FooterKey, masterKey = None),
        ssn.copy(column = "dropped"),
        id.copy(column = "dropped")
      )
    )
      assert(!fits(Seq(id, ssn, other)), other)
    assert(!fits(Seq(id, ssn), footer.copy(masterKeyId = Some("old"))))
    assert(!fits(Seq(id, ssn), footer.copy(masterKeyId = None)))
    assert(!fits(Seq(id, ssn), isEncrypted = false))
    assert(!fits(Nil))
  }

  private val footerName = DeltaTable.FooterKeyName -> "footer"
  private val columnsName = DeltaTable.ColumnKeysName -> "pii: ssn"

  private def plan(properties: (String, String)*) =
    DeltaKeyPlan(Nil, Map("ssn" -> Some("pii"), "id" -> None), properties.toMap, Nil, Nil, None)

  test("columns that Delta adds to files have the key of unlisted ones") {
    val schema = new StructType().add("ssn", StringType).add("Day", StringType)
    val table = new DeltaTable(
      "t",
      Map("delta.rowTracking.materializedRowIdColumnName" -> "_row-id-col-1"),
      schema,
      Seq("Day")
    )
    for (
      (made, key) <- Seq(
        plan(footerName, columnsName) -> None,
        plan(footerName, columnsName, DeltaTable.CompleteName -> "true") -> Some("footer"),
        plan(footerName) -> Some("footer")
      )
    )
      assertEquals(
        made.keysOf(table),
        Map("ssn" -> Some("pii"), "id" -> None, "day" -> key, "_row-id-col-1" -> key)
      )
  }

  test("a column is readable in the log only if no part of it has a key") {
    val nested = plan(footerName).copy(stored =
      Map("id" -> None, "home.zip" -> None, "home.street" -> Some("pii"), "`a.b`" -> None)
    )
    assertEquals(nested.readable, Set("id", "a.b"))
  }

  private def unfinished(found: FilesFound, rewrites: Long) =
    DeltaEncryption.unfinished("people", found, rewrites)

  test("four conflicts are reported as such") {
    val failed = unfinished(FilesFound(3, 0, 0), 0)
    assertEquals(failed.condition, Condition.Unsupported)
    val text = failed.getMessage
    assert(text.contains("nothing was rewritten"), text)
    assert(text.contains("another session came first in each of 4 attempts"), text)
    assert(text.contains("0 of 3 live files do not have these keys"), text)
    assert(!text.contains("plaintext"), text)
  }

  test("files that are not rotated are reported as such") {
    val failed = unfinished(FilesFound(3, 0, 0), 4)
    assertEquals(failed.condition, Condition.Unsupported)
    assert(failed.getMessage.contains("files from before are still live"))
  }

  test("files that stay plaintext are reported as such") {
    val failed = unfinished(FilesFound(3, 2, 1), 4)
    assertEquals(failed.condition, Condition.PlaintextFile)
    assert(failed.getMessage.contains("after 4 rewrites, 2 live files are plaintext"), failed.getMessage)
  }

  private val name = "delta.`/people`"

  test("the statements put the owner's properties back") {
    val retention = "delta.logRetentionDuration"
    val interval = "delta.checkpointInterval"
    val quoted = """interval '7' \ days"""
    for (
      (properties, last) <- Seq(
        Map("x" -> "y") -> Seq(s"UNSET TBLPROPERTIES ('$retention', '$interval')"),
        Map("delta.LogRetentionDuration" -> quoted, interval -> "20") ->
          Seq(s"SET TBLPROPERTIES ('$retention' = 'interval \\'7\\' \\\\ days', '$interval' = '20')"),
        Map(interval -> "20") ->
          Seq(s"SET TBLPROPERTIES ('$interval' = '20')", s"UNSET TBLPROPERTIES ('$retention')")
      )
    ) {
      val compatible = "spark.databricks.delta.vacuum.enforceDeletedFileAndLogRetentionDurationCompatibility"
      val found = EncryptedDeltaTable.statements(name, properties)
      assertEquals(found.init.takeRight(last.size), last.map(text => s"ALTER TABLE $name $text"))
      assertEquals(found.count(_.contains("ALTER")), 1 + last.size)
      // Delta 4 otherwise refuses what Delta 3 has allowed.
      assertEquals(found.init.dropRight(last.size + 1).last, s"SET $compatible=false")
      assertEquals(found.last, s"RESET $compatible")
    }
  }

  test("the statements warn before VACUUM, and set the session back") {
    val found = EncryptedDeltaTable.statements(name, Map.empty)
    val at = found.indexOf(s"VACUUM $name RETAIN 0 HOURS")
    assert(found(at - 1).startsWith("-- stop all queries and writes"))
    assert(found(at - 1).contains("time travel"))
    val check = "spark.databricks.delta.retentionDurationCheck.enabled"
    assertEquals((found.head, found(at + 1)), (s"SET $check=false", s"RESET $check"))
  }
}
