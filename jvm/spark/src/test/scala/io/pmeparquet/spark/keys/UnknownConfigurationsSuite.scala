package io.pmeparquet.spark.keys

import scala.collection.mutable

class UnknownConfigurationsSuite extends munit.FunSuite {
  test("a process says once for each configuration that the driver does not know it, and shows no digest") {
    val warnings = mutable.Buffer.empty[String]
    val unknown = new UnknownConfigurations(warnings += _)
    Seq("digest-1", "digest-1", "digest-2", "digest-1").foreach(unknown.note)
    assertEquals(warnings.size, 2)
    assert(warnings.forall(text => text.contains("calls the KMS itself") && !text.contains("digest-")))
    (0 until 1000).foreach(at => unknown.note(s"digest of $at"))
    assertEquals(warnings.size, 100)
  }
}
