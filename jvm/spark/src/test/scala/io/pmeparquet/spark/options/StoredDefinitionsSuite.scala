package io.pmeparquet.spark.options

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.concurrent.ConcurrentLinkedQueue

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.AnalysisException

import io.pmeparquet.spark.{EachSpark, SparkSuite}
import io.pmeparquet.Condition.{BadOption, KmsUnavailable, Unsupported}

/** The stored definition of a table or view sends no credential of its reader anywhere, and loads no class. */
class StoredDefinitionsSuite extends SparkSuite with EachSpark {
  private val requests = new ConcurrentLinkedQueue[String]

  /** The attacker's server, which records its requests. */
  private lazy val server = {
    val made = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
    made.createContext(
      "/",
      (exchange: HttpExchange) => {
        requests.add(exchange.getRequestURI.toString)
        exchange.sendResponseHeaders(403, -1)
        exchange.close()
      }
    )
    made.start()
    made
  }
  private def url = s"http://127.0.0.1:${server.getAddress.getPort}"

  override def afterAll(): Unit = server.stop(0)

  private val table = "spark_catalog.default.t"
  private val trusting = Map("trustedTables" -> table)
  private val token = "kms.vault.token" -> "env:PATH"
  private def vault = Map("kms" -> "vault", "kms.vault.url" -> url)
  // To name the object would initialize it.
  private val loud = "io.pmeparquet.spark.options.Loud$"
  private val hasRun = "pme.test.loud"

  private def writeFiles(): Unit = copied("people")(write(people, kms + ("footerKey" -> "footer"), _))

  private def listed(options: Map[String, String], between: String = " ") =
    options.map { case (name, value) => s"`$name`$between'$value'" }.mkString(", ")

  private def create(options: Map[String, String] = Map.empty): Unit = {
    spark.sql("DROP TABLE IF EXISTS t")
    val clause = if (options.isEmpty) "" else s"OPTIONS (${listed(options)}) "
    spark.sql(
      s"CREATE TABLE t (ssn STRING, salary DOUBLE, id BIGINT) USING `pme-parquet` ${clause}LOCATION '$target'"
    )
  }

  private def assertNothingCalled(): Unit = {
    assert(requests.isEmpty, requests)
    assertEquals(sys.props.get(hasRun), None)
  }

  private val attacks: Map[String, () => (Map[String, String], Map[String, String])] = Map(
    "file" -> { () =>
      val secret = directory.resolve("id_rsa")
      Files.write(secret, "one line\nanother line\n".getBytes(UTF_8))
      val login = Map("kms.vault.auth" -> "kubernetes", "kms.vault.role" -> "r")
      (vault ++ login + ("kms.vault.jwt" -> s"file:$secret"), Map.empty)
    },
    "variable" -> (() => (vault + token, Map.empty)),
    "keystore" -> (() => (Map("kms.keystore.path" -> "/x.p12"), kms)),
    "address" -> (() => (vault, Map("kms" -> "vault", token))),
    "mount" -> (() => (Map("kms.vault.mount" -> "transit/../../sys"), vault + token)),
    "namespace" -> (() => (Map("kms.vault.namespace" -> "evil"), vault + token)),
    "header" -> (() => (Map("kms.vault.auth" -> "approle"), vault + token)),
    "class" -> (() => (Map("kms" -> loud), Map.empty)),
    "two cases" -> (() => (Map("kms" -> loud, "KMS" -> "x.Other"), Map.empty)),
    "parquet-java's name" -> (() => (Map("parquet.encryption.kms.client.class" -> loud), Map.empty)),
    "Hadoop's name" -> (() =>
      (Map("hadoop.security.credential.provider.path" -> "jceks://file/x"), Map.empty)
    ),
    "factory" -> (() => (Map("parquet.crypto.factory.class" -> loud), Map.empty)),
    "provider" -> (() => (Map("cryptoProvider" -> "Evil"), Map.empty)),
    "direct" -> (() => (Map("keyManagement" -> "direct"), Map.empty))
  )

  test("a session's own Vault is called, so the next tests would see a call") {
    writeFiles()
    create()
    setOptions(vault + token)
    intercept[Exception](spark.table("t").collect())
    assert(!requests.isEmpty)
    requests.clear()
  }

  for ((attack, made) <- attacks)
    test(s"a stored definition makes no connection: $attack") {
      writeFiles()
      val (says, session) = made()
      create(says)
      spark.sql("CREATE VIEW v AS SELECT ssn FROM t")
      setOptions(session)
      for (
        query <- Seq(
          "SELECT * FROM t",
          "SELECT * FROM v",
          "SELECT max(id) FROM t",
          "INSERT INTO t SELECT 'b', 1, 1",
          "INSERT OVERWRITE t SELECT 'b', 1, 1"
        )
      ) {
        val text = refused(BadOption, table, "trustedTables")(spark.sql(query).collect())
        for (secret <- Seq(sys.env("PATH"), "another line")) assert(!text.contains(secret), text)
      }
      assertNothingCalled()
    }

