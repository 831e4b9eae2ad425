package io.pmeparquet.kms.client

import java.io.Closeable
import java.lang.ref.Cleaner

import org.apache.parquet.crypto.{KeyAccessDeniedException, ParquetCryptoRuntimeException}

import io.pmeparquet.{Condition, PmeException}

/** What parquet-java's `KmsClient` has other terms for than we, or none. */
private[kms] object ClientTerms {

  /** The interface knows a refusal, and failures of every other kind. */
  def inItsTerms[A](call: => A): A =
    try call
    catch {
      case failed: PmeException if failed.condition == Condition.KeyDenied =>
        throw new KeyAccessDeniedException(failed.getMessage, failed)
      case failed: PmeException => throw new ParquetCryptoRuntimeException(failed.getMessage, failed)
    }

  /** The interface has no end: what a client holds is closed when nobody has the client any more. */
  def closeAfter(client: AnyRef, held: Closeable): Unit = {
    cleaner.register(client, new Closing(held))
    ()
  }

  private lazy val cleaner = Cleaner.create()

  private final class Closing(held: Closeable) extends Runnable {
    override def run(): Unit = held.close()
  }
}
