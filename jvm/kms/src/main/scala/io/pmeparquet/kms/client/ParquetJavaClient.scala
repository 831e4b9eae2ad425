package io.pmeparquet.kms.client

import java.io.Closeable
import java.lang.ref.Cleaner

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{KeyAccessDeniedException, ParquetCryptoRuntimeException}
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.{Condition, PmeException}

/**
 * A parquet-java `KmsClient` whose methods may throw our exceptions: parquet-java's interface knows a refusal, and
 * failures of every other kind. The KMS that a file's key material names is never asked.
 */
private[kms] abstract class ParquetJavaClient extends KmsClient {
  protected def open(conf: Configuration, token: String): Unit
  protected def wrap(key: Array[Byte], masterKeyId: String): String
  protected def unwrap(wrapped: String, masterKeyId: String): Array[Byte]

  final override def initialize(
      conf: Configuration,
      instanceId: String,
      instanceUrl: String,
      token: String
  ): Unit = translated(open(conf, token))

  final override def wrapKey(keyBytes: Array[Byte], masterKeyId: String): String =
    translated(wrap(keyBytes, masterKeyId))

  final override def unwrapKey(wrappedKey: String, masterKeyId: String): Array[Byte] =
    translated(unwrap(wrappedKey, masterKeyId))

  /** The interface has no end: what a client holds is closed when nobody has the client any more. */
  protected final def closeAfterUse(held: Closeable): Unit = {
    ParquetJavaClient.cleaner.register(this, new ParquetJavaClient.Closing(held))
    ()
  }

  private def translated[A](call: => A): A =
    try call
    catch {
      case failed: PmeException if failed.condition == Condition.KeyDenied =>
        throw new KeyAccessDeniedException(failed.getMessage, failed)
      case failed: PmeException => throw new ParquetCryptoRuntimeException(failed.getMessage, failed)
    }
}

private object ParquetJavaClient {
  private lazy val cleaner = Cleaner.create()

  /** Must not refer to the client. */
  private final class Closing(held: Closeable) extends Runnable {
    override def run(): Unit = held.close()
  }
}
