package io.pmeparquet.delta

import java.io.{FileNotFoundException, IOException}

import scala.collection.mutable

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.delta.DeltaRewrite.Rewritten

class DeltaRewriteSuite extends munit.FunSuite {
  private val rows = (8L, "-4711")

  /** A table whose rewrites make commits, among those of others. */
  private class Table(othersAfter: String*) extends RewritableTable {
    val texts = mutable.ArrayBuffer("", "")
    val seen = mutable.Set.empty[String]
    val compared = mutable.ArrayBuffer.empty[Long]
    var result = (3L, 1L)
    var before: () => Unit = () => ()
    var contents: Long => (Long, String) = (_: Long) => rows
    var beforeUnmark: () => Unit = () => ()

    override val path = "/people"
    override def newest: Long = texts.size - 1L
    override def rewrite(order: Option[String], text: String): (Long, Long) = {
      assertEquals(order, Some("id"))
      assertEquals(seen.toSeq.map(_.endsWith(text)), Seq(true))
      before()
      if (result != ((0L, 0L))) texts += text
      texts ++= othersAfter
      result
    }
    override def commits(text: String, after: Long): Seq[Long] =
      texts.indices.filter(at => at > after && texts(at).endsWith(text)).map(_.toLong)
    override def content(version: Long): (Long, String) = { compared += version; contents(version) }
    override def marks: Seq[String] = seen.toSeq
    override def placeOf(mark: String): String = s"$path/$mark"
    override def mark(name: String): Unit = seen += name
    override def unmark(name: String): Unit = { beforeUnmark(); seen -= name }
  }

  private def rewrite(table: Table) = new DeltaRewrite(table).rewrite(Some("id"))

  // munit intercepts no interruption.
  private def interrupted(table: Table) =
    try fail(s"it was not interrupted: ${rewrite(table)}")
    catch { case _: InterruptedException => () }

  private def finish(table: Table) = new DeltaRewrite(table).finish()

  test("the rows of the own commit are compared, and not those of another session") {
    val table = new Table("another OPTIMIZE", "another")
    assertEquals(rewrite(table), Some(Rewritten(3, 1, Some(8))))
    assertEquals(table.compared.toSeq, Seq(1L, 2L))
    assertEquals(table.marks, Nil)
  }

  test("an empty table has nothing to compare") {
    val table = new Table("another OPTIMIZE")
    table.result = (0, 0)
    assertEquals(rewrite(table), Some(Rewritten(0, 0, None)))
    assertEquals((table.compared.toSeq, table.marks), (Nil, Nil))
  }

  test("a commit that is not in the history is an error") {
    val table = new Table { override def commits(text: String, after: Long): Seq[Long] = Nil }
    assert(intercept[PmeException](rewrite(table)).getMessage.contains("rows were not compared"))
  }

  test("other rows are an error whose advice brings no plaintext back") {
    val table = new Table
    table.contents = version => if (version == 2) (7, "-4711") else rows
    val failed = intercept[PmeException](rewrite(table))
    assertEquals(failed.condition, Condition.DamagedFile)
    assert(failed.getMessage.contains("version 2 has other rows than version 1"))
    val name = "delta.`/people`"
    assert(failed.getMessage.contains(s"INSERT OVERWRITE $name SELECT * FROM $name VERSION AS OF 1"))
    assert(!failed.getMessage.contains("RESTORE TABLE"))
    assert(!failed.getMessage.contains("4711"))
    // It was reported, so the next run does not report it again.
    assertEquals(table.marks, Nil)
  }

  test("a conflict is no failure, and leaves no mark") {
    class ConcurrentAppendException extends RuntimeException
    val table = new Table
    for (conflict <- Seq(new ConcurrentAppendException, new IOException(new ConcurrentAppendException))) {
      table.before = () => throw conflict
      assertEquals(rewrite(table), None)
      assertEquals(table.marks, Nil)
    }
  }

  test("the next run compares what an interrupted one did not") {
    for (
      interrupt <- Seq[Table => Unit](
        _.contents = _ => throw new InterruptedException,
        _.beforeUnmark = () => throw new InterruptedException
      )
    ) {
      val table = new Table
      interrupt(table)
      interrupted(table)
      assertEquals(table.marks.size, 1)
      table.contents = _ => rows
      table.beforeUnmark = () => ()
      table.compared.clear()
      table.texts += "another"
      assertEquals(finish(table), Some(8L))
      assertEquals((table.compared.toSeq, table.marks), (Seq(1L, 2L), Nil))
      assertEquals(finish(table), None)
    }
  }

  test("a run that was interrupted before its commit leaves nothing to compare") {
    val table = new Table
    table.before = () => throw new InterruptedException
    interrupted(table)
    assertEquals(table.marks.size, 1)
    assertEquals(finish(table), None)
    assertEquals((table.compared.toSeq, table.marks), (Nil, Nil))
  }

  test("rows of an interrupted run that cannot be compared anymore are an error") {
    val table = new Table
    val text = s"pme_${"a" * 32}"
    table.seen ++= Seq(s"0-$text", "of somebody else")
    table.texts(1) = s"mine $text"
    table.contents = version => throw new FileNotFoundException(version.toString)
    val failed = intercept[PmeException](finish(table))
    assert(failed.getMessage.contains(s"delete /people/0-$text"), failed.getMessage)
    assertEquals(table.marks.size, 2)
  }
}
