package io.pmeparquet.spark.options

import java.nio.file.Files

import org.apache.spark.sql.DataFrame

import io.pmeparquet.spark.{Refusals, SparkSuite}
import io.pmeparquet.Condition
import io.pmeparquet.Condition.{
  BadOption,
  KeyDenied,
  KeyNotFound,
  KmsUnavailable,
  NoKey,
  SecretInOption,
  UnknownColumn,
  UnknownOption,
  Unsupported
}

/** Impossible options are refused before anything is written or read. The suites of core have more of each kind. */
class OptionChecksSuite extends SparkSuite {
  private val footer = kms + ("footerKey" -> "footer")
  private val literal = "footer=MDEyMzQ1Njc4OWFiY2RlZg=="

  private def named(options: (String, String)*) = footer ++ options

  private def refusedWrite(options: Map[String, String], condition: Condition, words: Seq[String]): Unit =
    untouched() {
      val text = refused(condition, words: _*)(write(people, options))
      assert(!text.contains(literal.takeRight(12)) && !text.contains("hunter2"), text)
    }

  private val writes: Seq[(String, Map[String, String], Condition, Seq[String])] = Seq(
    ("no key", kms, NoKey, Seq("footerKey", "uniformKey")),
    ("no option", Map.empty[String, String], NoKey, Seq("footerKey")),
    ("column keys without a footer key", kms + ("columnKeys" -> "pii: ssn"), NoKey, Seq("footerKey")),
    ("a misspelt option", named("footerKy" -> "x"), UnknownOption, Seq("footerKy", "'footerKey'")),
    (
      "a misspelt option of a KMS",
      named("kms.keystore.pth" -> "x"),
      UnknownOption,
      Seq("'kms.keystore.path'")
    ),
    ("an unheard-of option of a KMS", named("kms.unheard.of" -> "x"), UnknownOption, Seq("kms.")),
    (
      "a misspelt name of parquet-java",
      named("parquet.encryption.colum.keys" -> "x"),
      UnknownOption,
      Seq("parquet.encryption.column.keys")
    ),
    ("a bad value", named("algorithm" -> "AES_CBC"), BadOption, Seq("algorithm")),
    ("a bad number", named("dataKeyBits" -> "123"), BadOption, Seq("dataKeyBits")),
    ("a class that is no KMS", named("kms" -> "java.lang.String"), BadOption, Seq("kms")),
    (
      "a class that is not there",
      named("kms" -> "no.such.KmsClient"),
      KmsUnavailable,
      Seq("no.such.KmsClient")
    ),
    (
      "a KMS that keeps its keys",
      kms ++ Map("uniformKey" -> "footer", "keyManagement" -> "direct"),
      BadOption,
      Seq("keyManagement")
    ),
    (
      "a uniform key next to another",
      named("uniformKey" -> "pii"),
      BadOption,
      Seq("uniformKey", "footerKey")
    ),
    ("a contradiction", named("storeAadPrefix" -> "false"), BadOption, Seq("storeAadPrefix")),
    (
      "a missing provider",
      named("cryptoProvider" -> "NoSuchProvider"),
      Unsupported,
      Seq("cryptoProvider", "NoSuchProvider")
    ),
    (
      "pages of version 2",
      named("parquet.writer.version" -> "v2"),
      Unsupported,
      Seq("parquet.writer.version")
    ),
    (
      "a summary file",
      named("parquet.summary.metadata.level" -> "ALL"),
      Unsupported,
      Seq("parquet.summary.metadata.level")
    ),
    (
      "a summary file's old name",
      named("parquet.enable.summary-metadata" -> "true"),
      Unsupported,
      Seq("summary")
    ),
    ("an unknown template", named("aadPrefix" -> "{tabel}"), BadOption, Seq("aadPrefix", "{table}")),
    (
      "a misspelt column",
      named("columnKeys" -> "pii: sssn"),
      UnknownColumn,
      Seq("sssn", "ssn", "salary", "id")
    ),
    ("a column under two keys", named("columnKeys" -> "pii: ssn; pay: s*"), BadOption, Seq("'pii'", "'pay'")),
    (
      "an unlisted column",
      named("columnKeys" -> "pii: ssn", "unlistedColumns" -> "error"),
      UnknownColumn,
      Seq("salary", "id", "unlistedColumns")
    ),
    ("a denied key", kms + ("footerKey" -> "denied-1"), KeyDenied, Seq("'denied-", "TestKms")),
    (
      "keys that cannot leave Vault",
      footer ++ Map("kms" -> "vault", "kms.vault.url" -> "https://vault.invalid") ++
        Map("kms.vault.token" -> "env:PATH", "keyManagement" -> "direct"),
      BadOption,
      Seq("keyManagement=envelope")
    ),
    (
      "keys that cannot leave a Hadoop KMS",
      footer ++ Map("kms" -> "hadoop", "kms.hadoop.uri" -> "kms://https@kms.invalid:9600/kms") +
        ("keyManagement" -> "direct"),
      BadOption,
      Seq("keyManagement=envelope")
    ),
    ("a missing key", named("columnKeys" -> "missing-1: ssn"), KeyNotFound, Seq("'missing-", "TestKms")),
    ("a KMS that is down", named("columnKeys" -> "down-1: ssn"), KmsUnavailable, Seq("could not be reached")),
    (
      "a password written out",
      footer ++ Map(
        "kms" -> "keystore",
        "kms.keystore.path" -> "/none",
        "kms.keystore.password" -> "hunter2"
      ),
      SecretInOption,
      Seq("kms.keystore.password", "env:NAME")
    ),
    (
      "keys written out",
      footer ++ Map("kms" -> "static", "kms.static.keys" -> literal),
      SecretInOption,
      Seq("kms.static.keys", "file:PATH")
    ),
    (
      "keys of a KMS that is not asked",
      named("kms.static.keys" -> literal),
      SecretInOption,
      Seq("kms.static.keys")
    )
  )

