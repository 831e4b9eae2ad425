package io.pmeparquet.parquet.storage

import java.util.concurrent.{Callable, CyclicBarrier, Executors}
import java.util.UUID

import munit.FunSuite
import org.apache.hadoop.fs.{CommonPathCapabilities, Path}

import io.pmeparquet.{Condition, PmeException}

/** How a file appears under its name in object stores, each as its client behaves. */
class PublishingSuite extends FunSuite {
  private val conf = MemoryStore.conf("s3a", "s3", "gs", "abfs", "abfss", "wasb", "oss")
  private val name = "snapshot-0000000001.json"

  /** A directory in a bucket of its own. */
  private final class Store(scheme: String, capabilities: String*) {
    private val host = s"b${UUID.randomUUID}"
    val bucket: MemoryStore.Bucket = MemoryStore.bucket(host)
    bucket.capabilities = capabilities.toSet
    val directory = new Path(s"$scheme://$host/t")
    val to = new Path(directory, name)

    def require(): Unit = Publishing.require(directory, () => s".pme-${UUID.randomUUID}", conf)
    def publish(content: Int): Boolean =
      Publishing.publish(
        Array[Byte](1, content.toByte),
        to,
        new Path(directory, s".pme-${UUID.randomUUID}"),
        conf
      )
    def names: Set[String] = bucket.names.map(_.stripPrefix("/t/"))
    def content: Seq[Int] = bucket.objects(s"/t/$name").bytes.map(_.toInt).toSeq
  }

  private def s3a() = new Store("s3a", MemoryStore.Conditional)
  private def dataLake() = new Store("abfs", CommonPathCapabilities.FS_ACLS)
  private def google() = new Store("gs")
  private val kinds = Seq[(String, () => Store)](
    "S3A" -> (() => s3a()),
    "ADLS Gen2" -> (() => dataLake()),
    "Cloud Storage" -> (() => google())
  )

  private def unsupported(words: String*)(step: => Any): Unit = {
    val refused = intercept[PmeException](step)
    assertEquals(refused.condition, Condition.Unsupported: Condition)
    words.foreach(word => assert(refused.getMessage.contains(word), refused.getMessage))
  }

  kinds.foreach { case (kind, store) =>
    test(s"$kind: a name that is taken keeps its file, and nothing staged is left") {
      val one = store()
      one.require()
      assertEquals(one.names, Set.empty[String])
      assert(one.publish(1))
      assert(!one.publish(2))
      assertEquals(one.content, Seq(1, 1))
      assertEquals(one.names, Set(name))
    }

    test(s"$kind: of several that publish at the same moment exactly one succeeds") {
      val attempts = 6
      val threads = Executors.newFixedThreadPool(attempts)
      try
        Seq.range(1, 21).foreach { round =>
          val one = store()
          val together = new CyclicBarrier(attempts)
          val answers = (0 until attempts)
            .map { content =>
              val publish: Callable[Boolean] = () => { together.await(); one.publish(content) }
              threads.submit(publish)
            }
            .map(_.get)
          assertEquals(answers.count(identity), 1, s"in round $round")
          assertEquals(one.content, Seq(1, answers.indexOf(true)))
          assertEquals(one.names, Set(name))
        }
      finally threads.shutdown()
    }

    test(s"$kind: a process that is killed leaves no file, or a whole one") {
      var changes = 0
      var isDone = false
      while (!isDone) {
        val one = store()
        one.bucket.killAfter(changes)
        isDone =
          try one.publish(7)
          catch { case _: MemoryStore.Killed => false }
        one.bucket.revive()
        if (one.names(name)) assertEquals(one.content, Seq(1, 7))
        assertEquals(one.publish(8), !one.names(name) || one.content == Seq(1, 8))
        changes += 1
      }
    }
  }

  test("a directory of the name stays, and nothing is moved into it") {
    val one = dataLake()
    one.bucket.put(s"/t/$name/planted", Array[Byte](9))
    assert(!one.publish(1))
    assertEquals(one.names, Set(s"$name/planted"))
  }

  test("a client that lost the answer finds its own file there") {
    Seq(s3a(), google()).foreach { one =>
      one.bucket.losesAnswer = true
      assert(!one.publish(3))
      assertEquals(one.content, Seq(1, 3))
    }
  }

  test("what is written half appears nowhere") {
    Seq(s3a(), google()).foreach { one =>
      one.bucket.breaks = true
      intercept[IllegalStateException](one.publish(3))
      assertEquals(one.names, Set.empty[String])
    }
  }

  test("a store that replaces an object in spite of the condition is refused, and nothing is left") {
    Seq(s3a(), google()).foreach { one =>
      one.bucket.obeys = false
      // Google's connector looks before it writes.
      if (one.directory.toUri.getScheme == "s3a")
        unsupported("the store replaced an object", "snapshotLocation")(one.require())
      assertEquals(one.names, Set.empty[String])
    }
  }

  test("a client without a step of its own is refused, and writes nothing") {
    Seq(
      new Store("s3a") -> Seq("hadoop-aws 3.4.2", "HDFS"),
      new Store("s3") -> Seq("hadoop-aws 3.4.2"),
      new Store("abfss") -> Seq("hierarchical namespace"),
      new Store("wasb") -> Seq("only local disks"),
      new Store("oss") -> Seq("only local disks")
    ).foreach { case (one, words) =>
      unsupported(words :+ "sealing a table in this file system is not supported": _*)(one.require())
      unsupported(words: _*)(one.publish(1))
      assertEquals(one.bucket.changes, 0)
    }
  }

  test("a client that claims the condition and does not know it is refused") {
    val one = s3a()
    one.bucket.knows = false
    unsupported("hadoop-aws 3.4.2")(one.require())
    assertEquals(one.names, Set.empty[String])
  }
}
