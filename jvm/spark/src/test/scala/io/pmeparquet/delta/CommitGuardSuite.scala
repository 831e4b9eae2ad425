package io.pmeparquet.delta

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.{Metadata, StringType, StructType}

import io.pmeparquet.{Condition, PmeException}

class CommitGuardSuite extends munit.FunSuite {
  private val secret = "canary-4711"
  private val keys = Map(
    "parquet.encryption.footer.key" -> "footer",
    "parquet.encryption.column.keys" -> "pii: ssn"
  )
  private val columns = new StructType().add("id", StringType).add("ssn", StringType).add("day", StringType)
  private val file = """{"add":{"path":"a.parquet","partitionValues":{},"size":7,"dataChange":true,""" +
    """"modificationTime":1"""

  private def session(more: (String, String)*) = {
    val conf = new Configuration(false)
    val encrypts =
      Seq(
        "parquet.crypto.factory.class" -> "io.pmeparquet.parquet.PmeCryptoFactory",
        "pme-parquet.footerKey" -> "footer"
      )
    (encrypts ++ more).foreach { case (name, value) => conf.set(name, value) }
    conf
  }

  private def table(properties: Map[String, String]) =
    new DeltaTable("t", properties, columns, Nil)

  private def written(
      lines: Seq[String],
      before: DeltaTable = table(keys),
      conf: Configuration = session(),
      version: Long = 1,
      mayChangeKeys: Boolean = false,
      readable: Set[String] = Set.empty,
      source: Option[DeltaTable] = None
  ): Seq[String] =
    new CommitGuard(
      new DeltaSettings(conf),
      before,
      mayChangeKeys,
      _.map(_._1).find(readable),
      paths => source.filter(_ => paths.nonEmpty).toSeq
    ).checked(lines, Some(version))

  private def refused(lines: String*)(implicit location: munit.Location): PmeException =
    refusedIn(table(keys), lines)

  private def refusedIn(before: DeltaTable, lines: Seq[String], conf: Configuration = session())(implicit
      location: munit.Location
  ): PmeException = {
    val failed = intercept[PmeException](written(lines, before, conf))
    assertEquals(failed.condition, Condition.Unsupported, failed.getMessage)
    assert(!failed.getMessage.contains(secret), failed.getMessage)
    failed
  }

  private def metadata(
      properties: Map[String, String] = keys,
      fieldMetadata: String = "{}",
      partitions: String = ""
  ) = {
    val json = new ObjectMapper
    def field(name: String, more: String = "{}") =
      s"""{"name":"$name","type":"string","nullable":true,"metadata":$more}"""
    val schema =
      s"""{"type":"struct","fields":[${field("id")},${field("ssn", fieldMetadata)},${field("day")}]}"""
    val action = json.createObjectNode
    val fields = action.putObject("metaData")
    fields.put("id", "0").put("schemaString", schema).put("createdTime", 1L)
    fields.putObject("format").put("provider", "parquet")
    fields.putArray("partitionColumns")
    if (partitions.nonEmpty)
      fields.withArray[com.fasterxml.jackson.databind.node.ArrayNode]("partitionColumns").add(partitions)
    val configuration = fields.putObject("configuration")
    properties.foreach { case (name, value) => configuration.put(name, value) }
    json.writeValueAsString(action)
  }

  test("a commit of a table without keys is written as it is") {
    val lines = Seq(
      s"""{"commitInfo":{"operation":"DELETE","operationParameters":{"predicate":"$secret"},"invented":1}}""",
      """{"invented":{"a":1}}"""
    )
    assertEquals(written(lines, table(Map.empty)), lines)
  }

  test("an action that no code names is refused by its name") {
    assert(refused("""{"invented":{"a":1}}""").getMessage.contains("action 'invented'"))
  }

  test("a field that no code names is refused in each action, by its name") {
    for (
      action <- Seq(
        "add",
        "remove",
        "cdc",
        "metaData",
        "protocol",
        "txn",
        "domainMetadata",
        "checkpointMetadata",
        "sidecar",
        "commitInfo"
      )
    ) {
      val line =
        if (action == "metaData") metadata().dropRight(2) + s""","invented":"$secret"}}"""
        else s"""{"$action":{"invented":"$secret"}}"""
      assert(refused(line).getMessage.contains("field 'invented'"), action)
    }
  }

