package io.pmeparquet.kms.client

import munit.FunSuite
import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{AesKey, PmeException, Secret}

/** A KMS client class that needs another class, which the class path lacks. */
class MissingClassSuite extends FunSuite {
  private def opened(client: Class[_]) = ClientClassKms.open(
    ClientClassSettings(client.getName, "DEFAULT", "DEFAULT", new Secret("DEFAULT"), "tests"),
    new Configuration(false)
  )

  private def assertNamed(run: => Any): Unit = {
    val failed = intercept[PmeException](run)
    assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
    assert(failed.getMessage.contains("cannot be loaded"), failed.getMessage)
    assert(failed.getMessage.contains("org/example/Absent"), failed.getMessage)
    assert(failed.getMessage.contains("Add the jar with this class"), failed.getMessage)
    assert(!failed.getMessage.contains("s3cret"), failed.getMessage)
  }

  test("the error names the class if the client misses it when it starts") {
    assertNamed(opened(classOf[MissesAtStart]))
  }

  test("the error names the class if the client misses it in a call") {
    val kms = opened(classOf[MissesInCalls])
    assertNamed(kms.wrap(AesKey.of(new Array[Byte](16), "t"), "key", "t"))
    assertNamed(kms.unwrap("wrapped", "key", "t"))
  }
}

final class MissesAtStart extends Wrapper {
  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    throw new NoClassDefFoundError("org/example/Absent")
}

/** In one of the calls the error is the cause of another, whose text is the client's. */
final class MissesInCalls extends Wrapper {
  override def wrapKey(key: Array[Byte], masterKeyId: String): String =
    throw new NoClassDefFoundError("org/example/Absent")
  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] =
    throw new IllegalStateException("with token s3cret", new NoClassDefFoundError("org/example/Absent"))
}
