package io.pmeparquet

import java.util.Collections

import munit.FunSuite

class LastValueSuite extends FunSuite {
  test("a value is computed once for equal keys, and again for another key and for the one before it") {
    val values = new LastValue[java.util.Map[String, String], Int]
    var computed = 0
    def of(value: String) = values.get(Collections.singletonMap("setting", value)) {
      computed += 1
      computed
    }
    assertEquals(Seq("a", "a", "b", "a", "a").map(of), Seq(1, 1, 2, 3, 3))
  }

  test("a failure is computed again") {
    val values = new LastValue[String, Int]
    intercept[IllegalStateException](values.get("key")(throw new IllegalStateException))
    assertEquals(values.get("key")(1), 1)
  }

  test("lists of texts that are cut at other places have different digests") {
    val lists = Seq(Seq("ab", "c"), Seq("a", "bc"), Seq("abc"), Seq("abc", ""), Seq("1:a"), Seq("a"))
    assertEquals(lists.map(list => Sha256.hex(Sha256.ofTexts(list))).distinct.size, lists.size)
  }
}
