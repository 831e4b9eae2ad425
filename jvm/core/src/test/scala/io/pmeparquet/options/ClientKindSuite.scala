package io.pmeparquet.options

import munit.FunSuite

class ClientKindSuite extends FunSuite {
  private def kind(name: String) = ClientKind.named(name).get

  test("a client is named by its short name, in any case, or by its class's") {
    ClientKind.all.foreach { kind =>
      Seq(kind.name, kind.name.toUpperCase, kind.className).foreach(name =>
        assertEquals(ClientKind.named(name), Some(kind), name)
      )
    }
    assertEquals(ClientKind.named("org.example.OwnKms"), None)
  }

  test("what a client is handed is found, and so checked, under the name that the client reads as well") {
    ClientKind.all
      .flatMap(_.options)
      .foreach(option =>
        assertEquals(PmeOptions.parquetNameOf(option), Some("parquet.encryption." + option.name))
      )
  }

  private val ownHosts = Map(
    "aws" -> Seq(
      "kms.eu-central-1.amazonaws.com",
      "kms-fips.us-east-1.amazonaws.com",
      "kms.cn-north-1.amazonaws.com.cn",
      "kms.us-west-2.api.aws",
      "vpce-0ab1-2cd3.kms.us-east-1.vpce.amazonaws.com"
    ),
    "gcp" -> Seq(
      "cloudkms.googleapis.com",
      "cloudkms.europe-west3.rep.googleapis.com",
      "cloudkms-team.p.googleapis.com"
    ),
    "azure" -> Seq(
      "acme.vault.azure.net",
      "acme.managedhsm.azure.net",
      "acme.vault.azure.cn",
      "acme.vault.usgovcloudapi.net",
      "login.microsoftonline.com",
      "login.microsoftonline.us",
      "login.partner.microsoftonline.cn"
    )
  )

  private val customersHosts = Seq(
    "kms.eu-central-1.elb.amazonaws.com",
    "kms.elb.eu-central-1.amazonaws.com",
    "kms.s3.amazonaws.com",
    "x.kms.us-east-1.amazonaws.com",
    "vpce-svc-0ab1.us-east-1.vpce.amazonaws.com",
    "ec2-192-0-2-1.eu-central-1.compute.amazonaws.com",
    "kms.attacker.example",
    "kms.eu-central-1.amazonaws.com.attacker.example",
    "bucket.storage.googleapis.com",
    "cloudkms.googleapis.com.attacker.example",
    "acme.blob.core.windows.net",
    "x.acme.vault.azure.net",
    "acme.vault.azure.net.attacker.example",
    "attacker-login.microsoftonline.com"
  )

  ownHosts.foreach { case (name, hosts) =>
    test(s"a table's options may name hosts of $name's KMS, and none that somebody else answers for") {
      def isOwn(host: String) = kind(name).ownHosts.pattern.matcher(host).matches()
      hosts.foreach(host => assert(isOwn(host), host))
      customersHosts.foreach(host => assert(!isOwn(host), host))
    }
  }
}
