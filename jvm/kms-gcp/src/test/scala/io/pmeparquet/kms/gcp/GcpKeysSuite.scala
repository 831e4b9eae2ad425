package io.pmeparquet.kms.gcp

import java.nio.charset.StandardCharsets.UTF_8
import java.security.KeyPairGenerator
import java.util.Base64

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.kms.client.{KeyAdministrationClient, KmsFailure}
import io.pmeparquet.kms.http.PreparedServer

/** Versions of keys of Cloud KMS are destroyed, and keys created. */
class GcpKeysSuite extends FunSuite {
  private val ring = "projects/acme/locations/europe-west3/keyRings/spark"
  private val key = s"$ring/cryptoKeys/t-acme"
  private val login = Map("POST /token" -> """{"access_token":"t","expires_in":3600,"token_type":"Bearer"}""")
  private val list = s"GET /v1/$key/cryptoKeyVersions?pageSize=1000"

  private lazy val account: String => String = {
    val made = KeyPairGenerator.getInstance("RSA").generateKeyPair().getPrivate.getEncoded
    val pem =
      s"-----BEGIN PRIVATE KEY-----\\n${Base64.getEncoder.encodeToString(made)}\\n-----END PRIVATE KEY-----\\n"
    address => s"""{"type":"service_account","project_id":"acme","private_key_id":"1","private_key":"$pem",
         |"client_email":"a@b.c","client_id":"1","token_uri":"$address/token"}""".stripMargin
  }

  private def versions(states: (String, String)*): (Int, String) = {
    val all = states.zipWithIndex.map { case ((state, day), at) =>
      val destroyed = if (day.isEmpty) "" else s""","destroyTime":"$day""""
      s"""{"name":"$key/cryptoKeyVersions/${at + 1}","state":"$state"$destroyed}"""
    }
    200 -> s"""{"cryptoKeyVersions":[${all.mkString(",")}]}"""
  }

  private def asking[A](replies: (Int, String)*)(run: (GcpKmsClient, PreparedServer) => A): A = {
    val server = new PreparedServer(login, replies: _*)
    try {
      val conf = new Configuration(false)
      Map("keyRing" -> ring, "endpoint" -> server.address, "credentials" -> account(server.address)).foreach {
        case (name, value) => conf.set(s"parquet.encryption.kms.gcp.$name", value)
      }
      val client = new GcpKmsClient
      client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
      run(client, server)
    } finally server.close()
  }

  private def keysOf(client: GcpKmsClient): KeyAdministrationClient.Keys = client.keys

  test("all versions that have material are destroyed, the primary last, and the last of their days counts") {
    val (first, last) = ("2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z")
    asking(
      200 -> s"""{"name":"$key","primary":{"name":"$key/cryptoKeyVersions/2","state":"ENABLED"}}""",
      versions("DESTROYED" -> "", "ENABLED" -> "", "DISABLED" -> "", "IMPORT_FAILED" -> ""),
      200 -> "{}",
      200 -> "{}",
      versions(
        "DESTROYED" -> "",
        "DESTROY_SCHEDULED" -> first,
        "DESTROY_SCHEDULED" -> last,
        "GENERATION_FAILED" -> ""
      )
    ) { (client, server) =>
      assertEquals(keysOf(client).destroy("t-acme"), s"scheduled $last")
      assertEquals(
        server.asked,
        Seq(
          s"GET /v1/$key",
          list,
          s"POST /v1/$key/cryptoKeyVersions/3:destroy",
          s"POST /v1/$key/cryptoKeyVersions/2:destroy",
          list
        )
      )
    }
  }

  test("a key is usable as long as one version on any page is") {
    val page = versions("DESTROYED" -> "")._2.stripSuffix("}") + ""","nextPageToken":"a/b="}"""
    asking(200 -> page, versions("ENABLED" -> ""), versions("DESTROYED" -> "")) { (client, server) =>
      assertEquals(keysOf(client).state("t-acme"), "usable")
      assertEquals(server.asked, Seq(list, s"$list&pageToken=a%2Fb%3D"))
      assertEquals(keysOf(client).state("t-acme"), "destroyed")
    }
  }

  test("a version of another key, or without a state, is no answer") {
    val strange = Seq(
      "\"name\":\"x/cryptoKeyVersions/1\",\"state\":\"DESTROYED\"",
      s""""name":"$key/cryptoKeyVersions/1""""
    )
    asking(strange.map(one => 200 -> s"""{"cryptoKeyVersions":[{$one}]}"""): _*) { (client, _) =>
      strange.foreach { _ =>
        assertEquals(intercept[KmsFailure](keysOf(client).state("t-acme")).kind, KmsFailure.Kind.UNAVAILABLE)
      }
    }
  }

  test("a key that is not there is missing, and one that is refused is not") {
    val denied = 403 -> """{"error":{"status":"PERMISSION_DENIED"}}"""
    asking(404 -> """{"error":{"status":"NOT_FOUND"}}""", denied) { (client, _) =>
      assertEquals(keysOf(client).state("t-acme"), "missing")
      assertEquals(intercept[KmsFailure](keysOf(client).state("t-acme")).kind, KmsFailure.Kind.DENIED)
    }
  }

  test("a key is created in its ring, and short and full ids are one name") {
    asking(200 -> "{}") { (client, server) =>
      keysOf(client).create("t-acme")
      assertEquals(server.asked, Seq(s"POST /v1/$ring/cryptoKeys?cryptoKeyId=t-acme"))
      assertEquals(keysOf(client).nameOf("t-acme"), keysOf(client).nameOf(key))
    }
  }

  test("a destroyed version says so when it should unwrap") {
    val gone =
      """{"error":{"status":"FAILED_PRECONDITION","message":"… is not enabled, current state is: DESTROYED."}}"""
    asking(400 -> gone) { (client, _) =>
      val wrapped = Base64.getEncoder.encodeToString("wrapped".getBytes(UTF_8))
      assertEquals(intercept[KmsFailure](client.unwrapKey(wrapped, "t-acme")).kind, KmsFailure.Kind.DESTROYED)
    }
  }
}
