package io.pmeparquet.spark.session

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.{EachSpark, SparkSuite}

/** Scans share what they send to executors only if it is the same. */
class SharedConfSuite extends SparkSuite with EachSpark {
  private def conf(values: (String, String)*) = {
    // Without Hadoop's own, which Spark changes, for example when a session first needs a catalog.
    val made = new Configuration(false)
    values.foreach { case (name, value) => made.set(name, value) }
    made
  }

  private def sent(conf: Configuration, of: SparkSession = spark) = SharedConf.broadcast(of, conf)

  test("scans share the broadcast of equal configurations, and of no others") {
    val first = conf("secret" -> "a")
    val shared = sent(first)
    assertEquals(sent(conf("secret" -> "a")).id, shared.id)
    for (other <- Seq(conf("secret" -> "b"), conf("secret" -> "a", "more" -> "a"), conf()))
      assertNotEquals(sent(other).id, shared.id)
    // A session can have classes of its own.
    assertNotEquals(sent(conf("secret" -> "a"), spark.newSession()).id, shared.id)
    // The scan that made it goes on to set its own values.
    first.set("secret", "changed")
    assertEquals(shared.value.value.get("secret"), "a")
    assertEquals(sent(conf("secret" -> "a")).id, shared.id)
    assertNotEquals(sent(first).id, shared.id)
  }

  test("only a few configurations are kept") {
    // A reference keeps each of them from being collected.
    val made = (0 until 9).map(value => sent(conf("kept" -> s"$value")))
    assertEquals((1 until 9).map(value => sent(conf("kept" -> s"$value")).id), made.tail.map(_.id))
    assertNotEquals(sent(conf("kept" -> "0")).id, made.head.id)
  }
}
