package io.pmeparquet.kms.http

import java.net.InetSocketAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.JavaConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/**
 * A server that answers in turn what it was given, and writes down what it was asked.
 *
 * @param always answers by the beginning of a request, which are not taken in turn: a login
 */
final class PreparedServer(always: Map[String, String], replies: (Int, String)*) extends AutoCloseable {
  private val left = new ConcurrentLinkedQueue(replies.asJava)
  private val requests = new ConcurrentLinkedQueue[(String, String)]
  private val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
  server.createContext("/", answer(_))
  server.start()

  def address: String = s"http://127.0.0.1:${server.getAddress.getPort}"

  /** `GET /path?query`, in order. */
  def asked: Seq[String] = requests.asScala.map(_._1).toSeq
  def bodies: Seq[String] = requests.asScala.map(_._2).toSeq

  private def answer(exchange: HttpExchange): Unit = {
    val body = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
    val request = s"${exchange.getRequestMethod} ${exchange.getRequestURI}"
    val fixed = always.collectFirst { case (start, text) if request.startsWith(start) => 200 -> text }
    val (status, text) = fixed.getOrElse {
      requests.add(request -> body)
      Option(left.poll()).getOrElse(418 -> "")
    }
    val bytes = text.getBytes(UTF_8)
    exchange.getResponseHeaders.add("Content-Type", "application/x-amz-json-1.1")
    exchange.sendResponseHeaders(status, if (bytes.isEmpty) -1 else bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
    exchange.close()
  }

  override def close(): Unit = server.stop(0)
}
