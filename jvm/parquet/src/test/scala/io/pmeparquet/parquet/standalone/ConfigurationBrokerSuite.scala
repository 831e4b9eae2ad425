package io.pmeparquet.parquet.standalone

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.nio.file.Files
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.mapred.JobConf

import io.pmeparquet.keys.{KeyBroker, KeyBrokers, KeyRoute}
import io.pmeparquet.PmeException

/** Which configurations a driver answers for, without Spark. */
class ConfigurationBrokerSuite extends FunSuite {
  private object Here extends KeyRoute {
    override def ask(request: Array[Byte], where: String): Array[Byte] = KeyBrokers.answer(request)
  }

  private def conf(settings: (String, String)*) = {
    val made = new Configuration
    settings.foreach { case (name, value) => made.set(name, value) }
    made
  }

  private lazy val keys = {
    val file = Files.createTempFile("keys", ".txt")
    Files.write(file, s"a=${Base64.getEncoder.encodeToString(Array.fill[Byte](16)(7))}\n".getBytes("UTF-8"))
    file
  }
  private def own = Seq("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> s"file:$keys")

  private def answer(asked: Configuration, sessions: Configuration*) =
    KeyBroker.taken(ConfigurationBroker.answer(ConfigurationIdentity.requestOf(asked), sessions, Here), Here)

  private def sent(conf: Configuration) = {
    val bytes = new ByteArrayOutputStream
    conf.write(new DataOutputStream(bytes))
    val copy = new Configuration(false)
    copy.readFields(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray)))
    copy
  }

  test("a configuration is known on the executor that it was sent to, with what a write or read adds") {
    val session = conf(own: _*)
    val task = new JobConf(sent(session))
    Seq(
      "parquet.encryption.footer.key" -> "a",
      "parquet.encryption.column.keys" -> "a: ssn",
      "pme-parquet.algorithm" -> "AES_GCM_CTR_V1",
      "parquet.compression" -> "snappy",
      "delta.appendOnly" -> "true",
      "mapreduce.task.id" -> "7",
      "ignoreCorruptFiles" -> "false",
      "writePartitionColumns" -> "true",
      "location" -> "file:/warehouse/people",
      "serialization.format" -> "1",
      "hive.io.file.readcolumn.ids" -> "0",
      "spark.sql.parquet.writeLegacyFormat" -> "false",
      "org.apache.spark.sql.parquet.row.attributes" -> "x"
    ).foreach { case (name, value) => task.set(name, value) }
    assertEquals(answer(task, conf("a.b" -> "c"), session).map(_.map(_.describe)), Right(Some("kms=static")))
  }

  test("a configuration that names another KMS, address, credential, class or lifetime is not the driver's") {
    val session = conf(own: _*)
    for (
      other <- Seq(
        "pme-parquet.kms" -> "vault",
        "pme-parquet.KMS.vault.url" -> "http://127.0.0.1:1",
        "pme-parquet.kms.static.keys" -> "env:OTHER",
        "parquet.encryption.kms.client.class" -> "x.Y",
        "parquet.encryption.kms.instance.url" -> "http://127.0.0.1:1",
        "parquet.encryption.key.access.token" -> "other",
        "parquet.encryption.of.another.client" -> "x",
        "parquet.encryption.cache.lifetime.seconds" -> "7",
        "pme-parquet.parquet.encryption.cache.lifetime.seconds" -> "7",
        "hadoop.security.credential.provider.path" -> "jceks://file/tmp/x",
        "fs.s3a.access.key" -> "x",
        "setting.of.a.client" -> "x",
        "hive.of.a.client" -> "x",
        "team.owner" -> "x",
        "spark.of.a.client" -> "x"
      )
    ) assertEquals(answer(conf(own :+ other: _*), session), Right(None), other._1)
  }

  test("a secret in a setting that a reference names counts, whatever the setting's name") {
    val reference =
      Seq("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> "conf:spark.sql.my.keys")
    def named(value: String) = ConfigurationIdentity.of(conf(reference :+ ("spark.sql.my.keys" -> value): _*))
    assertNotEquals(named("one"), named("other"))
  }

  /** A reference to a setting in the value of another. */
  private def to(name: String) = "$" + s"{$name}"

  test("a reference to a secret counts in each form in which it is read") {
    val own = Seq("pme-parquet.kms" -> "static", "spark.sql.which" -> "my.keys")
    for (
      form <- Seq(
        " conf:spark.sql.my.keys",
        "conf :spark.sql.my.keys",
        "conf: spark.sql.my.keys ",
        s"conf:spark.sql.${to("spark.sql.which")}"
      )
    ) {
      def named(value: String) = ConfigurationIdentity.of(
        conf(own ++ Seq("pme-parquet.kms.static.keys" -> form, "spark.sql.my.keys" -> value): _*)
      )
      assertNotEquals(named("one"), named("other"), form)
    }
  }

  test("a setting that another refers to counts, whatever its name, and properties of the JVM do not") {
    def named(url: String, more: (String, String)*) =
      ConfigurationIdentity.of(conf(("client.url" -> url) +: more: _*))
    def by(host: String, url: String) = named(
      url,
      "spark.sql.host" -> host,
      "spark.sql.via" -> to("spark.sql.host"),
      "spark.sql.part" -> "host"
    )
    val urls =
      Seq(s"http://${to("spark.sql.host")}:1", to("spark.sql.via"), to(s"spark.sql.${to("spark.sql.part")}"))
    for (url <- urls)
      assertNotEquals(by("a", url), by("b", url), url)
    assertEquals(by("a", "http://c"), by("b", "http://c"))
    def inJvm(value: String) = {
      System.setProperty("pme.test.host", value)
      try named(to("pme.test.host"))
      finally System.clearProperty("pme.test.host")
    }
    assertEquals(inJvm("a"), inJvm("b"))
  }

  test("all who ask for one configuration have one broker, which gives out neither keys nor settings") {
    val session = conf(own: _*)
    val Right(Some(broker)) = answer(session, session): @unchecked
    assertEquals(
      broker.kek("a", 128, "t").wrapped,
      answer(session).toOption.flatten.get.kek("a", 128, "t").wrapped
    )
    assertEquals(intercept[PmeException](broker.directKey("a", "t")).getCondition(), "PME_KEY_METADATA")
    val message =
      new String(
        ConfigurationBroker.answer(ConfigurationIdentity.requestOf(session), Nil, Here),
        "ISO-8859-1"
      )
    assert(!message.contains(keys.toString))
  }

  test(
    "a new generation gets keys that the newest version of the master key wraps, from whichever session's broker"
  ) {
    val versions = VersionedKms.named("brokers")
    val session = conf(VersionedKms.settings("brokers"): _*)
    def version(asked: Configuration) = {
      val Right(Some(broker)) = answer(asked, session): @unchecked
      VersionedKms.versionOf(broker.kek("a", 128, "t").wrapped)
    }
    assertEquals(version(session), 1)
    versions.newest.set(2)
    assertEquals(version(session), 1)
    val before = sent(session)
    KeyGeneration.begin(session)
    assertEquals(version(sent(session)), 2)
    // A statement that began before, and asks late, is still of a session of the driver.
    assertEquals(version(before), 1)
  }

  test("the trial of a log's key goes through the broker, and to the process's own KMS only without one") {
    val Right(broker) = answer(conf(own: _*), conf(own: _*)): @unchecked
    val task = conf("pme-parquet.footerKey" -> "a", "parquet.encryption.column.keys" -> "absent: ssn")
    val byDriver = LogTrial.of(task, _ => broker)
    assertEquals((byDriver.keys, byDriver.isByDriver), (Seq("a"), true))
    assertEquals(byDriver.of("a", "t").millis.map(_._1), List("wrapped", "unwrapped"))
    assertEquals(intercept[PmeException](byDriver.of("b", "t")).getCondition(), "PME_KEY_NOT_FOUND")
    // The task itself names no KMS.
    intercept[PmeException](LogTrial.of(task, _ => None))
    val alone = conf(own :+ ("pme-parquet.footerKey" -> "a"): _*)
    def by(conf: Configuration) = {
      val trial = LogTrial.of(conf, _ => None)
      (trial.isByDriver, trial.isAsAsked, trial.of("a", "t").millis.map(_._1))
    }
    assertEquals(by(alone), (false, false, List("wrapped", "unwrapped")))
    alone.set("pme-parquet.kms.callFrom", "executor")
    assertEquals(by(alone), (false, true, List("wrapped", "unwrapped")))
    assertEquals(intercept[PmeException](LogTrial.of(conf(own: _*))).getCondition(), "PME_NO_KEY")
  }

  test("a generation that this driver has not started is not answered") {
    val session = conf(own: _*)
    val made = sent(session)
    made.set(KeyGeneration.Name, "made up")
    assertEquals(answer(made, session), Right(None))
  }

  test("a KMS that the driver cannot open is an error, and not a reason to call it from here") {
    val broken = conf("pme-parquet.kms" -> "static", "pme-parquet.kms.static.keys" -> "env:PME_TEST_NOT_SET")
    val failed = answer(broken, broken).left.toOption
    assertEquals(failed.map(_.getCondition()), Some("PME_KMS_UNAVAILABLE"))
  }
}
