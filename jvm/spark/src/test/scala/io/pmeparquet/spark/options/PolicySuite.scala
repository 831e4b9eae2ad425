package io.pmeparquet.spark.options

import java.io.IOException
import java.net.{InetSocketAddress, URI}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.nio.file.attribute.PosixFilePermissions
import java.security.{KeyPair, KeyPairGenerator, Signature}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.ConcurrentHashMap
import java.util.Base64

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.hadoop.fs.{FSDataInputStream, Path => HadoopPath, RawLocalFileSystem}
import org.apache.parquet.hadoop.api.WriteSupport
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.MetadataBuilder

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.policy.{PolicySignature, TagSource}
import io.pmeparquet.spark.admin.{KeyUsage, Rotation, RotationSettings, TableCopies, Verification, WritePlan}
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.Condition.{BadOption, KeyMetadata, PlaintextFile, UnknownColumn, Unsupported}

/** A policy protects what every writer writes, and nothing of one write, one table or one place weakens it. */
class PolicySuite extends SparkSuite {
  private val ssnAndPay =
    """{"tag": "pii", "key": "pii", "columns": ["SSN", "*_ssn"]}, {"tag": "pay", "key": "pay", "columns": ["salary"]}"""

  private val ofOrc =
    """"footerKey": "f", "unlistedColumns": "plaintext", "algorithm": "AES_GCM_CTR_V1", "plaintextFooter": true"""

  /** A policy of this test, in its own directory. */
  private def policy(
      tags: String = ssnAndPay,
      defaults: String = """"footerKey": "footer", "unlistedColumns": "footerKey"""",
      readers: String = "",
      name: String = "company",
      number: Long = 1
  ): String = stored(json(tags, defaults, readers, name, number), s"$name.json")

  private def json(
      tags: String,
      defaults: String = "\"footerKey\": \"footer\", \"unlistedColumns\": \"footerKey\"",
      readers: String = "",
      name: String = "company",
      number: Long = 1
  ): String =
    s"""{"format": "pme-parquet policy", "version": 1, "name": "$name", "number": $number,
       | "tags": [$tags], "defaults": {$defaults}, "readers": {$readers}}""".stripMargin

  private def stored(text: String, name: String): String = {
    val own = directory.toRealPath().resolve("policies")
    Files.createDirectories(own)
    Files.setPosixFilePermissions(own, PosixFilePermissions.fromString("rwx------"))
    val file = own.resolve(name)
    Files.write(file, text.getBytes(UTF_8))
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"))
    file.toString
  }

  private def obey(policy: String): Unit = setOptions(kms + ("policy" -> policy))

  private def assertFollows(path: String = target): Unit = {
    val usage = KeyUsage.of(spark, path, kms).collect().map(_.toString)
    assert(usage.exists(_.contains("pii")) && usage.exists(_.contains("pay")), usage.mkString("\n"))
    allFiles(path).foreach(file => assert(!new String(Files.readAllBytes(file)).contains("canary-"), file))
  }

  private val writers: Map[String, () => Unit] = Map(
    "save" -> (() => write(people, Map.empty)),
    "overwrite" -> { () =>
      write(people, Map.empty)
      people.write.format("pme-parquet").mode("overwrite").save(target)
    },
    "CTAS" -> { () =>
      people.createOrReplaceTempView("people")
      spark.sql(s"CREATE TABLE t USING `pme-parquet` LOCATION '$target' AS SELECT * FROM people")
    },
    "INSERT" -> { () =>
      people.createOrReplaceTempView("people")
      spark.sql(
        s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$target'"
      )
      spark.sql("INSERT INTO t SELECT * FROM people")
    },
    "stream" -> { () =>
      write(people, Map.empty, s"$directory/source")
      val query = spark.readStream
        .format("pme-parquet")
        .schema(people.schema)
        .load(s"$directory/source")
        .writeStream
        .format("pme-parquet")
        .option("checkpointLocation", s"$directory/checkpoint")
        .trigger(Trigger.AvailableNow())
        .start(target)
      query.awaitTermination()
    },
    "encrypt" -> { () =>
      people.write.parquet(s"$directory/plain")
      TableCopies.encrypt(spark, s"$directory/plain", target, java.util.Map.of(), java.util.Map.of())
    },
    "rekey" -> { () =>
      spark.conf.unset("spark.datasource.pme-parquet.policy")
      write(people, kms + ("footerKey" -> "old"), s"$directory/old")
      obey(policy())
      TableCopies.rekey(spark, s"$directory/old", target, java.util.Map.of(), java.util.Map.of())
    }
  )