  test("what is not one action on a line is refused") {
    for (
      line <- Seq(
        "x",
        "[]",
        "{}",
        "1",
        """{"add":1}""",
        """{"txn":{},"add":{}}""",
        "{",
        """{"txn":{}} {}""",
        """{"txn":{},"txn":{}}"""
      )
    )
      assert(refused(line).getMessage.contains("not one action"), line)
  }

  test("a table feature, a metadata domain and a tag that no code names are refused") {
    for (list <- Seq("readerFeatures", "writerFeatures"))
      assert(
        refused(s"""{"protocol":{"$list":["deletionVectors","invented"]}}""").getMessage
          .contains("'invented'")
      )
    assert(
      refused("""{"domainMetadata":{"domain":"invented","configuration":""}}""").getMessage.contains("domain")
    )
    assert(refused(s"""$file,"tags":{"invented":"1"}}}""").getMessage.contains("tag 'invented'"))
  }

  test("statistics of protected columns, and of columns that the table does not have, are refused") {
    for {
      bounds <- Seq("minValues", "maxValues", "nullCount")
      column <- Seq("ssn", "SSN", "unknown")
    } assert(
      refused(s"""$file,"stats":"{\\"$bounds\\":{\\"$column\\":\\"$secret\\"}}"}}""").getMessage
        .contains("minimum")
    )
    val invented = s"""$file,"stats":"{\\"numRecords\\":1,\\"sketch\\":\\"$secret\\"}"}}"""
    assert(refused(invented).getMessage.contains("sketch"))
    assert(
      refused(s"""$file,"stats":"{\\"numRecords\\":\\"$secret\\"}"}}""").getMessage.contains("numRecords")
    )
    // Of a name that appears twice, a parser may show the last one only, and more may follow.
    val twice = s"""{\\"minValues\\":{\\"ssn\\":\\"$secret\\"},\\"minValues\\":{}}"""
    for (text <- Seq(secret, twice, s"{} $secret"))
      assert(refused(s"""$file,"stats":"$text"}}""").getMessage.contains("not JSON"), text)
  }

  test("statistics of readable columns stay") {
    val line =
      s"""$file,"stats":"{\\"numRecords\\":1,\\"tightBounds\\":true,\\"minValues\\":{\\"id\\":\\"a\\"}}"}}"""
    assertEquals(written(Seq(line)), Seq(line))
  }

  test("statistics of a removed file go") {
    val line = s"""{"remove":{"path":"a","stats":"{\\"minValues\\":{\\"ssn\\":\\"$secret\\"}}"}}"""
    assertEquals(written(Seq(line)), Seq("""{"remove":{"path":"a"}}"""))
  }

  test("values of partitions by protected columns are refused") {
    for (action <- Seq("add", "remove", "cdc"))
      assert(
        refused(s"""{"$action":{"path":"a","partitionValues":{"ssn":"$secret"}}}""").getMessage
          .contains("partition")
      )
    assert(refused(metadata(partitions = "ssn")).getMessage.contains("partition"))
    assertEquals(written(Seq(metadata(partitions = "day"))).size, 1)
  }

  test("texts of the definition that name protected columns are refused") {
    val constraint = keys + ("delta.constraints.c" -> s"ssn <> '$secret'")
    assert(refused(metadata(constraint)).getMessage.contains("CHECK"))
    assert(refused(metadata(keys + ("delta.constraints.c" -> "what is (this"))).getMessage.contains("CHECK"))
    assertEquals(written(Seq(metadata(keys + ("delta.constraints.c" -> "day <> ''")))).size, 1)
    for (name <- Seq("CURRENT_DEFAULT", "EXISTS_DEFAULT"))
      assert(refused(metadata(fieldMetadata = s"""{"$name":"'$secret'"}""")).getMessage.contains("default"))
    val generated = s"""{"delta.generationExpression":"concat(ssn, '$secret')"}"""
    assert(refused(metadata(fieldMetadata = generated)).getMessage.contains("generated"))
    for (name <- Seq("delta.identity.highWaterMark", "delta.invented", "invented"))
      assert(refused(metadata(fieldMetadata = s"""{"$name":"$secret"}""")).getMessage.contains(name))
    assertEquals(written(Seq(metadata(fieldMetadata = """{"comment":"a number"}"""))).size, 1)
  }

