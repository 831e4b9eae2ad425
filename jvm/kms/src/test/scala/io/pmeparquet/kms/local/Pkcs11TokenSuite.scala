package io.pmeparquet.kms.local

import java.security.{SecureRandom, Security}
import java.util.concurrent.{Callable, Executors}
import java.util.Collections

import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException, Secret}
import io.pmeparquet.keys.PublicKeys
import io.pmeparquet.kms.local.FakeToken.Step

/** `kms.keystore.type=PKCS11` on a token that hangs, by a provider that stands where an installed SunPKCS11 would. */
class Pkcs11TokenSuite extends FunSuite {
  private val Soon = 2000L
  private val Late = 60000L
  private val pin = new Secret("4829")
  private val key = AesKey.random(128, new SecureRandom)

  /** Installs a token of its own, which hangs at what the test says until the test has ended. */
  private def withToken(run: FakeToken => Unit): Unit = {
    val token = new FakeToken
    Security.addProvider(token)
    try run(token)
    finally {
      Security.removeProvider(token.getName)
      token.release()
    }
  }

  private def open(timeoutMillis: Long, pin: Secret = pin, configuration: Option[String] = None) =
    KeystoreKms.open("token.cfg", "PKCS11", configuration.map(_.getBytes), pin, timeoutMillis)

  private def unavailable(what: => Any): String = {
    val failed = intercept[PmeException](what)
    assertEquals(failed.getCondition(), "PME_KMS_UNAVAILABLE")
    assert(!failed.getMessage.contains(pin.insecureValue))
    failed.getMessage
  }

  test("a token wraps and unwraps with keys that do not leave it") {
    withToken { token =>
      val kms = open(Late)
      assertEquals(kms.unwrap(kms.wrap(key, "m", "t"), "m", "t"), key)
      assertEquals(kms.directKey("m", "t"), None)
      assertEquals(intercept[PmeException](kms.wrap(key, "absent", "t")).getCondition(), "PME_KEY_NOT_FOUND")
      assert(token.threads.forall(_ == "pme-parquet-token"), token.threads)
    }
  }

  test("a token signs with a private key that does not leave it") {
    withToken { token =>
      val signing = open(Late).signingKey("s", "t")
      val message = "a message".getBytes
      assertEquals(signing.publicKey.getEncoded.toSeq, FakeSigner.pair.getPublic.getEncoded.toSeq)
      assert(PublicKeys.verifies(signing.publicKey, message, signing.sign(message, "t")))
      assertEquals(token.count(Step.Sign), 2)
      assert(token.threads.forall(_ == "pme-parquet-token"), token.threads)
    }
  }

  test("a token that hangs while it signs fails a job in time") {
    withToken { token =>
      val signing = open(Soon).signingKey("s", "t")
      token.hangAt(Step.Sign)
      val told = unavailable(signing.sign("a message".getBytes, "job 1"))
      assert(told.contains("job 1: ") && told.contains("the token gave no answer"), told)
    }
  }

  test("one that hangs when it is opened takes one thread of all who come, and other tokens do not wait") {
    withToken { token =>
      token.hangAt(Step.Open)
      val threads = Executors.newFixedThreadPool(8)
      val job: Callable[String] = () => unavailable(open(Soon))
      try
        threads.invokeAll(Collections.nCopies(20, job)).forEach { told =>
          val message = told.get
          assert(
            message.contains("keystore token.cfg: ") && message.contains("the token gave no answer"),
            message
          )
        }
      finally threads.shutdown()
      assertEquals(token.count(Step.Open), 1)
      assert(unavailable(open(Late, configuration = Some("no configuration"))).contains("SunPKCS11"))
    }
  }

  Seq(Step.Find, Step.Encrypt).foreach { step =>
    test(s"one that hangs at '$step' fails a job in time, and is not asked by each") {
      withToken { token =>
        token.hangAt(step)
        // Opened twice, as by two reads: it is the token that hangs, and not what was opened.
        val jobs = Seq(open(Soon), open(Soon))
        (1 to 20).foreach { n =>
          val message = unavailable(jobs(n % 2).wrap(key, "m", s"job $n"))
          assert(message.contains(s"job $n: ") && message.contains("the token gave no answer"), message)
        }
        // Once, unless ten seconds have passed in between.
        assert(token.count(step) <= 8, token.count(step))
      }
    }
  }

  test("a PIN that the token does not take is not tried again at once, and another one is") {
    withToken { token =>
      val wrong = new Secret("0000")
      (1 to 5).foreach(_ => assert(unavailable(open(Late, wrong)).contains("does not accept the PIN")))
      assertEquals(token.count(Step.Open), 1)
      open(Late).wrap(key, "m", "t")
    }
  }

  test("what hung and then opened after all has let the PIN in that it was opened with") {
    var clock = 0L
    def opened(timeoutMillis: Long, pin: Secret) =
      Pkcs11Token.open("t", None, pin, timeoutMillis, () => clock)
    withToken { token =>
      token.hangAt(Step.Open)
      unavailable(opened(Soon, pin))
      token.release()
      token.awaitOpen(Late)
      clock = LimitedCalls.ToldMillis
      opened(Late, pin)
      assert(unavailable(opened(Late, new Secret("0000"))).contains("another PIN"))
    }
  }
}
