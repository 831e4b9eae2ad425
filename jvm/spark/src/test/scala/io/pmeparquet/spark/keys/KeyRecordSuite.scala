package io.pmeparquet.spark.keys

import java.lang.invoke.{MethodHandles, MethodType}
import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.collection.JavaConverters._

import com.codahale.metrics.MetricRegistry
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.SparkEnv

import io.pmeparquet.parquet.PmeCryptoFactory
import io.pmeparquet.spark.admin.{Rotation, RotationSettings, Verification}
import io.pmeparquet.spark.SparkSuite
import io.pmeparquet.testkit.TestKms
import io.pmeparquet.Condition

/** What the record of uses of keys says of reads, writes and operations, and who can leave it out. */
class KeyRecordSuite extends SparkSuite {
  private val json = new ObjectMapper

  private def file: Path = directory.resolve("keys.jsonl")
  private def audit(mode: String = "require", to: Path = file): Map[String, String] =
    Map("audit" -> mode, "audit.file" -> to.toString)

  private def events(of: Path = file): Seq[JsonNode] =
    if (!Files.exists(of)) Nil
    else Files.readAllLines(of).asScala.toSeq.map(json.readTree(_)).filter(_.path("event").asText == "use")

  private def text(event: JsonNode, names: String*): Seq[String] = names.map(event.path(_).asText)

  private def said(names: String*): Set[Seq[String]] = events().map(text(_, names: _*)).toSet

  test("a write and a read are recorded: purpose, table, master key, query and application") {
    write(people, keys ++ audit())
    assertEquals(
      said("purpose", "action", "master_key", "result", "table"),
      Set("footer", "pii", "pay").map(key => Seq("write", "wrap", key, "granted", s"file:$target"))
    )
    Files.delete(file)
    assertEquals(reader(kms ++ audit("require", directory.resolve("read.jsonl"))).load(target).count(), 40L)
    val read = events(directory.resolve("read.jsonl"))
    assertEquals(
      read.map(text(_, "purpose", "action", "table", "user", "application").toList).distinct,
      Seq(
        List(
          "read",
          "unwrap",
          s"file:$target",
          spark.sparkContext.sparkUser,
          spark.sparkContext.applicationId
        )
      )
    )
  }

  test("keys that tasks ask for belong to their query") {
    write(people, keys)
    reader(kms ++ audit()).load(target).select("ssn").collect()
    val pii = events().filter(_.path("master_key").asText == "pii")
    assertEquals(pii.size, 1)
    assert(pii.head.path("query").asText.matches("\\d+"), pii.head.toString)
    assertEquals(pii.head.path("column").asText, "ssn", pii.head.toString)
  }

  test("a refusal is recorded with its condition") {
    write(people, keys)
    val user = KeyGuard().deny("pii")
    refused(Condition.KeyDenied, "pii")(reader(user.options ++ audit()).load(target).select("ssn").collect())
    assert(said("master_key", "result", "condition").contains(Seq("pii", "refused", "PME_KEY_DENIED")))
  }

  test("with require nothing is written or read unless its keys are in the record") {
    val nowhere = audit(to = directory.resolve("none/keys.jsonl"))
    refused(Condition.AuditFailed, "keys.jsonl", "audit=try")(write(people, keys ++ nowhere))
    assertEquals(allFiles(), Nil)
    write(people, keys)
    refused(Condition.AuditFailed)(reader(kms ++ nowhere).load(target).collect())
    Files.createDirectory(directory.resolve("none"))
    val there = audit(to = directory.resolve("none/other.jsonl"))
    assertEquals(reader(kms ++ there).load(target).count(), 40L)
  }

  test("with try rows are read without a record") {
    write(people, keys)
    val nowhere = audit("try", directory.resolve("none/keys.jsonl"))
    assertEquals(reader(kms ++ nowhere).load(target).count(), 40L)
  }

  test("an option cannot leave out what the session has recorded") {
    write(people, keys)
    setOptions(audit())
    reader(kms ++ Map("audit" -> "off")).load(target).collect()
    assert(events().nonEmpty)
    refused(Condition.BadOption, "audit.file") {
      reader(kms ++ audit(to = directory.resolve("other"))).load(target).collect()
    }
  }

  test("a read without a record shares no keys with one that has it") {
    write(people, keys)
    reader(kms).load(target).collect()
    reader(kms ++ audit()).load(target).collect()
    assertEquals(events().map(_.path("master_key").asText).toSet, Set("footer", "pii", "pay"))
  }