  // Where a KMS is, which a table does not name; the session sets the other options.
  private val elsewhere = "https://kms.evil.example"
  private val azure = Map("kms" -> "azure", "kms.azure.vaultUrl" -> "https://acme.vault.azure.net")
  private val places: Seq[(Map[String, String], String)] = Seq(
    Map("kms" -> "aws", "kms.aws.endpoint" -> elsewhere) -> "kms.aws.endpoint",
    Map("kms" -> "aws", "kms.aws.endpoint" -> "https://kms.eu-central-1.amazonaws.com") -> "kms.aws.endpoint",
    Map("kms" -> "aws", "kms.aws.region" -> "eu-central-1") -> "kms.aws.region",
    Map("kms" -> "AWS", "kms.aws.endpoint" -> "https://things-1.eu-central-1.elb.amazonaws.com") ->
      "kms.aws.endpoint",
    Map("kms" -> "aws", "kms.aws.endpoint" -> s"$elsewhere/kms.eu-central-1.amazonaws.com") ->
      "kms.aws.endpoint",
    Map("kms" -> "aws", "parquet.encryption.kms.aws.endpoint" -> elsewhere) ->
      "parquet.encryption.kms.aws.endpoint",
    Map("kms" -> "io.pmeparquet.kms.aws.AwsKmsClient", "kms.aws.endpoint" -> elsewhere) ->
      "kms.aws.endpoint",
    Map("kms" -> "io.pmeparquet.kms.aws.AwsKmsClient", "parquet.encryption.kms.aws.endpoint" -> elsewhere) ->
      "parquet.encryption.kms.aws.endpoint",
    Map("kms" -> "azure", "kms.azure.vaultUrl" -> elsewhere) -> "kms.azure.vaultUrl",
    (azure + ("kms.azure.authority" -> elsewhere)) -> "kms.azure.authority",
    (azure + ("kms.azure.tenantId" -> "evil")) -> "kms.azure.tenantId",
    Map("kms" -> "keystore", "kms.keystore.type" -> "PKCS11", "kms.keystore.path" -> "/planted.cfg") ->
      "kms.keystore.path"
  ) ++ (for {
    uri <- Seq("kms://https@kms.invalid:9600/kms", "kms://https@127.0.0.1:9600/kms", "kms:evil")
    name <- Seq(
      "kms.hadoop.uri",
      "parquet.encryption.kms.hadoop.uri",
      "hadoop.security.key.provider.path"
    )
  } yield Map("kms" -> "hadoop", name -> uri) -> name) ++ (for {
    host <- Seq(elsewhere, "https://cloudkms.googleapis.com", "http://127.0.0.1:1/other")
  } yield Map("kms" -> "gcp", "kms.gcp.endpoint" -> host) -> "kms.gcp.endpoint") ++ (for {
    name <- Seq("kms.properties", "parquet.encryption.kms.properties")
  } yield Map("kms" -> loud, name -> """{"realm": "south"}""") -> name)

  test("a stored definition names no place of a KMS") {
    writeFiles()
    for ((says, option) <- places) {
      create(says)
      val session = says - option
      setOptions(session)
      for (query <- Seq("SELECT * FROM t", "INSERT INTO t SELECT 'b', 1, 1"))
        refused(BadOption, option, table, "trustedTables")(spark.sql(query).collect())
      session.keys.foreach(name => spark.conf.unset(s"spark.datasource.pme-parquet.$name"))
    }
    assertNothingCalled()
  }

  test("a stored definition may repeat an address that the session names, and none below it") {
    val uri = "kms://https@kms.invalid:9600/kms"
    create(Map("kms" -> "hadoop", "kms.hadoop.uri" -> uri, "footerKey" -> "footer"))
    setOptions(Map("kms" -> "hadoop", "kms.timeoutSeconds" -> "1"))
    // Nothing listens there, and that is found out by calling it.
    for ((named, condition) <- Seq(uri -> KmsUnavailable, s"$uri/other" -> BadOption)) {
      setOptions(Map("kms.hadoop.uri" -> named))
      refused(condition)(spark.sql("INSERT INTO t SELECT 'b', 1, 1"))
    }
  }

