package io.pmeparquet.testkit

import java.io.UncheckedIOException
import java.net.ConnectException
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.{KeyToolkit, KmsClient}
import org.apache.parquet.crypto.KeyAccessDeniedException

/**
 * A KMS client for tests, as a user of parquet-java would write one. The master key of an id is derived from the id, so
 * that tests in any language can wrap and unwrap. Ids that begin with `denied`, `missing` or `down` fail accordingly.
 */
class TestKms extends KmsClient {
  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    ()

  override def wrapKey(key: Array[Byte], masterKeyId: String): String =
    KeyToolkit.encryptKeyLocally(key, master(masterKeyId), masterKeyId.getBytes(UTF_8))

  override def unwrapKey(wrapped: String, masterKeyId: String): Array[Byte] =
    KeyToolkit.decryptKeyLocally(wrapped, master(masterKeyId), masterKeyId.getBytes(UTF_8))

  private def master(id: String): Array[Byte] = {
    if (id.startsWith("denied")) throw new KeyAccessDeniedException(s"test: $id is denied")
    if (id.startsWith("missing")) throw new IllegalArgumentException("no such key")
    if (id.startsWith("down")) throw new UncheckedIOException(new ConnectException("test: refused"))
    MessageDigest.getInstance("SHA-256").digest(s"pme-testkit:$id".getBytes(UTF_8)).take(16)
  }
}
