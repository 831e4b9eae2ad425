package io.pmeparquet.spark.keys

import scala.collection.mutable

class UnknownConfigurationsSuite extends munit.FunSuite {
  test("a process says once for each configuration that the driver does not know it, and tells no digest") {
    val said = mutable.Buffer.empty[String]
    val unknown = new UnknownConfigurations(said += _)
    Seq("digest-1", "digest-1", "digest-2", "digest-1").foreach(unknown.note)
    assertEquals(said.size, 2)
    assert(said.forall(text => text.contains("calls the KMS itself") && !text.contains("digest-")))
    (0 until 1000).foreach(at => unknown.note(s"digest of $at"))
    assertEquals(said.size, 100)
  }
}
