package io.pmeparquet.spark.admin.erase

import munit.FunSuite
import org.apache.hadoop.fs.Path

import io.pmeparquet.keys.{KeyAdministration, KeyState}
import io.pmeparquet.parquet.inspect.{FileUse, FoundProtection, KeyUse}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.Condition

/** What speaks against destroying keys, of files that nobody writes with options. */
class ErasureViewSuite extends FunSuite {
  private val table = "file:/t"

  /** A KMS that knows only keys that were destroyed, as `gone`. */
  private object Keys extends KeyAdministration {
    override def state(id: String, where: String): KeyState =
      if (id == "gone") KeyState.Destroyed else KeyState.Missing
    override def nameOf(id: String, where: String): String = id
    override def forgets: Boolean = true
    override def create(ids: Seq[String], where: String): Unit = fail("not asked for")
    override def destroy(id: String, where: String): KeyState = fail("not asked for")
    override def consequence: String = "never"
  }

  private def findings(use: FileUse, closed: Map[(String, Long), Set[String]] = Map.empty): Seq[String] = {
    val keys = new AskedKeys(Seq("acme"), Keys, "w")
    val request =
      ErasureRequest(new Path(table), Seq("acme"), Map("tenant" -> "acme"), Nil, Nil, Nil, "somebody")
    val view = new ErasureView(request, keys, closed, caseSensitive = true)
    val ids = use.uses.flatMap(_.masterKeyId)
    keys.meet(ids)
    keys.ask(ids)
    val file = ListedFile(s"$table/tenant=acme/f.parquet", 9L, 0L, hasExternalMaterial = false)
    val looked = Seq(LookedFile(table, "", file, Right(use)))
    view.findings(Nil, Nil, looked, Nil).map(_.kind)
  }

  private def footer(key: String, problem: Option[String] = None) =
    KeyUse(Some(key), kind = KeyUse.Footer, problem = problem)

  private def open(column: FoundProtection) =
    FileUse(List(footer("acme")), isEncrypted = true, Some(List(column)))

  test("a column under a key that is not wrapped is seen") {
    assertEquals(findings(open(FoundProtection("id", FoundProtection.FooterKey, Some("acme")))), Nil)
    Seq(Some("other"), None).foreach { key =>
      assertEquals(findings(open(FoundProtection("id", FoundProtection.ColumnKey, key))), Seq("unknown"))
    }
  }

  test("a file is closed by the KMS's answer and its state of the key, or a record of just this file") {
    def closed(key: String, problem: Condition) =
      FileUse(List(footer(key, Some(problem.name))), isEncrypted = true, None)
    val path = s"$table/tenant=acme/f.parquet"
    assertEquals(findings(closed("gone", Condition.KeyDestroyed)), Nil)
    assertEquals(findings(closed("gone", Condition.KeyDenied)), Seq("unknown"))
    // What opens without the key that is gone stays readable.
    val column = KeyUse(Some("gone"), kind = KeyUse.Column, problem = Some(Condition.KeyDestroyed.name))
    val columns = List(FoundProtection("id", FoundProtection.ColumnKey, Some("gone")))
    assertEquals(
      findings(FileUse(List(footer("other"), column), isEncrypted = true, Some(columns))),
      Seq("left")
    )
    val lost = closed("lost", Condition.KeyNotFound)
    assertEquals(findings(lost), Seq("unknown"))
    assertEquals(findings(lost, Map((path, 9L) -> Set("lost"))), Nil)
    Seq((path, 8L) -> Set("lost"), (path + "x", 9L) -> Set("lost"), (path, 9L) -> Set("other")).foreach { one =>
      assertEquals(findings(lost, Map(one)), Seq("unknown"))
    }
  }
}
