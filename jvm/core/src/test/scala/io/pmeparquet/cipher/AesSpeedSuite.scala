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

  test("HotSpot shows whether it has the optimizing compiler, and what shows nothing has one") {
    val levels = Seq(Some("4"), Some("1"), Some("3"), None)
    assertEquals(levels.map(AesHardware.isOptimizing), Seq(true, false, false, true))
    val isEmulated = System.getProperty("java.vm.info").contains("emulated-client")
    assertEquals(AesHardware.hasCompiler, !isEmulated)
  }
}
