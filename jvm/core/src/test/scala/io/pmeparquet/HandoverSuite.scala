package io.pmeparquet

import munit.FunSuite

class HandoverSuite extends FunSuite {
  test("one taker gets the value, and the next none") {
    val handed = new Handover("table", "scope", 1000, () => 0L)
    assert(handed.waitsFor("table"))
    assertEquals(handed.take("table"), Some("scope"))
    assertEquals(handed.take("table"), None)
    assert(!handed.waitsFor("table"))
  }

  test("another key gets nothing, and takes nothing away") {
    val handed = new Handover("table", "scope", 1000, () => 0L)
    assertEquals(handed.take("other"), None)
    assertEquals(handed.take("table"), Some("scope"))
  }

  test("what nobody took in time is forgotten when it is swept") {
    var clock = 0L
    val handed = new Handover("table", "scope", 1000, () => clock)
    clock = 999
    handed.sweep()
    assert(handed.waitsFor("table"))
    clock = 1000
    handed.sweep()
    clock = 0
    assert(!handed.waitsFor("table"))
    assertEquals(handed.take("table"), None)
  }
}
