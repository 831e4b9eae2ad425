package io.pmeparquet.kms.local

import munit.FunSuite

import io.pmeparquet.keys.FileContent
import io.pmeparquet.Secret

class LocalSettingsSuite extends FunSuite {
  private val secret = new Secret("hunter2")

  test("settings print no secret") {
    val settings =
      KeystoreSettings("k.p12", "PKCS12", Some(new FileContent("bytes".getBytes)), secret, 30000)
    assert(!s"$secret $settings ${StaticSettings(secret)}".contains("hunter2"))
    assert(!settings.toString.contains("bytes,"))
  }

  test("settings with the same secrets are equal, with others not") {
    def settings(password: String, bytes: String) = {
      val content = new FileContent(bytes.getBytes)
      KeystoreSettings("k", "PKCS12", Some(content), new Secret(password), 30000)
    }
    assertEquals(settings("a", "x"), settings("a", "x"))
    assertNotEquals(settings("a", "x"), settings("b", "x"))
    assertNotEquals(settings("a", "x"), settings("a", "y"))
  }
}
