package io.pmeparquet

import munit.FunSuite

import io.pmeparquet.keys.FileContent

class SecretsSuite extends FunSuite {
  private val secret = new Secret("hunter2")

  test("a secret does not print, nor does a file's content") {
    val content = new FileContent("bytes".getBytes)
    assert(!s"$secret $content".contains("hunter2"))
    assertEquals(content.toString, "FileContent(5 bytes)")
  }

  test("an AES key prints its length and nothing else") {
    val key = AesKey.of(Array.tabulate(16)(_.toByte), "test")
    assertEquals(key.toString, "AesKey(128 bits)")
  }

  test("an AES key of another length is refused") {
    val failed = intercept[PmeException](AesKey.of(new Array[Byte](15), "file f, column 'a'"))
    assertEquals(failed.getCondition(), "PME_KEY_METADATA")
    assert(failed.getMessage.contains("column 'a'"))
  }

  test("a reference to a secret is read, a secret written out is refused and not repeated") {
    assertEquals(SecretReference.parse("o", "env:NAME"), SecretReference("env", "NAME"))
    assertEquals(SecretReference.parse("o", "file:/a:b"), SecretReference("file", "/a:b"))
    Seq("hunter2", "hunter2:x", "env:", "").foreach { text =>
      val failed = intercept[PmeException](SecretReference.parse("kms.keystore.password", text))
      assertEquals(failed.getCondition(), "PME_SECRET_IN_OPTION")
      assert(!failed.getMessage.contains("hunter2"))
      assert(failed.getMessage.contains("kms.keystore.password"))
    }
  }
}
