package io.pmeparquet.kms.vault

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.Base64

import scala.collection.JavaConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import munit.FunSuite

import io.pmeparquet.{AesKey, PmeException, Secret}
import io.pmeparquet.kms.http.JsonHttp

/** Tests of Vault's client, against a server with prepared answers. */
abstract class VaultSuite extends FunSuite {

  /** Answers in turn what it was given, and writes down what it was asked. */
  final class Vault(replies: Reply*) extends AutoCloseable {
    private val left = new ConcurrentLinkedQueue(replies.asJava)
    private val asked = new ConcurrentLinkedQueue[(String, String, String)]
    private val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
    server.createContext("/", answer(_))
    server.start()

    def address: String = s"http://127.0.0.1:${server.getAddress.getPort}"
    def paths: Seq[String] = asked.asScala.map(_._1).toSeq
    def tokens: Seq[String] = asked.asScala.map(_._2).toSeq
    def bodies: Seq[String] = asked.asScala.map(_._3).toSeq

    private def answer(exchange: HttpExchange): Unit = {
      val body = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
      val token = Option(exchange.getRequestHeaders.getFirst("X-Vault-Token")).getOrElse("")
      val method = Some(exchange.getRequestMethod).filter(_ != "POST").fold("")(_ + " ")
      asked.add((method + exchange.getRequestURI.getRawPath, token, body))
      val reply = Option(left.poll()).getOrElse(Reply(418, ""))
      reply.headers.foreach { case (name, value) => exchange.getResponseHeaders.add(name, value) }
      val bytes = reply.body.getBytes(UTF_8)
      exchange.sendResponseHeaders(reply.status, if (bytes.isEmpty) -1 else bytes.length.toLong)
      exchange.getResponseBody.write(bytes)
      exchange.close()
    }
    override def close(): Unit = server.stop(0)
  }

  /** Time that passes only where somebody sleeps, or a test says so. */
  final class Clock extends JsonHttp.Clock {
    @volatile var now = 0L
    val pauses = new ConcurrentLinkedQueue[Long]
    override def millis(): Long = now
    override def sleep(millis: Long): Unit = {
      pauses.add(millis)
      now += millis
    }
  }

  protected val key = AesKey.random(128, new SecureRandom)
  protected val wrapped = Reply(200, """{"data":{"ciphertext":"vault:v1:abc"}}""")
  protected val unwrapped =
    Reply(200, s"""{"data":{"plaintext":"${Base64.getEncoder.encodeToString(key.insecureBytes)}"}}""")
  protected def refusal(status: Int, text: String) = Reply(status, s"""{"errors":["$text"]}""")
  protected def login(token: String, seconds: Int) =
    Reply(200, s"""{"auth":{"client_token":"$token","lease_duration":$seconds,"renewable":true}}""")

  protected def settings(vault: Vault, login: VaultLogin = VaultLogin.Token(new Secret("s.token"))) =
    VaultSettings(vault.address, "transit", None, login, None, timeoutMillis = 30000)

  protected val denied = refusal(403, "1 error occurred:\\n\\t* permission denied\\n\\n")
  protected val known = Reply(200, """{"data":{"ttl":3600}}""")
  protected val lookUp = "GET /v1/auth/token/lookup-self"

  protected val approle = VaultLogin.AppRole("role", new Secret("s.secret"), "approle")

  protected def asking[A](replies: Reply*)(run: (VaultKms, Vault, Clock) => A): A = {
    val (vault, clock) = (new Vault(replies: _*), new Clock)
    try run(new VaultKms(settings(vault), clock), vault, clock)
    finally vault.close()
  }

  protected def withLogin[A](replies: Reply*)(run: (VaultKms, Vault, Clock) => A): A = {
    val (vault, clock) = (new Vault(replies: _*), new Clock)
    try run(new VaultKms(settings(vault, approle), clock), vault, clock)
    finally vault.close()
  }

  protected def failure(run: => Any): PmeException = {
    val failed = intercept[PmeException](run)
    Seq("s.token", "s.secret", Base64.getEncoder.encodeToString(key.insecureBytes)).foreach { secret =>
      assert(!failed.getMessage.contains(secret), failed.getMessage)
    }
    failed
  }

  protected def condition(run: => Any): String = failure(run).getCondition()
}

final case class Reply(status: Int, body: String, headers: Map[String, String] = Map.empty)