  test("options that contradict each other are refused before anything is written") {
    refused(Condition.BadOption, "executor")(
      write(people, keys ++ audit() ++ Map("kms.callFrom" -> "executor"))
    )
    refused(Condition.BadOption, "absolute") {
      write(people, keys ++ Map("audit" -> "try", "audit.file" -> "keys.jsonl"))
    }
    assertEquals(allFiles(), Nil)
  }

  test("the definition of a table cannot name a record") {
    write(people, keys)
    spark.sql(
      s"CREATE TABLE recorded (ssn STRING) USING `${SparkSuite.Format}` OPTIONS (audit 'try', `audit.file` '$file') LOCATION '$target'"
    )
    setOptions(kms)
    refused(Condition.BadOption, "audit")(spark.table("recorded").collect())
    assertEquals(events(), Nil)
  }

  test("the crypto factory's reads and writes are recorded as the session says") {
    setOptions(audit())
    set(
      Map(
        "parquet.crypto.factory.class" -> classOf[PmeCryptoFactory].getName,
        "pme-parquet.kms" -> classOf[TestKms].getName,
        "pme-parquet.footerKey" -> "footer",
        "pme-parquet.columnKeys" -> "pii: ssn"
      )
    )
    people.select("ssn").write.parquet(target)
    spark.read.parquet(target).collect()
    assertEquals(
      said("purpose", "master_key"),
      (for (purpose <- Seq("read", "write"); key <- Seq("footer", "pii")) yield Seq(purpose, key)).toSet
    )
    assertEquals(said("application"), Set(Seq(spark.sparkContext.applicationId)))
  }

  test("operations say what they are") {
    write(people, keys)
    Verification.verify(spark, target, kms ++ audit())
    assert(said("purpose").contains(Seq("verify")), said("purpose"))
    Rotation.rotate(spark, target, kms ++ audit(), RotationSettings(masterKeys = Some(Map("pii" -> "pii-2"))))
    assert(said("purpose", "master_key").contains(Seq("rotate", "pii-2")), said("purpose", "master_key"))
  }

  test("Spark's listeners get what the record gets") {
    write(people, keys)
    val heard = mutable.Buffer.empty[String]
    val listener = new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        case use: KeyUseEvent => heard.synchronized { heard += use.json; () }
        case _ => ()
      }
    }
    spark.sparkContext.addSparkListener(listener)
    try {
      reader(kms ++ Map("audit" -> "try")).load(target).collect()
      val limit = System.nanoTime() + 60L * 1000 * 1000 * 1000
      def own =
        heard
          .synchronized(heard.toList)
          .map(json.readTree(_))
          .filter(_.path("table").asText == s"file:$target")
      while (own.map(_.path("master_key").asText).toSet.size < 3 && System.nanoTime() < limit)
        Thread.sleep(20)
      assertEquals(own.map(_.path("master_key").asText).toSet, Set("footer", "pii", "pay"))
    } finally spark.sparkContext.removeSparkListener(listener)
  }

  test(
    "Spark's metrics have decisions of the KMS, refusals, opened modules and files that were left out".tag(
      SparkSuite.Newest
    )
  ) {
    // Scala hides Spark's metrics. To look at all of their methods would load classes that PySpark does not bring.
    val system = Class.forName("org.apache.spark.metrics.MetricsSystem")
    def method(of: Class[_], name: String, result: Class[_], parameters: Class[_]*) =
      MethodHandles.publicLookup().findVirtual(of, name, MethodType.methodType(result, parameters.toArray))
    val metrics = method(classOf[SparkEnv], "metricsSystem", system).invokeWithArguments(SparkEnv.get)
    def source = method(system, "getSourcesByName", classOf[Seq[_]], classOf[String])
      .invokeWithArguments(metrics, "pme-parquet")
      .asInstanceOf[Seq[AnyRef]]
      .head
    def now = Class
      .forName("org.apache.spark.metrics.source.Source")
      .getMethod("metricRegistry")
      .invoke(source)
      .asInstanceOf[MetricRegistry]
      .getGauges
      .asScala
      .map { case (name, gauge) => name -> gauge.getValue.asInstanceOf[Long] }
      .toMap
    write(people, keys)
    val before = now
    reader(kms).load(target).collect()
    val user = KeyGuard().deny("footer")
    reader(user.options ++ Map("deniedFiles" -> "skip")).schema(people.schema).load(target).collect()
    val after = now
    Seq("kmsDecisions", "kmsRefusals", "modulesOpened", "bytesRead", "filesLeftOut").foreach { name =>
      assert(after(name) > before(name), s"$name: $before, $after")
    }
  }
}
