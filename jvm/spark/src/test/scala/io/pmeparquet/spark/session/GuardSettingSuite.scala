package io.pmeparquet.spark.session

import org.apache.spark.SparkConf

class GuardSettingSuite extends munit.FunSuite {
  private val name = "spark.delta.logStore.class"

  private def installed(settings: (String, String)*) = {
    val conf = new SparkConf(false)
    settings.foreach { case (key, value) => conf.set(key, value) }
    GuardSetting.install(conf)
    GuardSetting.install(conf)
    assertEquals(conf.get(name), FormatName.LogStoreClass)
    assert(GuardSetting.isSet(conf))
    conf
  }

  test("the guard is the store of every scheme") {
    val conf = installed()
    assertEquals(GuardSetting.storeBelow(conf, "file"), None)
  }

  test("stores that the user has set are behind the guard, by either of Delta's names") {
    for (prefix <- Seq("spark.", "")) {
      val conf = installed(s"${prefix}delta.logStore.s3a.impl" -> "a.B")
      assertEquals(GuardSetting.storeBelow(conf, "s3a"), Some("a.B"))
      assertEquals(GuardSetting.storeBelow(conf, "gs"), None)
      // Delta refuses a store of a scheme next to one of all schemes.
      assertEquals(
        conf.getAll.map(_._1).filter(_.stripPrefix("spark.").startsWith("delta.logStore.")).toSeq,
        Seq(name)
      )
      assertEquals(
        GuardSetting.storeBelow(installed(s"${prefix}delta.logStore.class" -> "a.C"), "gs"),
        Some("a.C")
      )
    }
  }

  test("a scheme whose store is the guard already has Delta's own store behind it") {
    val conf = installed("spark.delta.logStore.s3a.impl" -> FormatName.LogStoreClass)
    assertEquals(GuardSetting.storeBelow(conf, "s3a"), None)
  }
}
