package io.pmeparquet.kms.vault

import java.security.SecureRandom
import java.util.Base64

import io.pmeparquet.{AesKey, PmeException}

/** Several keys under one master key: in one request, and each with its own answer. */
class VaultBatchSuite extends VaultSuite {
  private type Answers = Seq[Either[PmeException, Any]]

  private val random = new SecureRandom
  private val others = Seq.fill(2)(AesKey.random(256, random))
  private val keys = key +: others

  private def base64(key: AesKey) = Base64.getEncoder.encodeToString(key.insecureBytes)
  private def batch(items: String*) = s"""{"data":{"batch_results":[${items.mkString(",")}]}}"""
  private def conditions(answers: Answers) = answers.map(_.fold(_.getCondition(), _ => "ok"))

  private val calls: Seq[(String, String, VaultKms => Answers)] = Seq(
    ("encrypt", """{"ciphertext":"vault:v1:abc"}""", _.wrapAll(keys, "k", "t")),
    ("rewrap", """{"ciphertext":"vault:v2:abc"}""", _.rewrapAll(Seq("a", "b", "c"), "k", "t").get),
    ("decrypt", s"""{"plaintext":"${base64(key)}"}""", _.unwrapAll(Seq("a", "b", "c"), "k", "t"))
  )

  calls.foreach { case (name, good, call) =>
    test(s"$name: each item has its own answer, whatever the status") {
      val some = batch(
        good,
        """{"ciphertext":"","plaintext":"","error":"invalid ciphertext: unable to decrypt"}""",
        """{"error":"something else"}"""
      )
      asking(Reply(400, some), Reply(200, some)) { (kms, vault, _) =>
        (1 to 2).foreach { _ =>
          assertEquals(conditions(call(kms)), Seq("ok", "PME_NOT_AUTHENTIC", "PME_KMS_UNAVAILABLE"))
        }
        assertEquals(vault.paths, Seq.fill(2)(s"/v1/transit/$name/k"))
      }
    }

    test(s"$name: the answer to the request counts for each item") {
      val refusals = Seq(
        denied -> "PME_KEY_DENIED",
        refusal(400, "encryption key not found") -> "PME_KEY_NOT_FOUND",
        refusal(503, "Vault is sealed") -> "PME_KMS_UNAVAILABLE",
        Reply(200, "<html>") -> "PME_KMS_UNAVAILABLE",
        Reply(200, "{}") -> "PME_KMS_UNAVAILABLE",
        Reply(200, batch(good, good)) -> "PME_KMS_UNAVAILABLE",
        Reply(200, batch(good, good, good, good)) -> "PME_KMS_UNAVAILABLE",
        Reply(200, batch("{}", "7", """{"ciphertext":1,"plaintext":1}""")) -> "PME_KMS_UNAVAILABLE"
      )
      refusals.foreach { case (reply, expected) =>
        asking(reply, known) { (kms, vault, _) =>
          assertEquals(conditions(call(kms)), Seq.fill(3)(expected), reply.body.take(80))
          assertEquals(vault.paths.filterNot(_ == lookUp).size, 1)
        }
      }
    }
  }

  test("keys go in as they are, and come out in their order") {
    val texts = Seq("vault:v1:1", "vault:v1:2", "vault:v1:3")
    val wrapped = batch(texts.map(text => s"""{"ciphertext":"$text"}"""): _*)
    val opened = batch(keys.map(key => s"""{"plaintext":"${base64(key)}"}"""): _*)
    asking(Reply(200, wrapped), Reply(200, wrapped), Reply(200, opened)) { (kms, vault, _) =>
      assertEquals(kms.wrapAll(keys, "k", "t"), texts.map(Right(_)))
      assertEquals(kms.rewrapAll(texts, "k", "t"), Some(texts.map(Right(_))))
      assertEquals(kms.unwrapAll(texts, "k", "t"), keys.map(Right(_)))
      def sent(field: String, values: Seq[String]) =
        values.map(value => s"""{"$field":"$value"}""").mkString("""{"batch_input":[""", ",", "]}")
      val wrapping = Seq(sent("plaintext", keys.map(base64)), sent("ciphertext", texts))
      assertEquals(vault.bodies, wrapping :+ sent("ciphertext", texts))
    }
  }

  test("one key is no batch, and none is no request") {
    asking(wrapped, wrapped, unwrapped) { (kms, vault, _) =>
      assertEquals(kms.wrapAll(Seq(key), "k", "t"), Seq(Right("vault:v1:abc")))
      assertEquals(kms.rewrapAll(Seq("a"), "k", "t"), Some(Seq(Right("vault:v1:abc"))))
      assertEquals(kms.unwrapAll(Seq("a"), "k", "t"), Seq(Right(key)))
      assertEquals(kms.wrapAll(Nil, "k", "t") ++ kms.unwrapAll(Nil, "k", "t"), Nil)
      assertEquals(vault.bodies.count(_.contains("batch_input")), 0)
      assertEquals(vault.paths.size, 3)
    }
  }

  test("many keys are several requests, and none follows one that was not served") {
    val many = Seq.fill(VaultKms.MostInBatch + 2)("a")
    def served(count: Int) = Reply(200, batch(Seq.fill(count)("""{"ciphertext":"vault:v2:abc"}"""): _*))
    asking(served(VaultKms.MostInBatch), served(2)) { (kms, vault, _) =>
      assertEquals(kms.rewrapAll(many, "k", "t").get.count(_.isRight), many.size)
      assertEquals(vault.paths.size, 2)
    }
    asking(refusal(503, "Vault is sealed"), served(2)) { (kms, vault, _) =>
      assertEquals(conditions(kms.rewrapAll(many, "k", "t").get).distinct, Seq("PME_KMS_UNAVAILABLE"))
      assertEquals(vault.paths.size, 1)
    }
    // A refusal of some is no word about the others.
    val failed = Seq.fill(VaultKms.MostInBatch)("""{"error":"invalid ciphertext"}""")
    asking(Reply(400, batch(failed: _*)), served(2)) { (kms, vault, _) =>
      assertEquals(kms.rewrapAll(many, "k", "t").get.count(_.isRight), 2)
      assertEquals(vault.paths.size, 2)
    }
  }
}