  writes.foreach { case (fault, options, condition, words) =>
    test(s"a write is refused before anything is written: $fault") {
      refusedWrite(options, condition, words)
    }
  }

  test("a read with impossible options is refused") {
    write(people, keys)
    def check(condition: Condition, words: String*)(options: (String, String)*) =
      refused(condition, words: _*)(reader(kms ++ options).load(target).collect())
    check(UnknownOption, "footerKy", "'footerKey'")("footerKy" -> "footer")
    check(UnknownOption, "aadPrefx", "'aadPrefix'")("aadPrefx" -> "x")
    check(UnknownOption, "'kms.keystore.path'")("kms.keystore.pth" -> "x")
    check(UnknownOption, "kms.")("kms.unheard.of" -> "x")
    check(UnknownOption, "parquet.encryption.column.keys")("parquet.encryption.colum.keys" -> "x")
    check(Unsupported, "cryptoProvider", "NoSuchProvider")("cryptoProvider" -> "NoSuchProvider")
    check(BadOption, "kms.callFrom", "anywhere")("kms.callFrom" -> "anywhere")
    check(BadOption, "deniedPredicates", "true")("deniedPredicates" -> "true")
    check(BadOption, "scan", "v3")("scan" -> "v3")
    val text = check(SecretInOption, "kms.static.keys")("kms" -> "static", "kms.static.keys" -> literal)
    assert(!text.contains(literal.takeRight(12)), text)
  }

  test("settings of the session are checked as options are") {
    for (
      (name, value, condition, words) <- Seq(
        ("footerKy", "footer", UnknownOption, "'footerKey'"),
        ("kms.keystore.pth", "x", UnknownOption, "kms.keystore.path"),
        ("kms.keystore.password", "hunter2", SecretInOption, "kms.keystore.password")
      )
    ) {
      setOptions(Map(name -> value))
      refusedWrite(footer, condition, Seq(words))
      spark.conf.unset(s"spark.datasource.pme-parquet.$name")
    }
  }