  test("a table written with the frame's options is read with the session's, or if the session trusts it") {
    people.write.format("pme-parquet").options(kms + ("footerKey" -> "footer")).saveAsTable("t")
    refused(BadOption, "kms", table, "spark.datasource.pme-parquet.kms")(spark.table("t").collect())
    setOptions(kms)
    assertEquals(rows(spark.table("t")), rows(people))
    spark.conf.unset("spark.datasource.pme-parquet.kms")
    val beginAlike = Seq("spark.default.t", "spark_catalog.def.t", "spark_catalog.default.tt")
    for (other <- Seq("default.t", "spark_catalog.other.t", "spark_catalog.default.*") ++ beginAlike) {
      setOptions(Map("trustedTables" -> other))
      refused(BadOption)(spark.table("t").collect())
    }
    setOptions(Map("trustedTables" -> s"spark_catalog.default.x, $table"))
    spark.sql("INSERT INTO t VALUES ('c', 3, 3)")
    assertEquals(spark.table("t").count(), 41L)
  }

  test("no option makes a table trusted") {
    writeFiles()
    refused(BadOption, "trustedTables")(create(trusting))
    refused(BadOption, "trustedTables")(reader(Map("trustedTables" -> "a.b.c")).load(target).collect())
  }

  test("a table's reader names the KMS where the table does not") {
    writeFiles()
    create(Map("footerKey" -> "footer"))
    assertEquals(rows(spark.read.options(kms).table("t")), rows(people))
    spark.catalog.refreshTable("t")
    refused(BadOption, "kms.keystore.path")(spark.table("t").collect())
  }

  private def stream(): Unit = spark.readStream
    .table("t")
    .writeStream
    .format("noop")
    .option("checkpointLocation", Files.createTempDirectory(directory, "c").toString)
    .trigger(Trigger.AvailableNow())
    .start()
    .awaitTermination()

  test("a stream of a table does not trust its options either") {
    writeFiles()
    create(vault + token)
    refused(BadOption, table, "trustedTables")(stream())
    assertNothingCalled()
    create()
    setOptions(kms)
    stream()
  }

  // SQL of Spark 3.5 gives a relation no options, and has no functions in SQL.
  private def inSpark4(name: String)(block: => Any): Unit =
    test(name) {
      assumeSpark4()
      writeFiles()
      create()
      block
      assertNothingCalled()
    }

  private def withOptions(options: Map[String, String]) = s"WITH (${listed(options, " = ")})"

  /** What a view or function reads, and whose options messages say they are. */
  private def sources = Seq(s"`pme-parquet`.`$target`" -> "a stored table or view", "t" -> table)

  inSpark4("a stored view's own options are not trusted") {
    for ((source, whose) <- sources) {
      assertEquals(rows(spark.sql(s"SELECT * FROM $source ${withOptions(kms)}")), rows(people))
      spark.sql(s"CREATE OR REPLACE VIEW v AS SELECT * FROM $source ${withOptions(kms)}")
      refused(BadOption, whose)(spark.table("v").collect())
      spark.sql("DROP VIEW v")
    }
    spark.sql(s"CREATE OR REPLACE VIEW v AS SELECT * FROM t ${withOptions(vault + token)}")
    refused(BadOption, table)(spark.table("v").collect())
  }

  inSpark4("trusting a table does not trust a view of it") {
    // Spark itself refuses a view that repeats an option of the table with another value.
    create(Map("footerKey" -> "footer"))
    spark.sql(s"CREATE VIEW v AS SELECT * FROM t ${withOptions(vault + token)}")
    setOptions(kms ++ trusting)
    assertEquals(rows(spark.table("t")), rows(people))
    val text = refused(BadOption, "a stored table or view")(spark.table("v").collect())
    assert(!text.contains("trustedTables"), text)
    stream()
    spark.sql("CREATE OR REPLACE VIEW v AS SELECT * FROM t")
    assertEquals(rows(spark.table("v")), rows(people))
  }

  inSpark4("options of an INSERT are trusted") {
    spark.sql("CREATE TABLE u (id BIGINT) USING `pme-parquet` OPTIONS (footerKey 'footer')")
    spark.sql(s"INSERT INTO u ${withOptions(kms)} SELECT 7")
    assertEquals(rows(spark.read.options(kms).table("u")), Seq("[7]"))
  }

  inSpark4("a stored function's own options are not trusted") {
    for ((source, whose) <- sources) {
      val body = s"SELECT * FROM $source ${withOptions(vault + token)}"
      refused(BadOption, whose) {
        spark.sql(s"CREATE FUNCTION f() RETURNS TABLE (ssn STRING, salary DOUBLE, id BIGINT) RETURN $body")
        spark.sql("SELECT * FROM f()").collect()
      }
      spark.sql("DROP FUNCTION IF EXISTS f")
    }
  }

  test("views share the cache of their table") {
    writeFiles()
    create()
    spark.sql("CREATE VIEW v AS SELECT * FROM t")
    setOptions(kms)
    spark.sql("CACHE TABLE t")
    try
      assert(spark.sql("SELECT id FROM v").queryExecution.optimizedPlan.toString.contains("InMemoryRelation"))
    finally spark.sql("UNCACHE TABLE t")
  }

