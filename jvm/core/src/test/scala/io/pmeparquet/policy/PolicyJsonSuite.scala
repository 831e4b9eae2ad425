package io.pmeparquet.policy

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import scala.collection.JavaConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.JsonNode
import munit.FunSuite

import io.pmeparquet.{Condition, PmeException, StoredFormats, StrictJson}
import io.pmeparquet.policy.Policies.{json, of, schema}

/** A policy is read strictly, and its published schema says the same as its reader. */
class PolicyJsonSuite extends FunSuite with StoredFormats {
  private val folder = stored("policy-1") { folder =>
    write(
      folder.resolve("company.json"),
      json(readers = """"snapshot": "require"""", number = 7).getBytes(UTF_8)
    )
  }

  test("a stored policy has its tags, defaults and number") {
    val policy = PolicyJson.parse(Files.readAllBytes(folder.resolve("company.json")), "company.json")
    assertEquals((policy.name, policy.number), ("company", 7L))
    assertEquals(policy.tags.map(tag => (tag.tag, tag.key)), Seq("pii" -> "pii"))
    assertEquals(policy.keys, Seq("footer", "pii"))
    assertEquals(policy.readers, PolicyReaders(bindsColumns = true, "error", "error", Some("require"), None))
  }

  private def refused(text: String, words: String*): Unit = {
    val failed = intercept[PmeException](of(text))
    assertEquals(failed.condition, Condition.BadOption: Condition)
    words.foreach(word => assert(failed.getMessage.contains(word), failed.getMessage))
  }

  test(
    "a policy has tags in their order, defaults and requirements; what it leaves out is the strict default"
  ) {
    val policy =
      of(json(tags = """{"tag": "b", "key": "k-{c}", "columns": ["x.*"]}, {"tag": "a", "key": "k2"}"""))
    assertEquals(policy.tags.map(tag => tag.tag -> tag.key), Seq("b" -> "k-{c}", "a" -> "k2"))
    assertEquals(policy.keys, Seq("footer", "k-{c}", "k2"))
    val bare = of(json(defaults = """"footerKey": "footer"""")).defaults
    assertEquals((bare.unlistedColumns, bare.algorithm, bare.plaintextFooter), ("error", "AES_GCM_V1", false))
    assertEquals(policy.readers, PolicyReaders(bindsColumns = true, "error", "error", None, None))
  }

  for (
    (what, text) <- Seq(
      "no JSON" -> "{",
      "a list" -> "[]",
      "text behind it" -> (json() + "{}"),
      "a name twice" -> json().replace("\"number\": 1", "\"number\": 1, \"number\": 2"),
      "another format" -> json().replace("pme-parquet policy", "policy"),
      "a later version" -> json().replace("\"version\": 1", "\"version\": 2"),
      "a number as text" -> json().replace("\"number\": 1", "\"number\": \"1\""),
      "a number with a fraction" -> json().replace("\"number\": 1", "\"number\": 1.5"),
      "number 0" -> json(number = 0),
      "no default for columns without a tag, and no tags" -> json(
        tags = "",
        defaults = "\"footerKey\": \"f\""
      ),
      "no key of footers" -> json(defaults = ""),
      "both keys" -> json(defaults = "\"footerKey\": \"f\", \"uniformKey\": \"u\""),
      "one key for all beside tags" -> json(defaults = "\"uniformKey\": \"u\""),
      "a tag twice" -> json(tags = """{"tag": "a", "key": "k"}, {"tag": "a", "key": "l"}"""),
      "a pattern that is none" -> json(tags = """{"tag": "a", "key": "k", "columns": ["a,b"]}"""),
      "a template that is none" -> json(tags = """{"tag": "a", "key": "k-{"}"""),
      "a key with spaces" -> json(tags = """{"tag": "a", "key": " k"}"""),
      "an unknown algorithm" -> json(defaults = "\"footerKey\": \"f\", \"algorithm\": \"NONE\""),
      "letters of another case" -> json(defaults = "\"footerkey\": \"f\"")
    )
  ) test(s"refused: $what")(refused(text))

  test("it is nested, long or has many patterns only within bounds") {
    refused("[" * 100000)
    refused(json() + " " * PolicyJson.MaxBytes, "bytes")
    val many = (0 to PolicyJson.MaxPatterns).map(at => s""""c$at"""").mkString(",")
    refused(json(tags = s"""{"tag": "a", "key": "k", "columns": [$many]}"""), "patterns")
  }

  // The schema and the reader, field by field.

  /** Everything that the schema knows, valid for the reader. */
  private val whole = StrictJson.mapper.readTree(
    json(
      defaults =
        """"footerKey": "f", "unlistedColumns": "footerKey", "algorithm": "AES_GCM_V1", "plaintextFooter": false,
                   | "dataKeyBits": 128, "kekBits": 128, "aadPrefix": "p"""".stripMargin,
      readers =
        """"columns": "bind", "plaintextFiles": "error", "clearLevels": "error", "snapshot": "require",
                  | "verifyKey": "file:/k"""".stripMargin
    ).replace("\"tags\"", "\"catalogTag\": \"pme.tag\", \"tags\"")
  )

  private def accepts(node: JsonNode): Boolean =
    try { PolicyJson.parse(node.toString.getBytes(UTF_8), "p"); true }
    catch { case _: PmeException => false }

  /** The objects of the schema, each with its place in a policy. */
  private val objects: Seq[(String, JsonNode, JsonNode => ObjectNode)] = Seq(
    ("policy", schema, (root: JsonNode) => root.asInstanceOf[ObjectNode]),
    (
      "tag",
      schema.at("/properties/tags/items"),
      (root: JsonNode) => root.at("/tags/0").asInstanceOf[ObjectNode]
    ),
    (
      "defaults",
      schema.at("/properties/defaults"),
      (root: JsonNode) => root.get("defaults").asInstanceOf[ObjectNode]
    ),
    (
      "readers",
      schema.at("/properties/readers"),
      (root: JsonNode) => root.get("readers").asInstanceOf[ObjectNode]
    )
  )

  private def changed(place: JsonNode => ObjectNode)(change: ObjectNode => Any): JsonNode = {
    val copy = whole.deepCopy[JsonNode]()
    change(place(copy))
    copy
  }

  for ((name, described, place) <- objects) test(s"the schema and the reader agree: $name") {
    assert(accepts(whole))
    val fields = described.get("properties").fieldNames.asScala.toSeq
    val known = place(whole).fieldNames.asScala.toSet
    // The two keys exclude each other.
    assertEquals(known ++ (if (name == "defaults") Set("uniformKey") else Set.empty), fields.toSet)
    assertEquals(described.get("additionalProperties").booleanValue, false)
    assert(!accepts(changed(place)(_.put("more", 1))))
    val required = Option(described.get("required")).toSeq.flatMap(_.elements.asScala.map(_.asText)).toSet
    for (field <- fields if known(field)) {
      val isNeeded = required(field) || field == "footerKey"
      assertEquals(accepts(changed(place)(_.remove(field))), !isNeeded, field)
      val of = described.at(s"/properties/$field")
      val wrong = if (of.path("type").asText == "string") "1" else "\"wrong\""
      assert(!accepts(changed(place)(_.set[JsonNode](field, StrictJson.mapper.readTree(wrong)))), field)
      Option(of.get("enum")).toSeq.flatMap(_.elements.asScala).foreach { value =>
        assert(accepts(changed(place)(_.set[JsonNode](field, value))), s"$field $value")
      }
    }
  }
}
