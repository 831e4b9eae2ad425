package io.pmeparquet.kms.local

import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import munit.FunSuite

import io.pmeparquet.PmeException

class LimitedCallsSuite extends FunSuite {
  private val Soon = 100L
  private val Late = 60000L

  @volatile private var clock = 0L
  private def calls(most: Int) = new LimitedCalls("the token", most, () => clock)

  /** Calls that hang as native code does, until the test ends. */
  private final class HangingCalls {
    private val native = new Hanging
    private val ended = new CountDownLatch(1)
    val begun = new AtomicInteger

    def hang(): Unit = {
      begun.incrementAndGet()
      native.hang()
      ended.countDown()
    }

    def release(): Unit = {
      native.release()
      assert(ended.await(Late, TimeUnit.MILLISECONDS))
    }
  }

  private def hanging(limited: LimitedCalls)(run: HangingCalls => Unit): Unit = {
    val one = new HangingCalls
    try {
      assertEquals(late(limited(s"job", Soon)(one.hang())).getCondition(), "PME_KMS_UNAVAILABLE")
      run(one)
    } finally one.release()
  }

  private def late(call: => Any): PmeException = {
    val failed = intercept[PmeException](call)
    assert(failed.getMessage.contains("the token gave no answer within"), failed.getMessage)
    failed
  }

  test("a call that ends in time gives its result, or its failure as it is") {
    val limited = calls(most = 1)
    assertEquals(limited("t", Late)(Thread.currentThread().isDaemon), true)
    assertEquals(intercept[RuntimeException](limited("t", Late)(sys.error("no"))).getMessage, "no")
    assertEquals(limited("t", Late)(7), 7)
  }

  test("one that hangs fails in time, and so do all calls for ten seconds, without being made") {
    clock = 0
    val limited = calls(most = 8)
    hanging(limited) { one =>
      val told = late(limited("another job", Late)(one.hang()))
      assert(
        told.getMessage.contains("another job: ") && told.getMessage.contains("60 s (kms.timeoutSeconds)")
      )
      clock = LimitedCalls.ToldMillis - 1
      late(limited("t", Late)(one.hang()))
      assertEquals(one.begun.get, 1)
      clock = LimitedCalls.ToldMillis
      assertEquals(limited("t", Late)("it answers again"), "it answers again")
    }
  }

  test("what hangs for good takes no more threads than there are places, and gives them back when it ends") {
    clock = 0
    val limited = calls(most = 2)
    hanging(limited) { one =>
      clock += LimitedCalls.ToldMillis
      late(limited("t", Soon)(one.hang()))
      (1 to 3).foreach { _ =>
        clock += LimitedCalls.ToldMillis
        late(limited("t", Soon)(one.hang()))
      }
      assertEquals(one.begun.get, 2)
    }
    clock += LimitedCalls.ToldMillis
    assertEquals(limited("t", Late)("done"), "done")
  }

  test("an interrupt while waiting is reported as such, and not as a token that hangs") {
    val limited = calls(most = 1)
    Thread.currentThread().interrupt()
    val failed = intercept[PmeException](limited("t", Late)(7))
    assert(Thread.interrupted() && PmeException.isOfCancelled(failed), failed.getMessage)
    assertEquals(limited("t", Late)(7), 7)
  }
}
