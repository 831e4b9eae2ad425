package io.pmeparquet.cipher

import munit.FunSuite

class WarmUpSuite extends FunSuite {
  private val provider = CryptoProvider.of("SunJCE")

  test("the warm-up opens all its messages") {
    assertEquals(WarmUp.run(provider, Long.MaxValue / 2), WarmUp.Messages)
  }

  test("the warm-up ends where its time does") {
    assertEquals(WarmUp.run(provider, 0), 0)
    assert(WarmUp.run(provider, 1000 * 1000) < WarmUp.Messages)
  }
}
