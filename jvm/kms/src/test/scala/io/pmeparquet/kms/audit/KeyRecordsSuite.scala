package io.pmeparquet.kms.audit

import java.lang.reflect.{Method, Modifier}
import java.nio.file.{Files, Path}
import java.security.SecureRandom

import scala.collection.mutable
import scala.collection.JavaConverters._

import munit.FunSuite

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.keys._

class KeyRecordsSuite extends FunSuite {
  private val directory = FunFixture[Path](_ => Files.createTempDirectory("records"), _ => ())
  private val key = AesKey.random(128, new SecureRandom)

  /** Wraps what it is asked to, but nothing with `denied` or `missing`, and fails for `broken`. */
  private class Answering extends Kms {
    val calls: mutable.Buffer[String] = mutable.Buffer.empty
    override def describe: String = "a KMS"
    override def wrap(key: AesKey, id: String, where: String): String = {
      calls += id
      KmsCalls.noteRequest(s"r${calls.size}")
      id match {
        case "denied" => throw PmeErrors.keyDenied(where, id, describe)
        case "broken" => throw new IllegalStateException("internal")
        case _ => "wrapped"
      }
    }
    override def unwrap(wrapped: String, id: String, where: String): AesKey =
      if (wrapped == "bad") throw PmeErrors.keyNotFound(where, id, describe) else key
    override def rewrapAll(wrapped: Seq[String], id: String, where: String) =
      Some(wrapped.map(_ => Right("again")))
    override def directKey(id: String, where: String): Option[AesKey] = if (id == "own") Some(key) else None
  }

  private def audit(mode: AuditMode, file: Path) =
    KeyAudit(mode, Some(file.toString), KeyPurpose.Write, Some("/data/t"))

  private def events(file: Path) =
    Files.readAllLines(file).asScala.toSeq.map(KeyEvent.mapper.readTree)

  private def uses(file: Path) = events(file)
    .filter(_.path("event").asText == "use")
    .map(use =>
      (
        use.path("action").asText,
        use.path("master_key").asText,
        use.path("keys").asInt,
        use.path("result").asText
      )
    )

  directory.test("each decision is one event, refused ones with their condition") { dir =>
    val file = dir.resolve("keys.jsonl")
    val kms = KeyRecords.recording(new Answering, audit(AuditMode.Require, file))
    kms.wrap(key, "pii", "write to /data/t")
    intercept[PmeException](kms.wrap(key, "denied", "write to /data/t"))
    intercept[IllegalStateException](kms.wrap(key, "broken", "w"))
    assertEquals(kms.unwrapAll(Seq("a", "bad", "c"), "pii", "f").map(_.isRight), Seq(true, false, true))
    kms.rewrapAll(Seq("a", "b"), "pii", "f")
    kms.directKey("own", "f")
    assertEquals(kms.directKey("kept", "f"), None)
    intercept[PmeException](kms.signingKey("signs", "f"))
    assertEquals(
      uses(file).toSet,
      Set(
        ("wrap", "pii", 1, "granted"),
        ("wrap", "denied", 1, "refused"),
        ("wrap", "broken", 1, "failed"),
        ("unwrap", "pii", 2, "granted"),
        ("unwrap", "pii", 1, "refused"),
        ("rewrap", "pii", 2, "granted"),
        ("direct", "own", 1, "granted"),
        ("sign", "signs", 1, "refused")
      )
    )
    val denied = events(file).find(_.path("master_key").asText == "denied").get
    assertEquals(denied.path("condition").asText, "PME_KEY_DENIED")
    assertEquals(denied.path("purpose").asText, "write")
    assertEquals(denied.path("table").asText, "/data/t")
    assertEquals(denied.path("requests").elements.asScala.map(_.asText).toSeq, Seq("r2"))
    assertEquals(events(file).head.path("event").asText, "begin")
  }

  directory.test("with require a key is given out only when the record has it") { dir =>
    val file = dir.resolve("missing/keys.jsonl")
    val kms = KeyRecords.recording(new Answering, audit(AuditMode.Require, file))
    val refused = intercept[PmeException](kms.unwrap("a", "pii", "f"))
    assertEquals(refused.condition, Condition.AuditFailed)
    assert(
      kms.unwrapAll(Seq("a", "b"), "pii", "f").forall(_.left.exists(_.condition == Condition.AuditFailed))
    )
    Files.createDirectory(file.getParent)
    kms.unwrap("a", "pii", "f")
    assertEquals(uses(file), Seq(("unwrap", "pii", 1, "granted")))
  }

  directory.test("with try a key is given out, and the record later says how many uses it lacks") { dir =>
    val file = dir.resolve("missing/keys.jsonl")
    val kms = KeyRecords.recording(new Answering, audit(AuditMode.Try, file))
    kms.unwrap("a", "pii", "f")
    kms.unwrap("b", "pii", "f")
    Files.createDirectory(file.getParent)
    kms.unwrap("c", "pii", "f")
    assertEquals(events(file).map(_.path("event").asText), Seq("begin", "missed", "use"))
    assertEquals(events(file)(1).path("uses").asInt, 2)
  }

