package io.pmeparquet.kms.client

import java.util.concurrent.{Callable, ExecutionException, TimeUnit}
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable.ArrayBuffer

import munit.FunSuite

class KmsLoginSuite extends FunSuite {
  private val seconds = new AtomicLong

  /** A login that records whether the token before was refused; `issue` makes each result. */
  private class Logins(limitMillis: Long = 20000)(issue: Int => KmsLogin.Pass) {
    val asked = ArrayBuffer.empty[Boolean]
    private val issuer = new KmsLogin.Issuer {
      override def logIn(isRefused: Boolean): KmsLogin.Pass = {
        asked += isRefused
        issue(asked.size)
      }
    }
    val login =
      new KmsLogin("the login at a test", limitMillis, issuer, () => TimeUnit.SECONDS.toNanos(seconds.get))
    def pass(): KmsLogin.Pass = login.pass(Deadline.in(limitMillis))
    def failure(): String = intercept[KmsFailure](pass()).getMessage
  }

  private def lasting(seconds: Long) = new KmsLogin.Pass(java.util.Map.of("Authorization", "…"), seconds)

  test("a pass serves until it ends, and then another is asked for") {
    val logins = new Logins()(_ => lasting(60))
    val first = logins.pass()
    assert(logins.pass() eq first)
    seconds.addAndGet(60)
    assert(logins.pass() ne first)
    assertEquals(logins.asked.toSeq, Seq(false, false))
  }

  test("a failed login is reported for ten seconds in place of another attempt") {
    val logins = new Logins()(number =>
      if (number == 1) throw KmsFailure.unavailable("it was refused", null) else lasting(60)
    )
    assertEquals(logins.failure(), "it was refused")
    seconds.addAndGet(9)
    assertEquals(logins.failure(), "it was refused")
    assertEquals(logins.asked.size, 1)
    seconds.addAndGet(1)
    logins.pass()
    assertEquals(logins.asked.size, 2)
  }

  test("what an issuer throws that is no failure of a KMS is one, named by its class") {
    val logins = new Logins()(_ => throw new IllegalArgumentException("not to be shown"))
    assertEquals(logins.failure(), "the login at a test failed (IllegalArgumentException)")
  }

  test("a login that hangs is reported as well, and is not waited for again") {
    val logins = new Logins(limitMillis = 1000)(_ => { Thread.sleep(60000); lasting(60) })
    val late = "the login at a test did not end within 1 s (kms.timeoutSeconds)"
    assertEquals((logins.failure(), logins.failure()), (late, late))
    assertEquals(logins.asked.size, 1)
  }

  test("a refused pass is replaced once, and the issuer learns of the refusal") {
    val logins = new Logins()(_ => lasting(60))
    val first = logins.pass()
    logins.login.forget(first)
    val second = logins.pass()
    logins.login.forget(first)
    assert(logins.pass() eq second)
    assertEquals(logins.asked.toSeq, Seq(false, true))
  }

  test("a call that ends in time gives its result or its failure") {
    val deadline = Deadline.in(20000)
    assertEquals(
      deadline.call("a call", new Callable[String] { override def call(): String = "done" }),
      "done"
    )
    val failed = intercept[ExecutionException] {
      deadline.call("a call", new Callable[String] { override def call(): String = sys.error("no") })
    }
    assertEquals(failed.getCause.getMessage, "no")
  }

  test("a call that hangs is interrupted when time is up") {
    val interrupted = new java.util.concurrent.CountDownLatch(1)
    val hanging = new Callable[String] {
      override def call(): String =
        try { Thread.sleep(60000); "late" }
        catch { case _: InterruptedException => interrupted.countDown(); "interrupted" }
    }
    val failed = intercept[KmsFailure](Deadline.in(2000).call("a call", hanging))
    assertEquals(failed.kind, KmsFailure.Kind.UNAVAILABLE)
    assert(failed.getMessage.startsWith("a call did not end within"), failed.getMessage)
    assert(interrupted.await(20, TimeUnit.SECONDS))
  }
}
