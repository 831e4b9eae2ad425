package io.pmeparquet.kms.http

import java.io.ByteArrayOutputStream
import java.net.http.HttpResponse.{BodyHandler, BodySubscriber}
import java.nio.ByteBuffer
import java.util
import java.util.concurrent.{CompletableFuture, CompletionStage, Flow}

/** The body of an answer, unless it is longer than answers of a KMS. */
private final class LimitedBody extends BodySubscriber[Array[Byte]] {
  private val body = new CompletableFuture[Array[Byte]]
  private val bytes = new ByteArrayOutputStream
  private var subscription: Flow.Subscription = _

  override def getBody: CompletionStage[Array[Byte]] = body

  override def onSubscribe(to: Flow.Subscription): Unit = {
    subscription = to
    to.request(Long.MaxValue)
  }

  override def onNext(parts: util.List[ByteBuffer]): Unit = parts.forEach { part =>
    if (bytes.size + part.remaining > LimitedBody.MostBytes) {
      subscription.cancel()
      body.complete(Array.emptyByteArray)
    } else {
      val read = new Array[Byte](part.remaining)
      part.get(read)
      bytes.write(read)
    }
    ()
  }

  override def onError(failed: Throwable): Unit = { body.completeExceptionally(failed); () }
  override def onComplete(): Unit = { body.complete(bytes.toByteArray); () }
}

private object LimitedBody {
  val MostBytes: Int = 4 * 1024 * 1024

  val Handler: BodyHandler[Array[Byte]] = _ => new LimitedBody
}