  test("our functions in a stored view take no KMS and change no file") {
    writeFiles()
    val options =
      (vault + token).map { case (name, value) => s"'$name', '$value'" }.mkString("map(", ", ", ")")
    for (function <- Seq("pme_verify", "pme_key_usage", "pme_snapshots"))
      if (storesView(s"$function('$target', options => $options)"))
        refused(BadOption, "kms")(spark.table("v").collect())
    val copy = s"target => '$directory/copy'"
    val changing = Seq("pme_rotate", "pme_seal", "pme_compact").map(_ -> "") ++ Seq(
      "pme_encrypt" -> s", $copy",
      "pme_encrypt" -> ", in_place => true",
      "pme_rekey" -> s", $copy",
      "pme_decrypt" -> s", $copy, write_plaintext => true",
      "pme_recover" -> s", $copy, lost => 'rows'"
    )
    for ((function, more) <- changing)
      if (storesView(s"$function('$target'$more)"))
        refused(Unsupported, function)(spark.table("v").collect())
    assert(!Files.exists(directory.resolve("table/_pme_snapshots")))
    assertNothingCalled()
  }

  /** Stores a view of a function's rows; false where Spark itself refuses it, as 3.5 to 4.1 do. */
  private def storesView(call: String): Boolean =
    try {
      spark.sql(s"CREATE OR REPLACE VIEW v AS SELECT * FROM $call")
      true
    } catch {
      // These releases treat functions of extensions as temporary ones.
      case refusal: AnalysisException if refusal.getMessage.contains("INVALID_TEMP_OBJ_REFERENCE") =>
        assert(Seq("3.", "4.0", "4.1").exists(spark.version.startsWith), refusal)
        false
    }

  test("a class that is not a KMS client is not initialized") {
    writeFiles()
    refused(BadOption, loud)(reader(Map("kms" -> loud)).load(target).collect())
    assertNothingCalled()
  }

  for (name <- Seq("plaintextFiles", "deniedColumns", "clearLevels"))
    test(s"a table weakens no policy that the session states: $name") {
      writeFiles()
      create(Map(name -> (if (name == "deniedColumns") "null" else "allow")))
      setOptions(kms)
      assertEquals(rows(spark.table("t")), rows(people))
      setOptions(Map(name -> "error"))
      refused(BadOption, name, table)(spark.table("t").collect())
    }

  private val ofColumns = Map("footerKey" -> "footer", "columnKeys" -> "pii: ssn")

  for (
    (says, session, wrong) <- Seq(
      (Map("uniformKey" -> "footer"), Map("columnKeys" -> "pii: ssn"), "uniformKey"),
      (ofColumns + ("columnKeys" -> "footer: ssn"), Map("columnKeys" -> "pii: ssn"), "columnKeys"),
      (Map("unlistedColumns" -> "plaintext"), ofColumns, "unlistedColumns"),
      (
        Map("parquet.encryption.column.keys" -> "pii: ssn", "parquet.encryption.footer.key" -> "footer"),
        ofColumns,
        "parquet.encryption.column.keys"
      ),
      (Map("footerKey" -> "other"), ofColumns, "footerKey"),
      (Map("aadPrefix" -> "forged"), Map("aadPrefix" -> "mine"), "aadPrefix")
    )
  )
    test(
      s"a table does not override the keys that the session requires of columns: ${says.keys.mkString("+")}"
    ) {
      writeFiles()
      create(says)
      setOptions(kms ++ session)
      refused(BadOption, table, wrong)(spark.table("t").collect())
    }

  test("a table may require the same keys of columns as the session") {
    spark.sql(s"CREATE TABLE t (id BIGINT, ssn STRING) USING `pme-parquet` OPTIONS (${listed(ofColumns)})")
    setOptions(kms)
    spark.sql("INSERT INTO t VALUES (0, 'a'), (1, 'a')")
    for (
      session <- Seq(
        Map.empty[String, String],
        Map("footerKey" -> "other"),
        ofColumns - "footerKey",
        ofColumns
      )
    ) {
      setOptions(session)
      assertEquals(rows(spark.table("t")), Seq("[0,a]", "[1,a]"))
      session.keys.foreach(name => spark.conf.unset(s"spark.datasource.pme-parquet.$name"))
    }
    setOptions(trusting + ("columnKeys" -> "other: ssn"))
    assertEquals(rows(spark.table("t")), Seq("[0,a]", "[1,a]"))
  }
}

/** No KMS client: it says that it was initialized, which a class that is only looked at is not. */
object Loud {
  sys.props("pme.test.loud") = "initialized"
}