  for ((way, make) <- writers)
    test(s"without any option of its own, a write follows the session's policy: $way") {
      obey(policy())
      make()
      assertFollows()
      assertEquals(rows(spark.read.format("pme-parquet").load(target)), rows(people))
    }

  test("a policy given to one write needs no setting of the session") {
    write(people, kms + ("policy" -> policy()))
    assertFollows()
    assertEquals(rows(reader(kms).load(target)), rows(people))
  }

  test("a write asks for the keys of its own columns only") {
    val more =
      s"""$ssnAndPay, {"tag": "x", "key": "missing-x", "columns": ["x"]}, {"tag": "y", "key": "y-{country}", "columns": ["y"]}"""
    obey(policy(tags = more))
    write(people, Map.empty)
    assertFollows()
    assertEquals(rows(spark.read.format("pme-parquet").load(target)), rows(people))
  }

  for (
    (option, value, words) <- Seq(
      ("footerKey", "mine", Seq("'mine'", "footerKey=footer")),
      ("uniformKey", "mine", Seq("'mine'", "footerKey=footer")),
      ("columnKeys", "mine: id", Seq("'mine'", "pii")),
      ("columnKeys", "pay: ssn", Seq("ssn", "'pii'", "'pay'")),
      ("plaintextFooter", "true", Seq("plaintextFooter=false")),
      ("unlistedColumns", "plaintext", Seq("unlistedColumns=footerKey")),
      ("algorithm", "AES_GCM_CTR_V1", Seq("algorithm=AES_GCM_V1"))
    );
    where <- Seq("write", "session", "table")
  )
    test(
      s"refused before anything is written, since it is weaker than the policy: $option=$value of a $where"
    ) {
      obey(policy())
      untouched() {
        refused(BadOption, words: _*) {
          where match {
            case "write" => write(people, Map(option -> value))
            case "session" => setOptions(Map(option -> value)); write(people, Map.empty)
            case _ =>
              people.createOrReplaceTempView("people")
              spark.sql(
                s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` OPTIONS ($option '$value') LOCATION '$target'"
              )
              spark.sql("INSERT INTO t SELECT * FROM people")
          }
        }
      }
    }

  test("a table's stored options may be stricter than the policy, and its readers read it") {
    obey(policy())
    people.createOrReplaceTempView("people")
    spark.sql(
      s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` OPTIONS (columnKeys 'pay: id') LOCATION '$target'"
    )
    spark.sql("INSERT INTO t SELECT * FROM people")
    assertEquals(rows(spark.table("t")), rows(people))
    refused(KeyMetadata, "pay", "id")(
      rows(spark.read.format("pme-parquet").option("columnKeys", "pii: id").load(target))
    )
  }

  test("a table names no policy for others, unless the session trusts it or names the same") {
    val mine = policy(name = "mine")
    write(people, kms + ("policy" -> mine))
    def create() = {
      spark.sql("DROP TABLE IF EXISTS t")
      spark.sql(s"CREATE TABLE t USING `pme-parquet` OPTIONS (policy '$mine') LOCATION '$target'")
    }
    setOptions(kms)
    create()
    refused(BadOption, "policy", "trustedTables")(rows(spark.table("t")))
    setOptions(Map("trustedTables" -> "spark_catalog.default.t"))
    assertEquals(rows(spark.table("t")), rows(people))
    setOptions(Map("policy" -> policy(tags = """{"tag": "other", "key": "other", "columns": ["ssn"]}""")))
    refused(BadOption, "'pii'", "'company'")(rows(spark.table("t")))
  }

  test("a read refuses files that do not follow the policy, and nothing of the read changes that") {
    write(people, kms + ("footerKey" -> "footer"), s"$directory/drifted")
    people.write.parquet(s"$directory/plain")
    obey(policy())
    refused(KeyMetadata, "ssn", "tag 'pii'")(
      rows(spark.read.format("pme-parquet").load(s"$directory/drifted"))
    )
    refused(PlaintextFile)(rows(spark.read.format("pme-parquet").load(s"$directory/plain")))
    refused(BadOption, "plaintextFiles=error") {
      rows(spark.read.format("pme-parquet").option("plaintextFiles", "allow").load(s"$directory/plain"))
    }
    obey(policy(readers = "\"columns\": \"any\"", number = 2))
    assertEquals(rows(spark.read.format("pme-parquet").load(s"$directory/drifted")), rows(people))
  }

  test("verification says which policy files were compared with, and none if it binds no keys of readers") {
    write(people, kms + ("footerKey" -> "footer"), s"$directory/drifted")
    obey(policy())
    val bound = Verification.verify(spark, s"$directory/drifted", kms)
    assert(
      bound.policies.map(_.takeWhile(_ != '(').trim).toSeq == Seq("policy 'company' 1"),
      bound.policies.mkString
    )
    assert(bound.findings.collect().exists(_.toString.contains("tag 'pii' of policy 'company'")))
    obey(policy(readers = "\"columns\": \"any\"", number = 2))
    val free = Verification.verify(spark, s"$directory/drifted", kms)
    assert(free.policies.isEmpty && free.findings.isEmpty)
  }

  test("a column that no tag matches fails the write, unless the policy has a default for it") {
    obey(policy(defaults = "\"footerKey\": \"footer\""))
    untouched()(refused(UnknownColumn, "id")(write(people, Map.empty)))
    write(people.drop("id"), Map.empty)
    val nested = people.selectExpr("named_struct('home_ssn', ssn) AS a", "salary", "ssn")
    untouched("table")(refused(UnknownColumn, "a.home_ssn")(write(nested, Map.empty, s"$directory/nested")))
  }

  test("tags with templates give each partition its keys") {
    obey(policy(tags = """{"tag": "pii", "key": "pii-{country}", "columns": ["ssn"]}"""))
    people
      .selectExpr("*", "if(id % 2 = 0, 'DE', 'FR') AS country")
      .write
      .format("pme-parquet")
      .partitionBy("country")
      .save(target)
    val usage = KeyUsage.of(spark, target, kms).collect().map(_.toString).mkString
    assert(usage.contains("pii-DE") && usage.contains("pii-FR"), usage)
    assertEquals(spark.read.format("pme-parquet").load(target).count(), 40L)
    refused(BadOption, "country")(write(people, Map.empty, s"$directory/whole"))
  }

  test("plan says which tag and pattern gives a column its key, and why a write would be refused") {
    obey(policy())
    val plan = WritePlan.of(spark, people.schema, Nil, Map.empty[String, String])
    assertEquals(
      plan.columns.map(column => (column.path, column.key, column.tag, column.pattern)),
      Seq(
        ("ssn", Some("pii"), Some("pii"), Some("SSN")),
        ("salary", Some("pay"), Some("pay"), Some("salary")),
        ("id", Some("footer"), None, None)
      )
    )
    assertEquals(plan.refusals, Nil)
    assert(plan.policies.mkString.contains("'company' 1"), plan.policies)
    val by = WritePlan.of(spark, people.schema, Seq("ssn"), Map.empty[String, String])
    assert(by.refusals.exists(_.message.contains("ssn")), by.refusals)
  }

  // Tags of catalogs.

  private def byCatalog: String = byCatalog(json(untagged))
  private val untagged = ssnAndPay.replace("\"SSN\"", "\"none\"")

  private def byCatalog(text: String): String =
    stored(text.replace("\"tags\"", "\"catalogTag\": \"pme.tag\", \"tags\""), "company.json")

  private val tables: Map[String, () => Unit] = Map(
    "a comment" -> { () =>
      spark.sql(
        s"CREATE TABLE t (ssn STRING COMMENT 'of a person, pme.tag=pii', salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$target'"
      )
      ()
    },
    "a property" -> { () =>
      spark.sql(
        s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$target' TBLPROPERTIES ('pme.tag.SSN' = 'pii')"
      )
      ()
    }
  )

  for ((where, create) <- tables) test(s"a column has the tag that Spark's catalog shows: $where") {
    obey(byCatalog)
    create()
    people.createOrReplaceTempView("people")
    spark.sql("INSERT INTO t SELECT * FROM people")
    spark.sql("INSERT OVERWRITE t SELECT * FROM people")
    assertFollows()
    assertEquals(rows(spark.table("t")), rows(people))
    // Who reads by path does not know the tag, and accepts its key.
    assertEquals(rows(spark.read.format("pme-parquet").load(target)), rows(people))
    write(people, Map.empty, s"$directory/others")
    allFiles(s"$directory/others")
      .filter(_.toString.endsWith(".parquet"))
      .foreach(file => Files.copy(file, Path.of(target).resolve(file.getFileName)))
    refused(KeyMetadata, "ssn", "tag 'pii'") {
      spark.sql("REFRESH TABLE t")
      rows(spark.table("t"))
    }
  }

  test(
    "metadata of a frame's columns are tags, in writes and plans; a tag that the policy lacks is an error"
  ) {
    obey(byCatalog)
    def tagged(tag: String) = {
      val metadata = new MetadataBuilder().putString("pme.tag", tag).build()
      people.select(col("ssn").as("ssn", metadata), col("salary"), col("id"))
    }
    val plan = WritePlan.of(spark, tagged("pii").schema, Nil, Map.empty[String, String])
    assertEquals(plan.columns.head.key, Some("pii"))
    write(tagged("pii"), Map.empty)
    assertFollows()
    refused(BadOption, "ssn", "'unknown'")(write(tagged("unknown"), Map.empty, s"$directory/other"))
  }

  test("pme-orc sees tags in the metadata of a frame's columns") {
    val metadata = new MetadataBuilder().putString("pme.tag", "pii").build()
    obey(byCatalog(json(untagged, ofOrc)))
    def saved(frame: org.apache.spark.sql.DataFrame, name: String) = {
      frame.write.format("pme-orc").option("compression", "none").save(s"$directory/$name")
      allFiles(name).map(file => new String(Files.readAllBytes(file))).mkString
    }
    assert(saved(people, "without").contains("canary-"))
    val tagged = people.select(col("ssn").as("ssn", metadata), col("salary"), col("id"))
    assert(!saved(tagged, "tagged").contains("canary-"))
    assertEquals(rows(spark.read.format("pme-orc").load(s"$directory/tagged")), rows(people))
  }

  private val ofNewTables: Map[String, () => Unit] = Map(
    "CTAS" -> { () =>
      people.createOrReplaceTempView("people")
      spark.sql(s"CREATE TABLE t USING `pme-parquet` LOCATION '$target' AS SELECT * FROM people")
    },
    "CTAS of ORC" -> { () =>
      people.createOrReplaceTempView("people")
      spark.sql(s"CREATE TABLE t USING `pme-orc` LOCATION '$target' AS SELECT * FROM people")
    }
  )

  for ((way, make) <- ofNewTables)
    test(
      s"a table that one write makes and fills has no tags yet, so it is refused: $way".tag(SparkSuite.Newest)
    ) {
      obey(byCatalog(json(untagged, ofOrc)))
      refused(Unsupported, "tags", "'company'")(make())
      assertEquals(allFiles(target).filter(Files.isRegularFile(_)), Nil)
    }

  test(
    "saveAsTable that overwrites a table makes a new one, so it is refused, and rows stay".tag(
      SparkSuite.Newest
    )
  ) {
    obey(byCatalog(json(untagged, ofOrc)))
    tables("a comment")()
    people.createOrReplaceTempView("people")
    spark.sql("INSERT INTO t SELECT * FROM people")
    refused(Unsupported, "tags", "'company'") {
      people.limit(1).write.format("pme-parquet").option("path", target).mode("overwrite").saveAsTable("t")
    }
    // Spark before 4.0.5 has dropped the table, but not its files, which are at a path that was named.
    assertEquals(rows(spark.read.format("pme-parquet").load(target)), rows(people))
  }

  test("what seems meant as a tag in a table's properties and is none fails the write") {
    obey(byCatalog)
    people.createOrReplaceTempView("people")
    for (
      (property, number) <- Seq(
        "'PME.tag.ssn' = 'pii'",
        "'pme.tag' = 'pii'",
        "'pme.tag.ssn' = ' ,'"
      ).zipWithIndex
    ) {
      val table = s"t$number"
      spark.sql(
        s"CREATE TABLE $table (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$directory/$table' TBLPROPERTIES ($property)"
      )
      refused(BadOption, "tag", "property")(spark.sql(s"INSERT INTO $table SELECT * FROM people"))
    }
  }

  test("a class of the session's gives columns tags, and its failures fail the write") {
    obey(policy(tags = ssnAndPay.replace("\"SSN\"", "\"none\"")))
    setOptions(Map("tagSource" -> classOf[PeoplesTags].getName))
    people.createOrReplaceTempView("people")
    def create(name: String) = spark.sql(
      s"CREATE TABLE $name (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` LOCATION '$directory/$name'"
    )
    create("people_table")
    spark.sql("INSERT INTO people_table SELECT * FROM people")
    assertFollows(s"$directory/people_table")
    assertEquals(rows(spark.table("people_table")), rows(people))
    // By path, too, where nobody knows the tags.
    assertEquals(rows(spark.read.format("pme-parquet").load(s"$directory/people_table")), rows(people))
    create("other_table")
    refused(BadOption, "tagSource", "other_table")(spark.sql("INSERT INTO other_table SELECT * FROM people"))
    refused(BadOption, "tagSource", "session") {
      write(people, keys + ("tagSource" -> classOf[PeoplesTags].getName))
    }
  }

  // Trust.

  private lazy val keyPair: KeyPair = KeyPairGenerator.getInstance("Ed25519").generateKeyPair()

  private def signature(bytes: Array[Byte]): Array[Byte] = {
    val signer = Signature.getInstance("Ed25519")
    signer.initSign(keyPair.getPrivate)
    signer.update(PolicySignature.message(bytes))
    Base64.getEncoder.encode(signer.sign())
  }

  private def sign(file: String): Unit = {
    val path = Path.of(file)
    Files.write(path.resolveSibling(s"${path.getFileName}.sig"), signature(Files.readAllBytes(path)))
    ()
  }

  private def trusting: Map[String, String] = {
    val pem = directory.resolve("policy.pem")
    val text = Base64.getMimeEncoder.encodeToString(keyPair.getPublic.getEncoded)
    Files.write(pem, s"-----BEGIN PUBLIC KEY-----\n$text\n-----END PUBLIC KEY-----\n".getBytes(UTF_8))
    Map("policyKey" -> s"file:$pem")
  }

  test("a file that others can change is refused without a signature, and an altered one with it") {
    val file = policy()
    Files.setPosixFilePermissions(Path.of(file), PosixFilePermissions.fromString("rw-rw-rw-"))
    obey(file)
    untouched()(refused(BadOption, "others can write")(write(people, Map.empty)))
    setOptions(trusting)
    untouched()(refused(BadOption, "no signature")(write(people, Map.empty)))
    sign(file)
    write(people, Map.empty)
    assertFollows()
    Files.write(Path.of(file), json(tags = "", number = 2).getBytes(UTF_8))
    untouched()(refused(BadOption, "does not verify")(write(people, Map.empty, s"$directory/other")))
  }

  test("an older policy put back is refused, in this process and by minPolicy") {
    val file = policy(number = 5)
    obey(file)
    setOptions(trusting)
    sign(file)
    write(people, Map.empty)
    policy(tags = "", number = 4)
    sign(file)
    refused(BadOption, "number 5")(write(people, Map.empty, s"$directory/other"))
    setOptions(Map("minPolicy" -> "company:7"))
    policy(number = 6)
    sign(file)
    refused(BadOption, "company:7")(write(people, Map.empty, s"$directory/other"))
  }

  test("minPolicy is about the session's policy, and a second one has another name") {
    obey(policy())
    setOptions(Map("minPolicy" -> "company:1"))
    write(people, Map("policy" -> policy(name = "team")))
    assertFollows()
  }

  test("a stored policy is refused before anybody looks for it") {
    setOptions(kms)
    val options = ResolvedOptions.of(spark, OptionOrigin.Unknown, Map("policy" -> s"$directory/none.json"))
    val text = refused(BadOption, "policy")(options.asksCatalogs)
    assert(!text.contains("cannot be read"), text)
  }

  test("a file system is opened for a policy only if the session has a key, and allows it") {
    // No such file system is there: opening it is another error.
    obey("elsewhere://host/p/a.json")
    refused(BadOption, "no key that verifies")(write(people, Map.empty))
    setOptions(trusting)
    refused(BadOption, "does not allow")(write(people, Map.empty))
    setOptions(Map("policyAddresses" -> "elsewhere://host/p/"))
    refused(BadOption, "is no path")(write(people, Map.empty))
  }

  test("a signature in a file system is missing only if there is none") {
    val file = policy(name = "far")
    set(Map("fs.far.impl" -> classOf[FarFileSystem].getName, "fs.far.impl.disable.cache" -> "true"))
    obey(s"far:$file")
    setOptions(trusting + ("policyAddresses" -> s"far:${Path.of(file).getParent}/"))
    refused(BadOption, "no signature")(write(people, Map.empty))
    sign(file)
    FarFileSystem.isDenied = true
    try refused(BadOption, "reading failed")(write(people, Map.empty))
    finally FarFileSystem.isDenied = false
    write(people, Map.empty)
    assertFollows()
  }

  test("only a session says whom it trusts, and sessions do not share their policies") {
    for (option <- Seq("policyKey", "minPolicy", "policyAddresses"))
      refused(BadOption, option, "session")(write(people, keys + (option -> "file:/x")))
    obey(policy())
    val other = spark.newSession()
    val before = org.apache.spark.sql.SparkSession.active
    org.apache.spark.sql.SparkSession.setActiveSession(other)
    try
      refused(io.pmeparquet.Condition.NoKey)(
        other.range(1).write.format("pme-parquet").options(kms).save(target)
      )
    finally org.apache.spark.sql.SparkSession.setActiveSession(before)
  }

  test("an address is called only if the session allows it, and its policy must be signed") {
    val bytes = json(tags = ssnAndPay, name = "served").getBytes(UTF_8)
    val answers = new ConcurrentHashMap[String, Array[Byte]](
      java.util.Map.of("/p/a.json", bytes, "/p/a.json.sig", signature(bytes), "/p/b.json", bytes)
    )
    val calls = new AtomicInteger
    val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
    server.createContext(
      "/",
      (exchange: HttpExchange) => {
        val path = exchange.getRequestURI.getPath
        if (path == "/p/moved.json") exchange.getResponseHeaders.add("Location", "/p/a.json")
        calls.incrementAndGet()
        Option(answers.get(path)) match {
          case Some(found) =>
            exchange.sendResponseHeaders(200, found.length.toLong)
            exchange.getResponseBody.write(found)
          case None =>
            val status = if (path.contains("moved")) 302 else if (path.contains("failing")) 500 else 404
            exchange.sendResponseHeaders(status, -1)
        }
        exchange.close()
      }
    )
    server.start()
    try {
      val url = s"http://127.0.0.1:${server.getAddress.getPort}/p/"
      obey(s"${url}a.json")
      refused(BadOption, "does not allow")(write(people, Map.empty))
      setOptions(Map("policyAddresses" -> url))
      refused(BadOption, "no key that verifies")(write(people, Map.empty))
      setOptions(trusting)
      write(people, Map.empty)
      assertFollows()
      for (
        (name, words) <- Seq(
          "b.json" -> "no signature",
          "moved.json" -> "status 302",
          "none.json" -> "status 404",
          "../p/a.json" -> "option policy"
        )
      )
        refused(BadOption, words) {
          obey(url + name)
          write(people, Map.empty, s"$directory/other")
        }
      // What does not verify is not kept, and a failure is no missing signature.
      obey(url + "b.json")
      answers.put("/p/b.json.sig", signature(bytes))
      write(people, Map.empty, s"$directory/b")
      answers.put("/p/failing.json", bytes)
      obey(url + "failing.json")
      refused(BadOption, "status 500")(write(people, Map.empty, s"$directory/other"))
      // Only who would get the same gets what is kept.
      obey(url + "a.json")
      write(people, Map.empty, s"$directory/again")
      val before = calls.get
      set(Map("own.user" -> "x"))
      write(people, Map.empty, s"$directory/anew")
      assert(calls.get > before)
    } finally server.stop(0)
  }

  test("a policy that is swapped within a write never mixes with the other") {
    obey(policy())
    val other = json(tags = """{"tag": "pii", "key": "pii2", "columns": ["ssn"]}""", number = 2)
    PolicySuite.swap = () => { stored(other, "company.json"); () }
    val swapping = udf { (id: Long) => PolicySuite.swap(); id }
    // Tasks begin one after the other, the later ones after the swap.
    val frame =
      spark.range(0, 40, 1, 4).selectExpr("concat('canary-', id) AS ssn", "id * 1.5D AS salary", "id")
    write(frame.withColumn("id", swapping(frame("id"))), Map.empty)
    refused(KeyMetadata, "'pii2'")(rows(spark.read.format("pme-parquet").load(target)))
    spark.conf.unset("spark.datasource.pme-parquet.policy")
    assertFollows()
    val usage = KeyUsage.of(spark, target, kms).collect().map(_.toString).mkString
    assert(!usage.contains("pii2"), usage)
  }

  private val intoTagged: Map[String, () => Unit] = Map(
    "saveAsTable" -> (() => people.write.format("pme-parquet").mode("append").saveAsTable("t")),
    "insertInto" -> (() => people.write.insertInto("t")),
    "insertInto, overwriting" -> (() => people.write.mode("overwrite").insertInto("t"))
  )

  for ((way, make) <- intoTagged) test(s"a write into a table sees the tags of its catalog: $way") {
    obey(byCatalog)
    tables("a comment")()
    make()
    assertFollows()
  }

  test("a stream sees no catalog, so it is refused where catalogs have tags") {
    obey(byCatalog)
    tables("a comment")()
    write(people, Map.empty, s"$directory/source")
    refused(Unsupported, "stream", "'company'") {
      spark.readStream
        .format("pme-parquet")
        .schema(people.schema)
        .load(s"$directory/source")
        .writeStream
        .format("pme-parquet")
        .option("checkpointLocation", s"$directory/checkpoint")
        .trigger(Trigger.AvailableNow())
        .toTable("t")
        .processAllAvailable()
    }
    refused(BadOption, "indexKeys")(write(people, Map("snapshot" -> "update", "indexKeys" -> "footer: ssn")))
  }

  for (options <- Seq(Map.empty[String, String], Map("snapshot" -> "update")))
    test(s"a stream is refused at the batch where its policy begins to ask catalogs, with options $options") {
      obey(policy(tags = untagged))
      write(people, Map.empty, s"$directory/source")
      val query = spark.readStream
        .format("pme-parquet")
        .schema(people.schema)
        .load(s"$directory/source")
        .writeStream
        .format("pme-parquet")
        .options(options)
        .option("checkpointLocation", s"$directory/checkpoint")
        .start(target)
      try {
        query.processAllAvailable()
        byCatalog(json(untagged, number = 2))
        people.write.format("pme-parquet").mode("append").save(s"$directory/source")
        refused(Unsupported, "stream", "'company'")(query.processAllAvailable())
      } finally query.stop()
    }

  test("no operation takes files out of the policy: decrypt, and rotation to other master keys") {
    obey(policy())
    write(people, Map.empty)
    val none = java.util.Map.of[String, String]()
    refused(Unsupported, "'company'") {
      TableCopies.decrypt(spark, target, s"$directory/plain", none, writePlaintext = true)
    }
    val other = RotationSettings(masterKeys = Some(Map("pii" -> "mine")))
    refused(Unsupported, "'company'")(Rotation.rotate(spark, target, Map.empty[String, String], other))
    val elsewhere = RotationSettings(newKms = Some(holding("footer", "pii", "pay")))
    refused(Unsupported, "'company'")(Rotation.rotate(spark, target, Map.empty[String, String], elsewhere))
    untouched()(
      refused(BadOption, "kms")(write(people, holding("footer", "pii", "pay"), s"$directory/other"))
    )
    Rotation.rotate(spark, target, Map.empty[String, String], RotationSettings())
    assertFollows()
    assertEquals(rows(spark.read.format("pme-parquet").load(target)), rows(people))
  }

  // Other writers.

  test("pme-orc follows a policy that ORC can keep, and refuses others") {
    obey(policy())
    refused(BadOption, "algorithm=AES_GCM_V1") {
      people.write.format("pme-orc").save(target)
    }
    obey(policy(defaults = ofOrc, number = 2))
    refused(BadOption, "orc.mask", "'company'") {
      people.write.format("pme-orc").option("orc.mask", "sha256:ssn").save(target)
    }
    people.write.format("pme-orc").save(s"$directory/orc")
    assertEquals(rows(spark.read.format("pme-orc").load(s"$directory/orc")), rows(people))
  }

  test(
    "the crypto factory itself refuses a configuration of a session with a policy, where no rule has looked"
  ) {
    val schema = MessageTypeParser.parseMessageType("message m { required int32 a; }")
    def properties() = {
      val conf = spark.sessionState.newHadoopConf()
      conf.set("pme-parquet.kms", kms("kms"))
      conf.set("pme-parquet.footerKey", "footer")
      val context = new WriteSupport.WriteContext(schema, new java.util.HashMap[String, String])
      new PmeCryptoFactory().getFileEncryptionProperties(conf, new HadoopPath(target), context)
    }
    assert(properties() != null)
    obey(policy())
    refused(BadOption, "policy")(properties())
  }

  test("a write through the crypto factory is refused in a session with a policy") {
    obey(policy())
    val factory = Map(
      "parquet.crypto.factory.class" -> "io.pmeparquet.parquet.PmeCryptoFactory",
      "pme-parquet.footerKey" -> "mine",
      "pme-parquet.kms" -> kms("kms")
    )
    untouched()(refused(BadOption, "policy")(people.write.options(factory).parquet(target)))
    refused(BadOption, "policy")(
      people.write.options(factory + ("pme-parquet.policy" -> policy())).parquet(target)
    )
  }
}

object PolicySuite {
  @volatile private var swap: () => Unit = () => ()
}

/** Files of this machine by another scheme. */
final class FarFileSystem extends RawLocalFileSystem {
  override def getScheme: String = "far"
  override def getUri: URI = URI.create("far:///")
  override def open(file: HadoopPath, size: Int): FSDataInputStream =
    if (FarFileSystem.isDenied && file.getName.endsWith(".sig")) throw new IOException("denied")
    else super.open(file, size)
}

object FarFileSystem {
  @volatile private[options] var isDenied = false
}

/** Knows one table. */
final class PeoplesTags extends TagSource {
  override def tags(table: java.util.List[String]): java.util.Map[String, java.util.List[String]] =
    if (table.get(2) == "people_table")
      java.util.Collections.singletonMap("SSN", java.util.Collections.singletonList("pii"))
    else throw new java.io.IOException("no such table")
}
