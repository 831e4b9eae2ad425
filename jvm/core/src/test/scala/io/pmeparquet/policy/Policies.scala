package io.pmeparquet.policy

import java.nio.charset.StandardCharsets.UTF_8

import io.pmeparquet.StrictJson

/** Policies of tests. */
object Policies {

  /** @param defaults JSON, without its braces */
  def json(
      tags: String = """{"tag": "pii", "key": "pii", "columns": ["ssn", "*_ssn"]}""",
      defaults: String = """"footerKey": "footer", "unlistedColumns": "footerKey"""",
      readers: String = "",
      name: String = "company",
      number: Long = 1
  ): String =
    s"""{"format": "pme-parquet policy", "version": 1, "name": "$name", "number": $number,
       | "tags": [$tags], "defaults": {$defaults}, "readers": {$readers}}""".stripMargin

  def of(text: String): Policy = PolicyJson.parse(text.getBytes(UTF_8), "policy.json")

  /** The whole schema. */
  lazy val schema: com.fasterxml.jackson.databind.JsonNode = {
    val stream = getClass.getResourceAsStream("/io/pmeparquet/policy.schema.json")
    try StrictJson.mapper.readTree(stream)
    finally stream.close()
  }
}
