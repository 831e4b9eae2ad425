package io.pmeparquet.kms.azure

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.kms.client.{KeyAdministrationClient, KmsFailure}
import io.pmeparquet.kms.http.PreparedServer

/** Keys of Key Vault are deleted softly, and created. */
class AzureKeysSuite extends FunSuite {
  private val login = Map("POST /tenant/oauth2" -> """{"access_token":"t","expires_in":3600}""")
  private val there = 200 -> """{"key":{"kid":"https://v/keys/t-acme/0123456789abcdef0123456789abcdef"}}"""
  private val missing = 404 -> """{"error":{"code":"KeyNotFound"}}"""
  private val deleted =
    200 -> """{"recoveryId":"https://v/deletedkeys/t-acme","scheduledPurgeDate":1800000000}"""
  private val day = "scheduled 2027-01-15T08:00:00Z"
  private val query = "?api-version=7.4"

  private def asking[A](
      replies: (Int, String)*
  )(run: (KeyAdministrationClient.Keys, PreparedServer) => A): A = {
    val server = new PreparedServer(login, replies: _*)
    try {
      val conf = new Configuration(false)
      Map(
        "vaultUrl" -> server.address,
        "authority" -> server.address,
        "tenantId" -> "tenant",
        "clientId" -> "client",
        "clientSecret" -> "s.secret",
        "algorithm" -> "RSA-OAEP-256"
      ).foreach { case (name, value) => conf.set(s"parquet.encryption.kms.azure.$name", value) }
      val client = new AzureKmsClient
      client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
      run(client.keys, server)
    } finally server.close()
  }

  test("a key is there, deleted until its day, or not known") {
    asking(there, missing, deleted, missing, missing) { (keys, server) =>
      assertEquals(keys.state("t-acme"), "usable")
      assertEquals(keys.state("t-acme"), day)
      assertEquals(keys.state("t-acme"), "missing")
      assertEquals(
        server.asked.take(3),
        Seq(s"GET /keys/t-acme$query", s"GET /keys/t-acme$query", s"GET /deletedkeys/t-acme$query")
      )
    }
  }

  test("a key is deleted with all its versions, whatever version its id names") {
    asking(deleted) { (keys, server) =>
      assertEquals(keys.destroy("t-acme/0123456789abcdef0123456789abcdef"), day)
      assertEquals(server.asked, Seq(s"DELETE /keys/t-acme$query"))
    }
  }

  test("a vault without soft deletion destroys at once, and a repeated request finds the deleted key") {
    asking(200 -> "{}", missing, missing, deleted) { (keys, _) =>
      assertEquals(keys.destroy("t-acme"), "destroyed")
      assertEquals(keys.destroy("t-acme"), day)
    }
  }

  test("a refusal is none of these states") {
    asking(403 -> """{"error":{"code":"Forbidden"}}""", 404 -> "<html>") { (keys, _) =>
      assertEquals(intercept[KmsFailure](keys.destroy("t-acme")).kind, KmsFailure.Kind.DENIED)
      assertEquals(intercept[KmsFailure](keys.state("t-acme")).kind, KmsFailure.Kind.UNAVAILABLE)
    }
  }

  test("a new key wraps as the option says, and names are alike in every case") {
    asking(there) { (keys, server) =>
      keys.create("t-acme")
      assertEquals(server.asked, Seq(s"POST /keys/t-acme/create$query"))
      assert(server.bodies.head.contains("\"kty\":\"RSA\""), server.bodies.head)
      val name = keys.nameOf("T-Acme/0123456789abcdef0123456789abcdef")
      assert(name.contains("//") && name.endsWith("/keys/t-acme"), name)
    }
  }
}