  test("keys are not changed, dropped or added to, except by a rotation") {
    for (
      after <- Seq(
        Map.empty[String, String],
        keys - "parquet.encryption.column.keys",
        keys + ("parquet.encryption.column.keys" -> "pii: id"),
        keys + ("parquet.encryption.algorithm" -> "AES_GCM_CTR_V1")
      )
    ) {
      assert(refused(metadata(after)).getMessage.contains("keep the table's columns encrypted"))
      assertEquals(written(Seq(metadata(after)), mayChangeKeys = true).size, 1)
    }
    assertEquals(written(Seq(metadata()), table(Map.empty)).size, 1)
  }

  test("properties that choose where keys go are refused, and may be removed one by one") {
    val planted = Map("pme-parquet.kms.vault.url" -> "x", "team.owner" -> "y")
    val failed = refusedIn(table(Map.empty), Seq(metadata(planted)))
    assert(failed.getMessage.contains("choose where keys"))
    assertEquals(written(Seq(metadata(planted - "team.owner")), table(planted)).size, 1)
  }

  test("a file that is not encrypted is refused, unless the commit removes it as well") {
    val add = s"$file}}"
    val failed = intercept[PmeException](written(Seq(add), readable = Set("a.parquet")))
    assert(failed.getMessage.contains("plaintext"), failed.getMessage)
    val again = Seq("""{"remove":{"path":"a.parquet"}}""", add)
    assertEquals(written(again, readable = Set("a.parquet")), again)
    intercept[PmeException](written(Seq("""{"cdc":{"path":"c"}}"""), readable = Set("c")))
  }

  test("the names of Delta's draft protect columns, and choose no KMS") {
    val draft = Map("delta.encryption.footer_key" -> "footer", "delta.encryption.column_keys" -> "pii: ssn")
    val file = """{"add":{"path":"a","partitionValues":{},"size":7,"dataChange":true,"stats":"%s"}}"""
    val stats = file.format("""{\"minValues\":{\"ssn\":\"x\"}}""")
    val failed = refusedIn(table(draft), Seq(stats))
    assert(failed.getMessage.contains("minimum and maximum of protected columns (ssn)"), failed.getMessage)
    for (dropped <- draft.keys) refusedIn(table(draft), Seq(metadata(draft - dropped)))
    for (name <- Seq("kms_id", "kms_configuration", "plaintext_footer", "invented")) {
      val planted = refusedIn(table(Map.empty), Seq(metadata(draft + (s"delta.encryption.$name" -> "x"))))
      assert(planted.getMessage.contains(s"delta.encryption.$name"), planted.getMessage)
    }
  }

  test("a table with files of another one has the keys of that") {
    val files = s"$file}}"
    val source = Some(table(keys))
    for (properties <- Seq(Map.empty[String, String], keys - "parquet.encryption.column.keys")) {
      val failed = intercept[PmeException](
        written(Seq(metadata(properties), files), table(Map.empty), version = 0, source = source)
      )
      assert(failed.getMessage.contains("keep the table's columns encrypted"), failed.getMessage)
    }
    val clone = Seq(metadata(), files)
    assertEquals(written(clone, table(Map.empty), version = 0, source = source).size, 2)
    val plain = Seq(metadata(Map.empty), files)
    assertEquals(written(plain, table(Map.empty), version = 0, source = Some(table(Map.empty))), plain)
    // A deletion vector for a file that the table had before its source got other keys.
    val rotated = Some(table(keys + ("parquet.encryption.footer.key" -> "other")))
    val again = Seq("""{"remove":{"path":"a.parquet"}}""", files)
    assertEquals(written(again, source = rotated).size, 2)
  }

  test("texts of the history are redacted, whichever operation has them") {
    for (operation <- Seq("DELETE", "INVENTED")) {
      val info =
        s"""{"commitInfo":{"operation":"$operation","operationParameters":{"predicate":"[\\"ssn = '$secret'\\"]",""" +
          s""""matchedPredicates":"[{\\"predicate\\":\\"$secret\\",\\"actionType\\":\\"update\\"}]","invented":"$secret",""" +
          s""""mode":"Append","empty":"[]"},"operationMetrics":{"numRows":"12","other":"$secret"},"userMetadata":"$secret",""" +
          s""""tags":{"delta.rowTracking.preserved":"false","x":"$secret"},"isBlindAppend":false}}"""
      val line = written(Seq(info)).mkString
      assert(!line.contains(secret), line)
      for (
        kept <- Seq(
          "\"mode\":\"Append\"",
          "\"numRows\":\"12\"",
          "preserved\":\"false\"",
          "actionType",
          "\"empty\":\"[]\""
        )
      )
        assert(line.contains(kept), line)
      assertEquals(line.split("redacted_by_pme_parquet", -1).length - 1, 6, line)
    }
  }

