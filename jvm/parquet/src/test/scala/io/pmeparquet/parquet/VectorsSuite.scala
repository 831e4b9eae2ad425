package io.pmeparquet.parquet

import java.lang.ref.Reference
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path => LocalPath, Paths}
import java.util.Base64

import scala.collection.immutable.ListMap
import scala.collection.JavaConverters._
import scala.util.{Success, Try}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.{JsonNodeFactory, NullNode}
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter
import org.apache.parquet.example.data.Group
import org.apache.parquet.filter2.predicate.{FilterApi, FilterPredicate}
import org.apache.parquet.hadoop.example.GroupReadSupport
import org.apache.parquet.hadoop.ParquetReader
import org.apache.parquet.io.ColumnIOFactory
import org.apache.parquet.schema.{LogicalTypeAnnotation, Type}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose, KmsUse}
import io.pmeparquet.kms.local.StaticSettings
import io.pmeparquet.parquet.file.SplitReader
import io.pmeparquet.parquet.schema.{WantedColumn, WantedColumns}
import io.pmeparquet.parquet.scope.ReadScope

/** The files of tests/vectors: each opens with its rows, or is refused as `conditions.json` says. */
class VectorsSuite extends WrittenFilesSuite {
  private val json = JsonNodeFactory.instance
  private val folder: LocalPath = Iterator
    .iterate(Paths.get("").toAbsolutePath)(_.getParent)
    .map(_.resolve("tests").resolve("vectors"))
    .find(Files.isDirectory(_))
    .get
  private def parsed(name: String) = new ObjectMapper().readTree(folder.resolve(name).toFile)
  private val index = parsed("vectors.json")
  private val conditions = parsed("conditions.json")
  private val cases = index.get("cases").elements.asScala.map(new Case(_)).toSeq

  private class Case(stated: JsonNode) {
    val id: String = stated.get("id").asText
    val file = new Path(folder.resolve(stated.get("file").asText).toUri)
    val isValid: Boolean = stated.get("result").asText == "valid"
    val mayOpen: Boolean = stated.get("result").asText != "invalid"

    /** The rows that a reader may return, as JSON. */
    def rows: String = {
      val rows = stated.path("rows")
      (if (rows.isTextual) index.get("tables").get(rows.asText) else rows).toString
    }

    private def texts(field: String): Seq[(String, String)] =
      Option(stated.get(field)).toSeq.flatMap(_.fields.asScala.map(one => one.getKey -> one.getValue.asText))
    private def bytes(hex: String) = hex.grouped(2).map(Integer.parseInt(_, 16).toByte).toArray
    private val keys = texts("keys")
    private val use = {
      val listed = keys.map { case (name, key) => s"$name=${Base64.getEncoder.encodeToString(bytes(key))}" }
      KmsUse(StaticSettings(new Secret(listed.mkString("\n"))), None, KeyAudit.off(KeyPurpose.Read))
    }
    private def named = {
      val columns = texts("columnKeys").map { case (path, key) => s"${keys.find(_._2 == key).get._1}: $path" }
      Seq("footerKey" -> "footer") ++
        (if (columns.isEmpty) Nil else Seq("columnKeys" -> columns.mkString("; ")))
    }
    private val options = Seq("algorithm" -> stated.get("algorithm").asText) ++
      Option(stated.get("aadPrefix")).map("aadPrefix" -> _.asText) ++
      (stated.get("keyMetadata").asText match {
        case "none" => ("keyManagement" -> "direct") +: named
        case "keyId" => Seq("keyManagement" -> "direct")
        case _ => Nil
      })

    /** Whether the read must name the keys of columns, which only our own pipeline takes. */
    def namesColumns: Boolean = stated.has("columnKeys") && stated.get("keyMetadata").asText == "none"

    /** A new one for each read. */
    def scope: ReadScope = reader(use, options: _*)

    /** A query that uses an index or a Bloom filter. */
    val filter: Option[FilterPredicate] = Option(stated.get("filter")).map { filter =>
      val (column, value) = (filter.get("column").asText, filter.get("value"))
      val isEqual = filter.get("op").asText == "="
      if (column == "id") {
        val (id, is) = (FilterApi.longColumn(column), Long.box(value.asLong))
        if (isEqual) FilterApi.eq(id, is) else FilterApi.gtEq(id, is)
      } else {
        val (number, is) = (FilterApi.intColumn(column), Int.box(value.asInt))
        if (isEqual) FilterApi.eq(number, is) else FilterApi.gtEq(number, is)
      }
    }
  }

  // ---- rows as JSON

  private def struct(group: Group): JsonNode = {
    val made = json.objectNode()
    group.getType.getFields.asScala.foreach(field =>
      made.set[JsonNode](field.getName, value(group, field)): Unit
    )
    made
  }

