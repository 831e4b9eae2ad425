package io.pmeparquet.kms.http

import munit.FunSuite

import io.pmeparquet.{Condition, PmeException}
import io.pmeparquet.options.PmeOptions

class UrlPathSuite extends FunSuite {
  private val hostile = Seq(
    "..",
    "transit/../sys",
    "../sys",
    "transit/..",
    "a/./b",
    "a//b",
    "a?list=true",
    "a#b",
    "a%2e%2e",
    "%2e%2e/sys",
    "a%2fb",
    "a\\..\\b",
    "a;x/b",
    "a\nX-Vault-Token: t",
    "a\tb",
    "a\u0000b",
    "a\u200bb",
    "a\u2028b",
    "/",
    "//"
  )

  test("a mount or namespace leads nowhere but to where it seems to") {
    hostile.foreach { text =>
      val failed = intercept[PmeException](UrlPath.parse(PmeOptions.VaultMount, text))
      assertEquals(failed.condition, Condition.BadOption, text)
      assert(failed.getMessage.contains("kms.vault.mount"))
    }
  }

  test("plain names are taken, without the slashes around them") {
    Seq("transit" -> "transit", "/team/transit/" -> "team/transit", "a.b..c/d-e_f" -> "a.b..c/d-e_f")
      .foreach { case (text, path) =>
        assertEquals(UrlPath.parse(PmeOptions.VaultMount, text), path)
      }
  }

  test("an address has no path that leads elsewhere") {
    hostile.filter(text => text.forall(_ > ' ') && !text.forall(_ == '/')).foreach { text =>
      intercept[PmeException](ServerAddress.parse(PmeOptions.VaultUrl, s"https://vault:8200/$text"))
    }
    Seq("https://vault:8200", "https://vault:8200/", "https://proxy/team/vault").foreach(text =>
      assertEquals(ServerAddress.parse(PmeOptions.VaultUrl, text).toString, text.stripSuffix("/"))
    )
  }
}