  test("a reference to nothing is refused, and it is named") {
    val store = footer ++ Map("kms" -> "keystore", "kms.keystore.path" -> "/none")
    for (reference <- Seq("env:PME_NO_SUCH_VARIABLE", "conf:spark.no.such.key", "hadoop-credential:none"))
      refusedWrite(
        store + ("kms.keystore.password" -> reference),
        KmsUnavailable,
        Seq("kms.keystore.password", reference)
      )
    val none = s"file:${directory.resolve("none")}"
    refusedWrite(
      footer ++ Map("kms" -> "static", "kms.static.keys" -> none),
      KmsUnavailable,
      Seq("kms.static.keys", "none")
    )
  }

  test("a key that a KMS does not hold is refused, and so is a keystore that is not there") {
    val held = footer ++ holding("footer", "pii")
    for (
      (lost, word) <- Seq(
        (held + ("footerKey" -> "fooder"), "'fooder'"),
        (held + ("columnKeys" -> "pi: ssn"), "'pi'"),
        (held - "footerKey" + ("uniformKey" -> "uni"), "'uni'")
      )
    ) refusedWrite(lost, KeyNotFound, Seq(word))
    val password = Files.write(directory.resolve("password"), "wrong-horse".getBytes("UTF-8"))
    val store = Map(
      "kms" -> "keystore",
      "kms.keystore.path" -> s"$directory/none.p12",
      "kms.keystore.password" -> s"file:$password"
    )
    refusedWrite(footer ++ store, KmsUnavailable, Seq("none.p12"))
    write(people, keys)
    val text = refused(KmsUnavailable, "none.p12")(reader(store).load(target).collect())
    assert(!text.contains("wrong-horse"), text)
  }

  test("static keys that cannot be read are refused, and not repeated") {
    val listed = directory.resolve("keys")
    for (
      (lines, condition) <- Seq(
        "footer=c2hvcnQ=" -> BadOption,
        "footer=###" -> BadOption,
        "footer" -> BadOption,
        "" -> KmsUnavailable,
        "# none" -> BadOption,
        "other=MDEyMzQ1Njc4OWFiY2RlZg==" -> KeyNotFound
      )
    ) {
      Files.write(listed, lines.getBytes("UTF-8"))
      untouched() {
        val text = refused(condition)(
          write(people, footer ++ Map("kms" -> "static", "kms.static.keys" -> s"file:$listed"))
        )
        Seq("c2hvcnQ", "###", "MDEyMzQ1").foreach(secret => assert(!text.contains(secret), text))
      }
    }
  }

  test("a table with a secret in its options is not created") {
    val text = refused(SecretInOption, "kms.static.keys") {
      spark.sql(
        s"CREATE TABLE t (id BIGINT) USING `pme-parquet` OPTIONS (kms 'static', kms.static.keys '$literal')"
      )
    }
    assert(!text.contains(literal.takeRight(12)), text)
    assert(!spark.catalog.tableExists("t"))
  }

  test("candidates for a nested column are listed by their leaves, and names match as Spark's do") {
    val nested: DataFrame = spark.sql(
      "SELECT named_struct('name', 'x', 'home', named_struct('street', 'y')) AS person, array('z') AS tags"
    )
    refused(UnknownColumn, "person.nam", "person.home.street", "tags.element") {
      write(nested, named("columnKeys" -> "pii: person.nam"))
    }
    set(Map("spark.sql.caseSensitive" -> "true"))
    refusedWrite(named("columnKeys" -> "pii: SSN"), UnknownColumn, Seq("SSN", "ssn"))
    set(Map("spark.sql.caseSensitive" -> "false"))
    write(people, named("columnKeys" -> "pii: SSN"))
  }

  test("options of Spark's own source are left alone") {
    write(people, keys ++ Map("compression" -> "zstd", "parquet.block.size" -> "1048576"))
    assertEquals(rows(reader(keys + ("mergeSchema" -> "true")).load(target)), rows(people))
  }

  test("a message without a remedy, or with what looks like a key, is found") {
    assertEquals(Refusals.check("write: no key. Name one."), None)
    assertEquals(Refusals.check("write: no key."), Some("no remedy"))
    assertEquals(Refusals.check("no key. Name one."), Some("no place"))
    assertEquals(Refusals.check(s"write: key ${"0123abcd" * 3}. Name one."), Some("a secret"))
  }
}