  directory.test("listeners get events of this KMS, and threads that call for others name them") { dir =>
    val heard = mutable.Buffer.empty[KeyEvent]
    KeyRecords.listen(event => heard.synchronized { heard += event; () })
    KeyRecords.listen(_ => throw new IllegalStateException("of somebody else"))
    val kms = KeyRecords.recording(new Answering, audit(AuditMode.Try, dir.resolve("keys.jsonl")))
    val source = new KmsSource(kms, lifetimeMillis = 1000)
    KmsCalls.onBehalfOf(KeyCaller("ann", "app-1", Some("7"))) {
      source.unwrap(Seq("k1", "k2", "k3").map(WrappedKey(_, "w", None)), "f")
    }
    val own = heard.filter(_.audit.file.exists(_.startsWith(dir.toString)))
    assertEquals(own.map(_.masterKey).toSet, Set("k1", "k2", "k3"))
    assertEquals(own.map(_.caller.query).toSet, Set(Option("7")))
    // They are in memory now.
    source.unwrap(Seq(WrappedKey("k1", "w", None)), "f")
    assertEquals(heard.count(_.audit.file.exists(_.startsWith(dir.toString))), 3)
  }

  directory.test("no key is destroyed unless the record says that it was asked for") { dir =>
    val destroyed = mutable.Buffer.empty[String]
    val able = new Answering {
      override def administration: Option[KeyAdministration] = Some(new KeyAdministration {
        override def state(id: String, where: String): KeyState = KeyState.Usable
        override def nameOf(id: String, where: String): String = id
        override def create(ids: Seq[String], where: String): Unit = ()
        override def destroy(id: String, where: String): KeyState = {
          destroyed += id
          KeyState.Destroyed
        }
        override def consequence: String = "it is gone"
      })
    }
    val nowhere = KeyRecords.recording(able, audit(AuditMode.Require, dir.resolve("none/keys.jsonl")))
    val refused = intercept[PmeException](nowhere.administration.get.destroy("t-acme", "erasure"))
    assertEquals(refused.condition, Condition.AuditFailed)
    assertEquals(destroyed.toSeq, Nil)
    val file = dir.resolve("keys.jsonl")
    val keys = KeyRecords.recording(able, audit(AuditMode.Require, file)).administration.get
    keys.create(Seq("a", "b"), "write")
    keys.destroy("t-acme", "erasure")
    assertEquals(
      uses(file),
      Seq(("create", "a"), ("create", "b"))
        .map { case (action, key) => (action, key, 1, "granted") } ++
        Seq("asked", "granted").map(("destroy", "t-acme", 1, _))
    )
  }

  directory.test("threads that were made for one query record the query that they call for") { dir =>
    val file = dir.resolve("keys.jsonl")
    val source = new KmsSource(KeyRecords.recording(new Answering, audit(AuditMode.Require, file)), 1000)
    val ofThread = new InheritableThreadLocal[String]
    KmsCalls.callersFrom(() => KeyCaller("ann", "app-1", Option(ofThread.get)))
    for (query <- Seq("1", "2")) {
      ofThread.set(query)
      source.wrapAll((1 to 5).map(n => key -> s"k$query-$n"), "w")
    }
    events(file).filter(_.has("master_key")).foreach { use =>
      assert(use.path("master_key").asText.startsWith(s"k${use.path("query").asText}-"), use.toString)
    }
    assertEquals(uses(file).size, 10)
  }

  test("the table and the column of a file are those in its path and in what asks for the key") {
    val places = Seq(
      "file:/d/t/year=2024/p.parquet, footer" -> Some("file:/d/t" -> None),
      "s3a://b/t/p,q.parquet, column 'a/b'" -> Some("s3a://b/t" -> Some("a/b")),
      "file:/d/t/p.parquet, column 'it's'" -> Some("file:/d/t" -> Some("it's")),
      "file:/d/t/p.parquet, footer or column" -> Some("file:/d/t" -> None),
      "file:/d/t/p.parquet" -> Some("file:/d/t" -> None),
      "write to file:/d/t" -> Some("file:/d/t" -> None),
      "erasure of s3a://b/orders" -> Some("s3a://b/orders" -> None),
      "ORC file, key 'x'" -> None,
      "rotation" -> None
    )
    places.foreach { case (where, place) =>
      assertEquals(KeyEvent.placeOf(where), place: Option[(String, Option[String])], where)
    }
  }

  test("a record's file is an absolute path") {
    Seq("keys.jsonl", "", "hdfs://a/b\u0000", "/").foreach { name =>
      assertEquals(intercept[PmeException](KeyRecords.pathOf(name)).condition, Condition.BadOption)
    }
  }

  test("whatever a KMS can be asked is recorded or passed on") {
    requireAll(classOf[Kms], classOf[RecordedKms])
    requireAll(classOf[KeyAdministration], classOf[RecordedKms#Recorded])
  }

  private def requireAll(asks: Class[_], recorded: Class[_]): Unit = {
    val own = recorded.getDeclaredMethods.map(_.getName).toSet
    def isAsked(method: Method) = !method.isSynthetic && !Modifier.isStatic(method.getModifiers)
    val asked = asks.getMethods.filter(isAsked).map(_.getName).filterNot(_.contains("$")).toSet
    assertEquals(asked -- own, Set.empty[String])
  }
}
