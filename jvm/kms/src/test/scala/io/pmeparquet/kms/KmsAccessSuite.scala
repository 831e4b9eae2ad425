package io.pmeparquet.parquet

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeException, Secret}
import io.pmeparquet.keys.KmsSettings
import io.pmeparquet.options.ClientKind

class KmsAccessSuite extends FunSuite {

  // Clients in jars of their own are not on the class path of these tests.
  ClientKind.all.filter(_.jar.isDefined).foreach { kind =>
    test(s"kms=${kind.name} without its jar says which jar is missing") {
      val settings =
        KmsSettings.ClientClass(kind.className, "DEFAULT", "DEFAULT", new Secret("DEFAULT"), "identity")
      val failed = intercept[PmeException](KmsAccess.open(settings, new Configuration(false)))
      assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
      assert(failed.getMessage.contains(kind.jar.get), failed.getMessage)
    }
  }
}
