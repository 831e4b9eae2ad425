package io.pmeparquet.spark.admin.migration

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.orc.{OrcFile => OrcWriters, TypeDescription}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.types._

import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.orc.tail.{OpenedOrc, OrcTail}
import io.pmeparquet.PmeException

/** What fits a table, and what would lose values or columns. */
class OrcTypeFitSuite extends munit.FunSuite {
  private val conf = new Configuration(false)
  private val SparksType = "spark.sql.catalyst.type"

  private def file(schema: String, notes: (String, String)*): OrcTail = {
    val path = Files.createTempDirectory("pme-fit").resolve("a.orc")
    try {
      val kind = TypeDescription.fromString(schema)
      notes.foreach { case (column, note) => kind.findSubtype(column).setAttribute(SparksType, note) }
      val to = new Path(path.toUri)
      OrcWriters.createWriter(to, OrcWriters.writerOptions(conf).setSchema(kind)).close()
      OpenedOrc.tailOf(to, Files.size(path), conf)
    } finally {
      Files.list(path.getParent).forEach(one => Files.delete(one))
      Files.delete(path.getParent)
    }
  }

  private def misfit(orc: String, wanted: DataType, notes: (String, String)*) = {
    val table = new StructType().add("c", wanted)
    new OrcTypeFit(table, caseSensitive = false)
      .misfit(file(s"struct<c:$orc>", notes: _*).types, byPosition = false)
  }

  private val kinds = Seq[(String, DataType)](
    "boolean" -> BooleanType,
    "tinyint" -> ByteType,
    "smallint" -> ShortType,
    "int" -> IntegerType,
    "bigint" -> LongType,
    "float" -> FloatType,
    "double" -> DoubleType,
    "string" -> StringType,
    "binary" -> BinaryType,
    "date" -> DateType,
    "timestamp" -> TimestampType,
    "decimal(5,2)" -> DecimalType(5, 2),
    "char(5)" -> parsed("char(5)"),
    "varchar(5)" -> parsed("varchar(5)")
  )

  // The constructors of these types are not the same in each Spark that the suites run on.
  private def parsed(text: String) = CatalystSqlParser.parseDataType(text)
  private val integers = Seq("tinyint", "smallint", "int", "bigint")

  /** What a reader widens without a loss. */
  private val wider =
    integers.tails
      .flatMap(_.headOption)
      .flatMap(one => integers.dropWhile(_ != one).tail.map(one -> _))
      .toSet ++ Set(
      "float" -> "double",
      "string" -> "char(5)",
      "string" -> "varchar(5)",
      "varchar(5)" -> "string"
    )

  test("of all pairs of simple types, the same ones fit, and those that lose nothing") {
    for ((orc, _) <- kinds; (name, wanted) <- kinds)
      assertEquals(misfit(orc, wanted).isEmpty, orc == name || wider(orc -> name), s"$orc as $name")
  }

  test("a decimal, CHAR or VARCHAR fits one that holds all its values") {
    val fits = Seq(DecimalType(10, 2), DecimalType(7, 4), DecimalType(5, 2)).map("decimal(5,2)" -> _) ++
      Seq("char(5)" -> parsed("char(6)"), "varchar(5)" -> parsed("varchar(6)"))
    val not = Seq(DecimalType(6, 4), DecimalType(5, 1), DecimalType(4, 2)).map("decimal(5,2)" -> _) ++
      Seq("char(5)" -> parsed("char(4)"), "varchar(5)" -> parsed("varchar(4)"), "char(5)" -> StringType)
    fits.foreach { case (orc, wanted) => assertEquals(misfit(orc, wanted), None, s"$orc as $wanted") }
    not.foreach { case (orc, wanted) => assert(misfit(orc, wanted).isDefined, s"$orc as $wanted") }
  }

