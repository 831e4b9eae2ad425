package io.pmeparquet.orc.keys

import munit.FunSuite

/** Names of ORC's master keys, with and without versions. */
class OrcKeyNameSuite extends FunSuite {
  test("a name has version 0, or the one behind its last @") {
    val names = Seq("pii" -> 0, "pii@0" -> 0, "pii@12" -> 12, "a@b@3" -> 3)
    assertEquals(names.map { case (id, _) => OrcKeyName.parse(id).version }, names.map(_._2))
    assertEquals(OrcKeyName.parse("a@b@3").name, "a@b")
    assertEquals(OrcKeyName.parse("pii@12").text, "pii@12")
  }

  test("what is no version is part of the name") {
    for (id <- Seq("pii@", "pii@x", "pii@01", "pii@-1", "@1", "pii@1234567890", "arn:aws:kms:x:key/1"))
      assertEquals(OrcKeyName.parse(id), OrcKeyName(id, 0))
  }

  test("an id without a version means every version of a key, and one with a version that alone") {
    val second = OrcKeyName("pii", 2)
    assert(second.isMeantBy("pii") && second.isMeantBy("pii@2"))
    assert(!second.isMeantBy("pii@1") && !second.isMeantBy("pay"))
    assert(OrcKeyName("pii@2", 0).isMeantBy("pii@2@0"))
    // It would be taken for version 2 of another key.
    assert(!OrcKeyName("pii@2", 0).isMeantBy("pii@2"))
  }
}
