package io.pmeparquet.cipher

class AesSpeedSuite extends munit.FunSuite {
  test("every size of key and module is measured") {
    val measured = AesSpeed.measure(CryptoProvider.of(CryptoProvider.Auto))
    val sizes = for (bits <- Seq(128, 256); size <- AesSpeed.ModuleSizes) yield bits -> size
    assertEquals(measured.map(one => one.keyBits -> one.moduleBytes), sizes)
    measured.foreach(one => assert(one.gigabytesPerSecond > 0, one))
  }

  test("HotSpot shows at least whether AES instructions are used") {
    val flags = AesHardware.flags.toMap
    assume(System.getProperty("java.vm.name").contains("OpenJDK"), "this is another JVM")
    assert(flags("UseAES").isDefined)
  }

  test("nothing waits for a compiler that these tests run without") {
    assume(
      System.getProperty("java.vm.info").contains("emulated-client"),
      "this JVM has the optimizing compiler"
    )
    assert(!AesHardware.hasCompiler)
  }
}
