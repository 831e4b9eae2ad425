package io.pmeparquet.spark.admin.erase

import munit.FunSuite
import org.apache.hadoop.fs.Path

import io.pmeparquet.columns.KeyValues
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

  private def findings(use: FileUse, closed: Map[(String, Long), Set[String]] = Map.empty): Seq[String] =
    findings(Map("tenant" -> "acme"), closed, "/tenant=acme" -> use)

  private def findings(
      partitions: Map[String, String],
      closed: Map[(String, Long), Set[String]],
      files: (String, FileUse)*
  ): Seq[String] = {
    val keys = new AskedKeys(Seq("acme"), Keys, "w")
    val request =
      ErasureRequest(new Path(table), Seq("acme"), partitions, Nil, Nil, Nil, "somebody")
    val view = new ErasureView(request, keys, closed, caseSensitive = true)
    val ids = files.flatMap(_._2.uses).flatMap(_.masterKeyId)
    keys.meet(ids)
    keys.ask(ids)
    val looked = files.map { case (directory, use) =>
      val file = ListedFile(s"$table$directory/f.parquet", 9L, 0L, hasExternalMaterial = false)
      LookedFile(table, "", file, Right(use))
    }
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

  private def stating(key: String, texts: (String, String)*)(more: KeyUse*) = FileUse(
    List(footer(key)) ++ more,
    isEncrypted = true,
    Some(List(FoundProtection("id", FoundProtection.FooterKey, Some(key)))),
    KeyValues(texts.toMap)
  )

  test("a file whose footer opens states its value, though the key of a column is gone") {
    val gone = KeyUse(Some("gone"), kind = KeyUse.Column, problem = Some(Condition.KeyDestroyed.name))
    def found(files: FileUse*) =
      findings(Map("tenant" -> "acme"), Map.empty, files.map("" -> _): _*)
    val acme = stating("acme", "tenant" -> "acme")()
    assertEquals(found(acme, stating("bolt", "tenant" -> "bolt")()), Nil)
    assertEquals(found(acme, stating("bolt", "tenant" -> "bolt")(gone)), Nil)
    assertEquals(found(stating("acme", "tenant" -> "bolt")(gone)), Seq("shared"))
    assertEquals(found(acme, stating("bolt")(gone)), Seq("left"))
  }

  test("a file of another partition has no rows to erase, whatever it states") {
    def found(directory: String) = findings(
      Map("country" -> "DE", "tenant" -> "acme"),
      Map.empty,
      "/country=DE" -> stating("acme", "tenant" -> "acme")(),
      directory -> stating("other")()
    )
    assertEquals(found("/country=FR"), Nil)
    assertEquals(found("/country=DE"), Seq("left"))
    assertEquals(found(""), Seq("left"))
  }
}