  private def value(group: Group, field: Type): JsonNode = {
    val name = field.getName
    if (group.getFieldRepetitionCount(name) == 0) NullNode.instance
    else if (field.isPrimitive)
      field.asPrimitiveType.getPrimitiveTypeName match {
        case PrimitiveTypeName.INT32 => json.numberNode(group.getInteger(name, 0))
        case PrimitiveTypeName.INT64 => json.numberNode(group.getLong(name, 0))
        case _ => json.textNode(group.getString(name, 0))
      }
    else nested(group.getGroup(name, 0), field.getLogicalTypeAnnotation)
  }

  private def nested(group: Group, kind: LogicalTypeAnnotation): JsonNode =
    if (kind == null) struct(group)
    else {
      val made = json.arrayNode()
      (0 until group.getFieldRepetitionCount(0)).map(group.getGroup(0, _)).foreach { entry =>
        val values = entry.getType.getFields.asScala.map(value(entry, _)).toSeq
        made.add(if (values.size == 1) values.head else json.arrayNode().addAll(values.asJava)): Unit
      }
      made
    }

  // ---- the two pipelines

  private def all(split: SplitReader, filter: Option[FilterPredicate], vectorized: Boolean) =
    split.rowGroups(0, Long.MaxValue / 2, split.metadata.getSchema, filter, vectorized)

  /** Our pipeline of pages, with parquet-java's record assembly. */
  private def byPages(one: Case): String = {
    val split = new SplitReader(one.scope, one.file, conf)
    try {
      val (schema, made) = (split.metadata.getSchema, json.arrayNode())
      all(split, None, vectorized = false).foreach { group =>
        val columns = new ColumnIOFactory().getColumnIO(schema)
        val rows = columns.getRecordReader(group.pages(None), new GroupRecordConverter(schema))
        (0L until group.rowCount).foreach(_ => made.add(struct(rows.read())): Unit)
      }
      made.toString
    } finally split.close()
  }

  /** A query that uses an index or a Bloom filter, of which only the failure counts. */
  private def query(one: Case, filter: FilterPredicate): Unit = {
    val split = new SplitReader(one.scope, one.file, conf)
    try all(split, Some(filter), vectorized = true).foreach(_.pages(None))
    finally split.close()
  }

  /** What `reader=spark` does: our look at lengths and headers, then parquet-java with our keys. */
  private def byParquetJava(one: Case): String = {
    val scope = one.scope
    val split = new SplitReader(scope, one.file, conf)
    try {
      val leaves = split.metadata.getSchema.getColumns.asScala.map(leaf => WantedColumn(leaf.getPath.toSeq))
      split.check(0, Long.MaxValue / 2, 0, WantedColumns(leaves.toSeq, caseSensitive = true))
    } finally split.close()
    val own = new Configuration(false)
    PmeCryptoFactory.useForRead(own, scope)
    val made = json.arrayNode()
    val rows = ParquetReader.builder(new GroupReadSupport, one.file).withConf(own).build()
    try Iterator.continually(rows.read()).takeWhile(_ != null).foreach(row => made.add(struct(row)): Unit)
    finally rows.close()
    Reference.reachabilityFence(scope)
    made.toString
  }

  private def refusal(step: => Any): Option[String] =
    try {
      step
      None
    } catch { case failed: PmeException => Some(failed.getCondition()) }

  test("a file opens with exactly the rows of the index, or is refused as conditions.json says") {
    val found = cases.flatMap { one =>
      val refused = refusal(assertEquals(byPages(one), one.rows, one.id))
      // A scan does not open the module that a query with this filter needs.
      if (one.filter.isDefined) assertEquals(refused, None, one.id)
      refused.orElse(one.filter.flatMap(filter => refusal(query(one, filter)))).map(one.id -> _)
    }
    val text = new ObjectMapper().writerWithDefaultPrettyPrinter.writeValueAsString(ListMap(found: _*).asJava)
    if (sys.env.contains("UPDATE_DOCS"))
      Files.write(folder.resolve("conditions.json"), s"$text\n".getBytes(UTF_8))
    assertEquals(text, Files.readString(folder.resolve("conditions.json")).trim)
    val refused = found.map(_._1).toSet
    // An invalid case has no rows, so it cannot open. Of the valid ones, this has an `aad_file_unique` of another length.
    assertEquals(cases.filter(one => one.isValid && refused(one.id)).map(_.id), Seq("unique-16-bytes"))
    assertEquals(cases.filter(_.filter.isDefined).map(_.id).filterNot(refused), Nil)
  }

  test("parquet-java's own reader opens files with the same rows, and none whose result is invalid") {
    cases.foreach { one =>
      val found = Try(byParquetJava(one))
      if (one.isValid && !conditions.has(one.id) && !one.namesColumns)
        assertEquals(found, Success(one.rows), one.id)
      else if (one.mayOpen && found.isSuccess) assertEquals(found.get, one.rows, one.id)
      else assert(found.isFailure, one.id)
    }
  }
}
