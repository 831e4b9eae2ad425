package io.pmeparquet.kms.vault

import io.pmeparquet.keys.KeyState

/** Keys of Vault's transit engine are made and deleted. */
class VaultAdministrationSuite extends VaultSuite {
  private val there = Reply(200, """{"data":{"type":"aes256-gcm96","deletion_allowed":false}}""")
  private val missing = Reply(404, """{"errors":[]}""")
  private val done = Reply(204, "")
  private val name = "/v1/transit/keys/t-acme"

  test("a key is deleted after that was allowed, and Vault is asked whether it is gone") {
    asking(there, done, done, missing) { (kms, vault, _) =>
      assertEquals(kms.administration.get.destroy("t-acme", "w"), KeyState.Destroyed)
      assertEquals(vault.paths, Seq(s"GET $name", s"$name/config", s"DELETE $name", s"GET $name"))
      assertEquals(vault.bodies(1), """{"deletion_allowed":true}""")
    }
  }

  test("a request to delete that is repeated finds no key, and that is no failure") {
    asking(there, done, Reply(400, """{"errors":["could not delete key; not found"]}"""), missing) {
      (kms, _, _) =>
        assertEquals(kms.administration.get.destroy("t-acme", "w"), KeyState.Destroyed)
    }
  }

  test("a key that Vault keeps is not taken for destroyed") {
    asking(there, done, done, there) { (kms, _, _) =>
      assertEquals(condition(kms.administration.get.destroy("t-acme", "w")), "PME_KMS_UNAVAILABLE")
    }
    asking(there, denied, known) { (kms, vault, _) =>
      assertEquals(condition(kms.administration.get.destroy("t-acme", "w")), "PME_KEY_DENIED")
      assert(!vault.paths.exists(_.startsWith("DELETE")))
    }
  }

  test("a key that Vault does not have is missing; an answer of somebody else is neither") {
    asking(missing) { (kms, _, _) =>
      assertEquals(condition(kms.administration.get.destroy("t-acme", "w")), "PME_KEY_NOT_FOUND")
    }
    asking(Reply(404, "<html>"), Reply(200, "{}")) { (kms, _, _) =>
      assertEquals(condition(kms.administration.get.state("t-acme", "w")), "PME_KMS_UNAVAILABLE")
      assertEquals(condition(kms.administration.get.state("t-acme", "w")), "PME_KMS_UNAVAILABLE")
    }
  }

  test("keys are made, and an existing one is not taken for new") {
    asking(missing, done, there) { (kms, vault, _) =>
      val failed = condition(kms.administration.get.create(Seq("t-acme", "t-other"), "w"))
      assertEquals(failed, "PME_KEY_NOT_FOUND")
      assertEquals(vault.paths, Seq(s"GET $name", name, "GET /v1/transit/keys/t-other"))
      assertEquals(vault.bodies(1), """{"type":"aes256-gcm96"}""")
    }
  }

  test("a name that would be another path is refused before any request") {
    asking() { (kms, vault, _) =>
      assertEquals(condition(kms.administration.get.destroy("a/../b", "w")), "PME_KEY_NOT_FOUND")
      assertEquals(vault.paths, Nil)
    }
  }
}
