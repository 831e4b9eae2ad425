package io.pmeparquet.parquet.schema

import munit.FunSuite
import org.apache.hadoop.fs.Path
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.parquet.write.WriteRules

class WantedColumnsSuite extends FunSuite {
  private val schema = MessageTypeParser.parseMessageType("""message m {
    optional binary Name (UTF8) = 1;
    optional group s = 2 { optional int32 a = 3; optional int32 b = 4; }
    optional group tags (LIST) { repeated group bag { optional group array { optional int32 x; optional int32 y; } } }
    optional group odd (LIST) { repeated group thing { optional int32 inner; } }
  }""")
  private def found(columns: WantedColumn*)(caseSensitive: Boolean = false) =
    WantedColumns(columns, caseSensitive).in(schema).map(_.path.mkString("."))

  test("a column is found by name, case-sensitive or not according to Spark's setting") {
    assertEquals(found(WantedColumn(Seq("name")))(), Seq("Name"))
    assertEquals(found(WantedColumn(Seq("name")))(caseSensitive = true), Nil)
    assertEquals(found(WantedColumn(Seq("s", "a")))(), Seq("s.a"))
  }

  test("a column that the file lacks requests none of the others") {
    assertEquals(found(WantedColumn(Seq("absent")), WantedColumn(Seq("s", "absent")))(), Nil)
  }

  test("a column matched by field id is found under any name, and not by its own name") {
    assertEquals(found(WantedColumn(Seq("renamed"), fieldId = Some(1)))(), Seq("Name"))
    assertEquals(found(WantedColumn(Seq("name"), fieldId = Some(9)))(), Nil)
    assertEquals(found(WantedColumn(Seq("t", "a"), fieldId = Some(2)))(), Seq("s.a"))
  }

  test("fields matched by id within a column request the whole column") {
    assertEquals(found(WantedColumn(Seq("s", "b"), byNestedIds = true))(), Seq("s.a", "s.b"))
  }

  test("an unknown spelling of a list requests the whole list") {
    assertEquals(
      found(WantedColumn(Seq("tags", "element", "x"), inCollection = true))(),
      Seq("tags.bag.array.x")
    )
    assertEquals(
      found(WantedColumn(Seq("tags", "element", "array", "x"), inCollection = true))(),
      Seq("tags.bag.array.x", "tags.bag.array.y")
    )
  }

  test("partition columns come from the directories below the table") {
    def of(file: String, table: String) = WriteRules.partitionColumns(new Path(file), table).toSet
    assertEquals(of("file:/t/_temporary/0/a=1/b%3Dc=2/f.parquet", "/t"), Set("a", "b=c"))
    assertEquals(of("file:/x=1/t/f.parquet", "/x=1/t"), Set.empty[String])
    assertEquals(of("file:/x=1/f.parquet", "/x=1"), Set.empty[String])
  }
}
