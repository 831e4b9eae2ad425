package io.pmeparquet.kms.client

import java.security.PrivilegedExceptionAction

import munit.FunSuite
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.security.UserGroupInformation

/** Equal configurations of one user have one digest, and no others have it. */
class ConfigurationDigestSuite extends FunSuite {
  private def conf(settings: (String, String)*) = {
    val made = new Configuration(false)
    settings.foreach { case (name, value) => made.set(name, value) }
    made
  }

  private def digest(settings: (String, String)*) = ConfigurationDigest.of(conf(settings: _*))

  test(
    "settings, their values and the absence of one count, also when another digest was asked for between"
  ) {
    val different = Seq(
      Seq("a" -> "1"),
      Seq("a" -> "2"),
      Seq("b" -> "1"),
      Seq("a" -> "1", "b" -> ""),
      Seq("a" -> "1", "b" -> "null"),
      Nil
    )
    val first = different.map(digest(_: _*))
    assertEquals(first.distinct.size, different.size)
    assertEquals(different.map(digest(_: _*)), first)
  }

  test("what a value refers to counts, wherever it is") {
    assertNotEquals(digest("a" -> s"$${b}", "b" -> "1"), digest("a" -> s"$${b}", "b" -> "2"))
    def ofProperty(value: String) = {
      System.setProperty("pme.test.digest", value)
      try digest("a" -> s"$${pme.test.digest}")
      finally System.clearProperty("pme.test.digest")
    }
    assertNotEquals(ofProperty("1"), ofProperty("2"))
    assertEquals(ofProperty("1"), ofProperty("1"))
  }

  test("users have digests of their own") {
    def ofUser(name: String) = UserGroupInformation
      .createRemoteUser(name)
      .doAs(new PrivilegedExceptionAction[String] { override def run(): String = digest("a" -> "1") })
    assertNotEquals(ofUser("ann"), ofUser("bob"))
    assertEquals(ofUser("ann"), ofUser("ann"))
  }

  test("for the tasks of a job, what differs between them does not count, unless it is referred to") {
    def ofTask(task: String, more: String*) =
      ConfigurationDigest.ofJob(conf("a" -> "1", "mapreduce.task.id" -> task), more)
    assertEquals(ofTask("1"), ofTask("2"))
    assertNotEquals(ofTask("1", "mapreduce.task.id"), ofTask("2", "mapreduce.task.id"))
  }

  test("a setting of Spark SQL does not count") {
    assertEquals(digest("spark.sql.x" -> "1"), digest("spark.sql.x" -> "2"))
  }
}