  test("the mark of encrypt_table stays") {
    val mark = "pme_" + "0123456789abcdef" * 2
    def line(text: String) = s"""{"commitInfo":{"operation":"OPTIMIZE","userMetadata":"$text"}}"""
    assertEquals(written(Seq(line(mark))), Seq(line(mark)))
    assertEquals(written(Seq(line(s"$secret $mark"))), Seq(line(s"redacted_by_pme_parquet() $mark")))
  }

  test("the history and definition keep their texts if the session allows it; statistics stay refused") {
    val allows = session("spark.datasource.pme-parquet.deltaPredicates" -> "allow")
    val info = s"""{"commitInfo":{"operation":"DELETE","operationParameters":{"predicate":"$secret"}}}"""
    assertEquals(written(Seq(info), conf = allows), Seq(info))
    assertEquals(
      written(Seq(metadata(keys + ("delta.constraints.c" -> "ssn <> ''"))), conf = allows).size,
      1
    )
    refusedIn(table(keys), Seq(s"""$file,"stats":"{\\"minValues\\":{\\"ssn\\":\\"a\\"}}"}}"""), allows)
    // Of two spellings the stricter one counts.
    allows.set("spark.datasource.pme-parquet.DELTAPREDICATES", "redact")
    assert(!written(Seq(info), conf = allows).head.contains(secret))
  }

  test("keys of columns in the session protect tables without keys of their own") {
    val own = session("pme-parquet.columnKeys" -> "pii: ssn")
    refusedIn(table(Map.empty), Seq(s"""$file,"stats":"{\\"minValues\\":{\\"ssn\\":\\"a\\"}}"}}"""), own)
  }

  test("a physical name protects a column, and is known in statistics") {
    val schema = new StructType()
      .add("id", StringType)
      .add(
        "ssn",
        StringType,
        nullable = true,
        Metadata.fromJson("""{"delta.columnMapping.physicalName":"col7"}""")
      )
    val mapped =
      new DeltaTable("t", keys + ("parquet.encryption.column.keys" -> "pii: col7"), schema, Nil)
    assertEquals(mapped.protectedBy(mapped.keys), Set("ssn"))
    refusedIn(mapped, Seq(s"""$file,"stats":"{\\"minValues\\":{\\"col7\\":\\"a\\"}}"}}"""))
  }

  test("a session without our factory, or without a footer key, does not commit to a table with keys") {
    val without = new Configuration(false)
    val info = Seq("""{"commitInfo":{"operation":"VACUUM END"}}""")
    assert(refusedIn(table(keys), info, without).getMessage.contains("no crypto factory"))
    without.set("parquet.crypto.factory.class", "x.Y")
    assert(refusedIn(table(keys), info, without).getMessage.contains("x.Y"))
    val noKey = session()
    noKey.unset("pme-parquet.footerKey")
    val failed = intercept[PmeException](written(info, table(Map.empty), noKey))
    assertEquals(failed.condition, Condition.NoKey)
    // A table that is created without files has no checkpoint.
    val created = Seq("""{"commitInfo":{"operation":"CREATE TABLE"}}""")
    assertEquals(written(created, table(Map.empty), noKey, version = 0), created)
    intercept[PmeException](written(info, table(Map.empty), noKey, version = 0))
    intercept[PmeException](written(created :+ s"$file}}", table(Map.empty), noKey, version = 0))
  }

  test("minimum and maximum that a conversion takes from files are refused") {
    val lines = Seq(
      """{"commitInfo":{"operation":"CONVERT"}}""",
      s"""$file,"stats":"{\\"minValues\\":{\\"ssn\\":\\"$secret\\"}}"}}"""
    )
    assert(refusedIn(table(Map.empty), lines).getMessage.contains("NO STATISTICS"))
  }
}
