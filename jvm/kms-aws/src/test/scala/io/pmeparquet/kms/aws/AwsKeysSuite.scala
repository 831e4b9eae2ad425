package io.pmeparquet.kms.aws

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.kms.client.KmsFailure
import io.pmeparquet.kms.http.PreparedServer

/** Keys of AWS KMS are scheduled for deletion, and created with an alias. */
class AwsKeysSuite extends FunSuite {
  private val arn = "arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"

  private def key(state: String, more: String = ""): (Int, String) =
    200 -> s"""{"KeyMetadata":{"KeyId":"1234","Arn":"$arn","KeyState":"$state"$more}}"""

  private def refusal(code: String, text: String): (Int, String) =
    400 -> s"""{"__type":"$code","message":"$text"}"""

  private val missing = refusal("NotFoundException", "Alias is not found.")
  private val pending = key("PendingDeletion", ""","DeletionDate":1800000000""")
  private val day = "scheduled 2027-01-15T08:00:00Z"

  private def asking[A](replies: (Int, String)*)(run: (AwsKmsClient, PreparedServer) => A): A = {
    System.setProperty("aws.accessKeyId", "AKIAOFTHETESTS")
    System.setProperty("aws.secretAccessKey", "secret-of-the-tests")
    val server = new PreparedServer(Map.empty, replies: _*)
    try {
      val conf = new Configuration(false)
      conf.set("parquet.encryption.kms.aws.region", "eu-central-1")
      conf.set("parquet.encryption.kms.aws.endpoint", server.address)
      val client = new AwsKmsClient
      client.initialize(conf, "DEFAULT", "DEFAULT", "DEFAULT")
      run(client, server)
    } finally server.close()
  }

  test("the key of an alias is scheduled by its ARN, and its day is given") {
    asking(key("Enabled"), 200 -> "{}", pending) { (client, server) =>
      assertEquals(client.keys.destroy("alias/t-acme"), day)
      assertEquals(server.bodies.take(2), Seq("""{"KeyId":"alias/t-acme"}""", s"""{"KeyId":"$arn"}"""))
    }
  }

  test("a key of several regions is kept, whichever of them it is") {
    val primary = ""","MultiRegion":true,"MultiRegionConfiguration":{"MultiRegionKeyType":"PRIMARY",
      |"ReplicaKeys":[{"Arn":"a","Region":"us-west-2"}]}""".stripMargin.replace("\n", "")
    val replica = ""","MultiRegion":true,"MultiRegionConfiguration":{"MultiRegionKeyType":"REPLICA"}"""
    Seq(primary, replica).foreach { regions =>
      asking(key("Enabled", regions)) { (client, server) =>
        val kept = intercept[KmsFailure](client.keys.destroy("alias/t-acme"))
        assert(kept.getMessage.contains("several regions"), kept.getMessage)
        assertEquals(server.bodies.size, 1)
      }
    }
  }

  test("states are those of the key, and a refusal is none") {
    asking(key("Disabled"), pending, missing, refusal("AccessDeniedException", "no")) { (client, _) =>
      assertEquals(client.keys.state("alias/t-acme"), "usable")
      assertEquals(client.keys.state("alias/t-acme"), day)
      assertEquals(client.keys.state("alias/t-acme"), "missing")
      assertEquals(intercept[KmsFailure](client.keys.state("alias/t-acme")).kind, KmsFailure.Kind.DENIED)
    }
  }

  test("aliases have the name of their key") {
    asking(key("Enabled"), missing) { (client, _) =>
      assertEquals(client.keys.nameOf("alias/t-acme"), arn)
      assertEquals(client.keys.nameOf("alias/other"), "alias/other")
    }
  }

  test("a key is created with an alias, and never by an id that AWS chooses") {
    asking(key("Enabled"), 200 -> "{}") { (client, server) =>
      client.keys.create("alias/t-acme")
      assert(server.bodies(1).contains("\"AliasName\":\"alias/t-acme\""), server.bodies(1))
      assertEquals(intercept[KmsFailure](client.keys.create("1234")).kind, KmsFailure.Kind.MISSING)
    }
  }

  test("a key that is pending deletion says so when it should unwrap") {
    asking(
      refusal("KMSInvalidStateException", s"$arn is pending deletion."),
      refusal("KMSInvalidStateException", "x")
    ) { (client, _) =>
      assertEquals(intercept[KmsFailure](client.unwrapKey("AAAA", "alias/a")).kind, KmsFailure.Kind.DESTROYED)
      assertEquals(intercept[KmsFailure](client.unwrapKey("AAAA", "alias/a")).kind, KmsFailure.Kind.MISSING)
    }
  }
}
