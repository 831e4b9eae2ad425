package io.pmeparquet

import munit.FunSuite

class RecentValuesSuite extends FunSuite {
  private var clock = 0L
  private var made = 0

  private def values(lifetime: Long) = new RecentValues[String, Int](2, lifetime, () => clock)
  private def next = { made += 1; made }

  test("a value is made once until it is as old as its lifetime") {
    val recent = values(10)
    assertEquals(recent.get("a")(next), recent.get("a")(next))
    clock += 10
    assertNotEquals(recent.get("a")(next), 1)
  }

  test("with no lifetime nothing is kept") {
    val recent = values(0)
    assertNotEquals(recent.get("a")(next), recent.get("a")(next))
  }

  test("a value without an end is made once, and one that has ended before is not kept") {
    clock = 5
    val recent = values(Long.MaxValue)
    val made = recent.get("a")(next)
    assertEquals(recent.get("a")(next), made)
    recent.put("b", 7, -1)
    assertEquals(recent.find("b"), None)
  }

  test("the value that was used least lately gives way") {
    val recent = values(10)
    val a = recent.get("a")(next)
    val b = recent.get("b")(next)
    assertEquals(recent.get("a")(next), a)
    recent.get("c")(next)
    assertEquals(recent.get("a")(next), a)
    assertNotEquals(recent.get("b")(next), b)
  }

  test("what could not be made is tried again") {
    val recent = values(10)
    intercept[IllegalStateException](recent.get("a")(throw new IllegalStateException))
    assertEquals(recent.get("a")(7), 7)
  }
}
