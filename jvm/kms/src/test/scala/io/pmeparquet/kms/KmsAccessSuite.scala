package io.pmeparquet.kms

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.keys.{KeyAudit, KeyPurpose}
import io.pmeparquet.kms.client.ClientClassSettings
import io.pmeparquet.options.{ClientKind, PmeOptions}

class KmsAccessSuite extends FunSuite {

  // Clients in jars of their own are not on the class path of these tests.
  ClientKind.all.filter(_.jar.isDefined).foreach { kind =>
    test(s"kms=${kind.name} without its jar says which jar is missing") {
      val settings =
        ClientClassSettings(kind.className, "DEFAULT", "DEFAULT", new Secret("DEFAULT"), "identity")
      val failed = intercept[PmeException](
        KmsAccess.open(settings, new Configuration(false), KeyAudit.off(KeyPurpose.Read))
      )
      assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
      assert(failed.getMessage.contains(kind.jar.get), failed.getMessage)
    }
  }

  test("the option kms names every KMS that there is")(
    KmsAccess.names.foreach(name => assert(PmeOptions.Kms.doc.contains(s"`$name`"), name))
  )
}
