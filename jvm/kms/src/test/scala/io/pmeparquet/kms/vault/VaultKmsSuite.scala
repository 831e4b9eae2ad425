package io.pmeparquet.kms.vault

import scala.collection.JavaConverters._

import io.pmeparquet.keys.{KmsSource, WrappedKey}
import io.pmeparquet.kms.http.{JsonHttp, ServerAddress}
import io.pmeparquet.options.PmeOptions

class VaultKmsSuite extends VaultSuite {

  test("a key is wrapped and unwrapped with one request each, under the name of its master key") {
    asking(wrapped, unwrapped) { (kms, vault, _) =>
      assertEquals(kms.wrap(key, "pii-2024", "t"), "vault:v1:abc")
      assertEquals(kms.unwrap("vault:v1:abc", "pii-2024", "t"), key)
      assertEquals(vault.paths, Seq("/v1/transit/encrypt/pii-2024", "/v1/transit/decrypt/pii-2024"))
      assertEquals(vault.tokens.distinct, Seq("s.token"))
      assert(!vault.bodies.exists(_.contains("associated_data")))
    }
  }

  test("a token is sent on with a request to where tokens may go, once, and nowhere else") {
    val other = new Vault(wrapped, Reply(307, "", Map("Location" -> "http://127.0.0.1:1/x")))
    try {
      def to(address: String) = Reply(307, "", Map("Location" -> address))
      asking(to(s"${other.address}/v1/transit/encrypt/k"), to("http://vault.example/x"), to("/x"), to("::")) {
        (kms, vault, _) =>
          assertEquals(kms.wrap(key, "k", "t"), "vault:v1:abc")
          assertEquals(other.tokens, Seq("s.token"))
          (1 to 3).foreach(_ => assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE"))
          assertEquals(vault.paths.size, 4)
      }
      asking(to(s"${other.address}/v1/transit/encrypt/k")) { (kms, _, _) =>
        assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
      }
    } finally other.close()
  }

  test("a failed login or renewal is not tried by each who waits for it") {
    withLogin(refusal(400, "invalid role or secret ID"), login("one", 100), wrapped) { (kms, vault, clock) =>
      (1 to 5).foreach(_ => assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE"))
      assertEquals(vault.paths.size, 1)
      clock.now = 10000
      assertEquals(kms.wrap(key, "k", "t"), "vault:v1:abc")
    }
    withLogin(login("one", 100) +: wrapped +: Seq.fill(6)(Reply(503, "")) :+ wrapped :+ wrapped: _*) {
      (kms, vault, clock) =>
        kms.wrap(key, "k", "t")
        clock.now = 51000
        kms.wrap(key, "k", "t")
        kms.wrap(key, "k", "t")
        assertEquals(vault.paths.count(_.endsWith("renew-self")), 6)
    }
  }

  test("what may pass is tried again, after pauses that grow, and what Vault asks to wait is waited") {
    def busy(status: Int, wait: String) = Reply(status, "", Map("Retry-After" -> wait))
    val date = busy(429, "Sun, 22 Nov 2026 03:00:00 GMT")
    asking(Reply(500, ""), Reply(503, ""), busy(429, "3"), busy(503, "2"), date, wrapped) { (kms, _, clock) =>
      assertEquals(kms.wrap(key, "k", "t"), "vault:v1:abc")
      val pauses = clock.pauses.asScala.toSeq
      assertEquals(pauses.size, 5)
      assert(pauses.head <= 100 && pauses(1) <= 200 && pauses(4) <= 1600, pauses)
      assertEquals(pauses.slice(2, 4), Seq(3000L, 2000L))
    }
  }

  test("no more than six attempts are made, and none that would end after the time that is given") {
    asking(Seq.fill(20)(Reply(503, "")): _*) { (kms, vault, _) =>
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
      assertEquals(vault.paths.size, JsonHttp.MaxAttempts)
    }
    asking(Reply(429, "", Map("Retry-After" -> "60")), wrapped) { (kms, vault, _) =>
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
      assertEquals(vault.paths.size, 1)
    }
  }

  test("a Vault that is not there is named, with the reason") {
    val vault = new Vault()
    vault.close()
    val kms = new VaultKms(settings(vault), new Clock)
    val failed = failure(kms.wrap(key, "k", "job"))
    assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
    assert(failed.getMessage.contains(vault.address) && failed.getMessage.contains("job"), failed.getMessage)
  }

  test("each refusal has its own error, and none is tried again") {
    val answers = Seq(
      refusal(
        403,
        "2 errors occurred:\\n\\t* permission denied\\n\\t* invalid token\\n\\n"
      ) -> "PME_KMS_UNAVAILABLE",
      refusal(400, "encryption key not found") -> "PME_KEY_NOT_FOUND",
      refusal(
        400,
        "ciphertext or signature version is disallowed by policy (too old)"
      ) -> "PME_KEY_NOT_FOUND",
      refusal(400, "invalid ciphertext: unable to decrypt") -> "PME_NOT_AUTHENTIC",
      refusal(400, "something else") -> "PME_KMS_UNAVAILABLE",
      refusal(404, "no handler for route \\\"transit/decrypt/k\\\"") -> "PME_KMS_UNAVAILABLE",
      refusal(503, "Vault is sealed") -> "PME_KMS_UNAVAILABLE",
      Reply(200, "<html>") -> "PME_KMS_UNAVAILABLE",
      Reply(200, "") -> "PME_KMS_UNAVAILABLE",
      Reply(200, """{"data":{"plaintext":"no base64!"}}""") -> "PME_KMS_UNAVAILABLE",
      Reply(200, """{"data":{"plaintext":"AAAA"}}""") -> "PME_KEY_METADATA",
      Reply(200, "[" * 100000) -> "PME_KMS_UNAVAILABLE",
      Reply(200, "\"" + "x" * (5 * 1024 * 1024) + "\"") -> "PME_KMS_UNAVAILABLE"
    )
    answers.foreach { case (reply, expected) =>
      asking(reply, unwrapped) { (kms, vault, _) =>
        assertEquals(condition(kms.unwrap("vault:v1:abc", "k", "t")), expected, reply.body.take(80))
        assertEquals(vault.paths.size, 1)
      }
    }
  }

  test("permission denied is of the key where Vault knows the token, which is asked once in a while") {
    asking(denied, known, denied, denied, denied, known) { (kms, vault, clock) =>
      (1 to 3).foreach(_ => assertEquals(condition(kms.unwrap("vault:v1:abc", "k", "t")), "PME_KEY_DENIED"))
      clock.now = 10000
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KEY_DENIED")
      val (encrypt, decrypt) = ("/v1/transit/encrypt/k", "/v1/transit/decrypt/k")
      assertEquals(vault.paths, Seq(decrypt, lookUp, decrypt, decrypt, encrypt, lookUp))
      assertEquals(vault.tokens.distinct, Seq("s.token"))
    }
  }

  test("it is of the token where Vault does not know that either, and then nothing is asked for a while") {
    asking(denied, denied, denied, known) { (kms, vault, clock) =>
      (1 to 5).foreach { n =>
        val failed = failure(kms.wrap(key, s"k$n", s"job $n"))
        assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
        assert(failed.getMessage.contains("the token") && failed.getMessage.contains(s"job $n: "))
      }
      assertEquals(vault.paths, Seq("/v1/transit/encrypt/k1", lookUp))
      clock.now = 10000
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KEY_DENIED")
    }
  }

  test("an expired token of a login is not taken for a denied key, and is replaced") {
    withLogin(login("one", 100), denied, denied, denied, login("two", 100), wrapped) { (kms, vault, clock) =>
      // It has just come from Vault, which therefore is not asked.
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KEY_DENIED")
      clock.now = 10000
      assertEquals(kms.wrap(key, "k", "t"), "vault:v1:abc")
      val (in, encrypt) = ("/v1/auth/approle/login", "/v1/transit/encrypt/k")
      assertEquals(vault.paths, Seq(in, encrypt, encrypt, lookUp, in, encrypt))
      assertEquals(vault.tokens, Seq("", "one", "one", "one", "", "two"))
    }
  }

  test("where it cannot be asked what was meant, Vault is taken to be out of order, and not asked by each") {
    asking(denied +: Seq.fill(JsonHttp.MaxAttempts)(Reply(503, "")) :+ denied: _*) { (kms, vault, _) =>
      (1 to 2).foreach(_ => assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE"))
      assertEquals(vault.paths.count(_ == lookUp), JsonHttp.MaxAttempts)
    }
  }

  test("a proxy before Vault that cannot say what was meant refuses no key") {
    asking(denied, Reply(404, "not here")) { (kms, _, _) =>
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
    }
  }

  test("many who are refused at the same time ask what was meant once") {
    asking(Seq.fill(9)(denied): _*) { (kms, vault, _) =>
      val source = new KmsSource(kms, 60000)
      val keys = (1 to 8).map(n => WrappedKey(s"k$n", "vault:v1:abc", None))
      val answers = source.unwrap(keys, "t").map(_.left.toOption.map(_.getCondition()))
      assertEquals(answers.distinct, Seq(Some("PME_KMS_UNAVAILABLE")))
      assertEquals(vault.paths.count(_ == lookUp), 1)
    }
  }

  test("a master-key id that is no name of a key never becomes a path") {
    asking() { (kms, vault, _) =>
      Seq("../../sys/seal", "a/b", "", ".", "a?b", "a%2fb", "-a").foreach { id =>
        assertEquals(condition(kms.unwrap("vault:v1:abc", id, "t")), "PME_KEY_NOT_FOUND")
      }
      assertEquals(vault.paths, Nil)
    }
  }

  test("a login is made once, renewed when half of its time is over, and made again when it is refused") {
    val expired = refusal(403, "permission denied\", \"invalid token")
    withLogin(
      login("one", 100),
      wrapped,
      wrapped,
      login("one", 100),
      wrapped,
      expired,
      login("two", 100),
      wrapped
    ) { (kms, vault, clock) =>
      kms.wrap(key, "k", "t")
      clock.now = 49000
      kms.wrap(key, "k", "t")
      clock.now = 51000
      kms.wrap(key, "k", "t")
      kms.wrap(key, "k", "t")
      val encrypt = "/v1/transit/encrypt/k"
      val (in, renew) = ("/v1/auth/approle/login", "/v1/auth/token/renew-self")
      assertEquals(vault.paths, Seq(in, encrypt, encrypt, renew, encrypt, encrypt, in, encrypt))
      assertEquals(vault.tokens, Seq("", "one", "one", "one", "one", "one", "", "two"))
    }
  }

  test("where a new login does not help either, it is left at that") {
    val expired = refusal(403, "invalid token")
    withLogin(login("one", 100), expired, login("two", 100), expired, wrapped) { (kms, vault, _) =>
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
      assertEquals(vault.paths.size, 4)
    }
    withLogin(refusal(400, "invalid role or secret ID")) { (kms, vault, _) =>
      assertEquals(condition(kms.wrap(key, "k", "t")), "PME_KMS_UNAVAILABLE")
      assertEquals(vault.paths.size, 1)
    }
  }

  test("addresses that would send a token readable, or hold a password, are refused and not repeated whole") {
    Seq("https://vault:8200", "http://127.0.0.1:8200", "http://localhost:8200/", "http://[::1]:8200").foreach {
      address =>
        assertEquals(ServerAddress.parse(PmeOptions.VaultUrl, address).toString, address.stripSuffix("/"))
    }
    Seq(
      "http://vault:8200",
      "http://127.0.0.1.evil:80",
      "vault:8200",
      "ftp://vault",
      "https://u:s.secret@vault",
      "https://vault?x",
      "",
      "https://"
    ).foreach(address =>
      assertEquals(condition(ServerAddress.parse(PmeOptions.VaultUrl, address)), "PME_BAD_OPTION", address)
    )
  }
}
