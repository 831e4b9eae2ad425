package io.pmeparquet.keys

import java.util.concurrent.atomic.AtomicInteger

import io.pmeparquet.AesKey

/** A KMS that counts what it is asked, and takes its time where a test wants that. */
final class CountingKms(inner: Kms, pauseMillis: Long = 0) extends Kms {
  private val wrapped = new AtomicInteger
  private val unwrapped = new AtomicInteger

  def wraps: Int = wrapped.get
  def unwraps: Int = unwrapped.get

  override def describe: String = "counting"

  override def wrap(key: AesKey, id: String, where: String): String = {
    wrapped.incrementAndGet()
    inner.wrap(key, id, where)
  }

  override def unwrap(text: String, id: String, where: String): AesKey = {
    unwrapped.incrementAndGet()
    Thread.sleep(pauseMillis)
    inner.unwrap(text, id, where)
  }

  override def directKey(id: String, where: String): Option[AesKey] = inner.directKey(id, where)
}