  test("types that only Spark knows fit themselves, stored as Spark stores them") {
    val interval = DayTimeIntervalType()
    val months = YearMonthIntervalType()
    assertEquals(misfit("bigint", interval, "c" -> interval.typeName), None)
    assertEquals(misfit("int", months, "c" -> months.typeName), None)
    assertEquals(misfit("bigint", TimestampNTZType, "c" -> TimestampNTZType.typeName), None)
    assertEquals(misfit("timestamp", TimestampType, "c" -> TimestampType.typeName), None)
    Seq[(String, DataType, String)](
      ("bigint", interval, TimestampNTZType.typeName),
      ("bigint", LongType, interval.typeName),
      ("bigint", IntegerType, "int"),
      ("string", IntegerType, "int"),
      ("bigint", LongType, "no type at all"),
      ("timestamp", TimestampNTZType, TimestampNTZType.typeName)
    ).foreach { case (orc, wanted, note) =>
      assert(misfit(orc, wanted, "c" -> note).isDefined, s"$orc, noted as $note, as $wanted")
    }
    assert(misfit("bigint", TimestampNTZType).isDefined)
    assert(misfit("bigint", interval).isDefined)
  }

  test("nested columns fit or not as others, and the misfit is named") {
    val struct = new StructType().add("a", LongType).add("more", StringType)
    val nested = ArrayType(MapType(StringType, struct))
    assertEquals(misfit("array<map<string,struct<a:int>>>", nested), None)
    Seq("array<map<string,struct<a:double>>>", "array<map<string,struct<b:int>>>").foreach { orc =>
      val (name, why) = misfit(orc, nested).getOrElse(fail(orc))
      assert(name.startsWith("c.element.value."), s"$name $why")
    }
    assert(misfit("array<map<int,struct<a:int>>>", nested).exists(_._1 == "c.element.key"))
    assert(misfit("struct<a:int>", ArrayType(IntegerType)).isDefined)
  }

  test("a column that the table lacks does not fit, by name or by position") {
    val table = new StructType().add("ID", LongType).add("ssn", StringType)
    def of(orc: String, byPosition: Boolean = false, caseSensitive: Boolean = false) =
      new OrcTypeFit(table, caseSensitive).misfit(file(orc).types, byPosition).map(_._1)
    assertEquals(of("struct<ssn:string,id:int>"), None)
    assertEquals(of("struct<ssn:string,id:int>", caseSensitive = true), Some("id"))
    assertEquals(of("struct<ssn:string,id:int,extra:int>"), Some("extra"))
    assertEquals(of("struct<_col0:int,_col1:string>", byPosition = true), None)
    assertEquals(of("struct<_col0:string>", byPosition = true), Some("_col0"))
    assertEquals(of("struct<_col0:int,_col1:string,_col2:int>", byPosition = true), Some("_col2"))
  }

  test("names that only Spark takes for none, and notes of other types, are refused") {
    def refused(tail: OrcTail, isNamed: Boolean) =
      intercept[PmeException](OrcFileCheck.check(tail, isNamed, Nil, caseSensitive = false)).getMessage
    assert(refused(file("struct<_colour:int,_col1:int>"), isNamed = true).contains("_col"))
    assert(refused(file("struct<c:string>", "c" -> "int"), isNamed = false).contains("notes a type of Spark"))
    assert(refused(file("struct<c:bigint>", "c" -> "?"), isNamed = false).contains("notes a type of Spark"))
  }

  test("an encrypted column that no leaf of the target has is lost") {
    val leaves = Seq(LeafColumn(Seq("id"), Seq("id")), LeafColumn(Seq("s", "A"), Seq("s", "A")))
    val names = List(List("ID"), List("s", "a"), List("ssn_old"), List("ssn_old"))
    assertEquals(MigrationPlanning.lost(names, leaves, caseSensitive = false), Seq(List("ssn_old")))
    assertEquals(MigrationPlanning.lost(names, leaves, caseSensitive = true).size, 3)
  }

  test("options that say how to reach a KMS do not say what files contain") {
    val same =
      Map("KMS" -> "vault", "kms.aws.encryptionContext" -> "{}", "columnKeys" -> "k: a", "parquet.x" -> "1")
    val others = PmeOptions.kmsOptions
      .map(_.name)
      .filterNot(same.keySet.map(_.toLowerCase) + "kms.aws.encryptionContext")
    assert(others.size > 10)
    val connection =
      others.map(_ -> "x").toMap + ("pme.python.kms" -> "python-1") + ("KMS.vault.TOKEN" -> "env:T")
    assertEquals(OrcMigrationRun.ofContent(same ++ connection), same)
  }
}
