package io.pmeparquet.parquet.schema

import scala.collection.JavaConverters._

import munit.FunSuite
import org.apache.parquet.format.{FieldRepetitionType, FileMetaData, LogicalType, SchemaElement, Type}
import org.apache.parquet.schema.MessageTypeParser

import io.pmeparquet.columns.ColumnKeys

class SchemaColumnsSuite extends FunSuite {
  private val schema = MessageTypeParser.parseMessageType("""message m {
    required int32 a = 1;
    optional group s = 2 {
      optional int32 b = 3;
      optional group t { optional int32 c; optional int32 d; }
      optional group in (LIST) { repeated group list { optional int32 element; } }
    }
    optional group l (LIST) { repeated group list { optional group element { optional int32 x; optional int32 y; } } }
    optional group m (MAP) { repeated group key_value { required int32 key; optional int32 value; } }
    repeated group r { optional int32 e; optional int32 f; }
  }""")

  private def without(leaves: String*) =
    SchemaColumns
      .leaves(SchemaColumns.without(schema, leaves.map(_.split('.').toSeq)))
      .map(_.path.mkString("."))
  private val all = SchemaColumns.leaves(schema).map(_.path.mkString("."))
  private def lacks(leaves: String*)(gone: String*): Unit =
    assertEquals(without(leaves: _*), all.filterNot(leaf => gone.exists(leaf.startsWith)))

  test("a column is omitted") {
    lacks("a")("a")
    lacks()()
  }

  test("a field of a struct is omitted, and so is a struct without fields") {
    lacks("s.b")("s.b")
    lacks("s.t.c")("s.t.c")
    lacks("s.t.c", "s.t.d")("s.t")
    lacks("s.b", "s.t.c", "s.t.d", "s.in.list.element")("s")
  }

  test("a list, a map and a repeated field are omitted whole") {
    lacks("l.list.element.x")("l")
    lacks("m.key_value.value")("m")
    lacks("r.e")("r")
    lacks("s.in.list.element")("s.in")
  }

  test("the remaining columns keep their ids") {
    val struct = SchemaColumns.without(schema, Seq(Seq("s", "t", "c"))).getType(1)
    assertEquals(struct.getId.intValue, 2)
    assertEquals(struct.asGroupType.getType(0).getId.intValue, 3)
  }

  test("a footer's leaves have their names even if a type is unknown") {
    def group(name: String, fields: Int) =
      new SchemaElement(name).setNum_children(fields).setRepetition_type(FieldRepetitionType.OPTIONAL)
    def leaf(name: String) =
      new SchemaElement(name).setType(Type.INT32).setRepetition_type(FieldRepetitionType.OPTIONAL)
    def footer(last: SchemaElement) = {
      val elements =
        Seq(group("m", 3), group("s", 2), group("t", 1), leaf("a"), leaf("b"), leaf("c"), last)
      new FileMetaData(1, elements.asJava, 0, new java.util.ArrayList)
    }
    val names = Seq("s.t.a", "s.b", "c", "d")
    assertEquals(SchemaColumns.namesOf(footer(leaf("d"))), names)
    // parquet-java has no value for this type.
    assertEquals(SchemaColumns.namesOf(footer(leaf("d").setLogicalType(new LogicalType))), names)
  }

  test(
    "anything shaped like a map can be named as one, whatever its annotation, since Spark may read it as one"
  ) {
    val group =
      "optional %s m %s { %s group kv { required int32 a; optional group b { optional int32 c; } } }"
    for ((annotation, repetition) <- Seq("" -> "repeated", "(LIST)" -> "repeated", "(MAP)" -> "repeated")) {
      val text = s"message m { ${group.format("group", annotation, repetition)} }"
      val leaves = SchemaColumns.leaves(MessageTypeParser.parseMessageType(text))
      val covered = ColumnKeys.parsePattern("m.value")
      assertEquals(leaves.map(covered.covers(_, caseSensitive = true)), Seq(false, true), text)
    }
    // A struct is not a map.
    val struct = MessageTypeParser.parseMessageType(
      "message m { optional group s { optional group t { optional int32 a; optional int32 b; } } }"
    )
    assertEquals(SchemaColumns.leaves(struct).flatMap(_.asMap), Nil)
    assertEquals(SchemaColumns.leaves(schema).filter(_.path.head == "m").flatMap(_.asMap), Nil)
  }

  test("a schema loses exactly the leaves that are left out, and groups without any") {
    val paths = Seq(Seq("s", "t", "c"), Seq("s", "t", "d"), Seq("l", "list", "element", "x"))
    val left = SchemaColumns.withoutLeaves(schema, paths)
    assertEquals(
      left.getPaths.asScala.map(_.mkString(".")).toList,
      schema.getPaths.asScala.map(_.mkString(".")).toList.filterNot(paths.map(_.mkString(".")).contains)
    )
    assert(!left.containsPath(Array("s", "t", "c")) && left.containsField("l"))
    assertEquals(
      left.getFields.asScala.map(_.getLogicalTypeAnnotation).toList,
      schema.getFields.asScala.map(_.getLogicalTypeAnnotation).toList
    )
    assertEquals(SchemaColumns.withoutLeaves(schema, Nil), schema)
  }
}
