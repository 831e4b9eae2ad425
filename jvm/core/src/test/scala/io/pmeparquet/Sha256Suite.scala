package io.pmeparquet

import munit.FunSuite

class Sha256Suite extends FunSuite {
  test("lists of texts that are cut at other places have different digests") {
    val lists = Seq(Seq("ab", "c"), Seq("a", "bc"), Seq("abc"), Seq("abc", ""), Seq("1:a"), Seq("a"))
    assertEquals(lists.map(list => Sha256.hex(Sha256.ofTexts(list))).distinct.size, lists.size)
  }
}
