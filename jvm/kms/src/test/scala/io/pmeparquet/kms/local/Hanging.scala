package io.pmeparquet.kms.local

import java.util.concurrent.CountDownLatch

/** What hangs as native code does: no interrupt helps, only its release. */
private[kms] final class Hanging {
  private val released = new CountDownLatch(1)

  def hang(): Unit = while (released.getCount > 0)
    try released.await()
    catch {
      // That is the point: LimitedCalls has to do without it.
      case _: InterruptedException => ()
    }

  def release(): Unit = released.countDown()
}
