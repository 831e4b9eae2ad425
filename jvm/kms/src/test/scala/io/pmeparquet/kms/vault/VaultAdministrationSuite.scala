package io.pmeparquet.kms.vault

import io.pmeparquet.{Condition, PmeException}
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

  test("a key whose deletion somebody allowed is deleted, and if that fails, the permission stays") {
    val allowed = Reply(200, """{"data":{"type":"aes256-gcm96","deletion_allowed":true}}""")
    asking(allowed, done, missing, allowed, done, allowed) { (kms, vault, _) =>
      assertEquals(kms.administration.get.destroy("t-acme", "w"), KeyState.Destroyed)
      assertEquals(condition(kms.administration.get.destroy("t-acme", "w")), "PME_KMS_UNAVAILABLE")
      assert(!vault.paths.exists(_.endsWith("/config")), vault.paths)
    }
  }

  test("a request to delete that is repeated finds no key, and that is no failure") {
    asking(there, done, Reply(400, """{"errors":["could not delete key; not found"]}"""), missing) {
      (kms, _, _) =>
        assertEquals(kms.administration.get.destroy("t-acme", "w"), KeyState.Destroyed)
    }
  }

  test("a key that Vault keeps is not taken for destroyed") {
    // After a refusal the token is looked up.
    val refused = Seq(denied, known)
    val answers = Seq(Seq(done) -> "again forbids", refused -> "no longer forbids")
    for (deleted <- Seq(Seq(done), refused); (forbidden, words) <- answers)
      asking(Seq(there, done) ++ deleted ++ Seq(there) ++ forbidden: _*) { (kms, vault, _) =>
        val failed = intercept[PmeException](kms.administration.get.destroy("t-acme", "w"))
        assertEquals(failed.condition, Condition.KmsUnavailable)
        assert(failed.getMessage.contains(words), failed.getMessage)
        assert(vault.bodies.contains("""{"deletion_allowed":false}"""), vault.bodies)
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

  test("keys of one name in two places have two names") {
    asking() { (kms, vault, _) =>
      assertEquals(kms.administration.get.nameOf("t-acme", "w"), s"${vault.address}$name")
    }
  }

  test("a name that would be another path is refused before any request") {
    asking() { (kms, vault, _) =>
      assertEquals(condition(kms.administration.get.destroy("a/../b", "w")), "PME_KEY_NOT_FOUND")
      assertEquals(vault.paths, Nil)
    }
  }
}
