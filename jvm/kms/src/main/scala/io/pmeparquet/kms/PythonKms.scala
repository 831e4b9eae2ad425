package io.pmeparquet.kms

import java.util.concurrent.ConcurrentHashMap
import java.util.Base64

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.{KeyAccessDeniedException, ParquetCryptoRuntimeException}
import org.apache.parquet.crypto.keytools.KmsClient

import io.pmeparquet.kms.client.KmsFailure

/**
 * What Python implements for `pme.PythonKms`. Texts only, and no exceptions: one of Python's would bring its traceback,
 * and in that whatever it says.
 */
trait PythonKmsCalls {

  /**
   * @param secret what was given on registration: py4j's port in Python takes calls from anybody on the machine
   * @param what `wrap` or `unwrap`
   * @param value a key in base64, or a wrapped key
   * @return `ok`, `denied`, `missing` or `failed`, a space, and the result, or the kind of failure
   */
  def call(secret: String, what: String, value: String, masterKeyId: String): String
}

/** `pme.PythonKms`: a KMS client written in Python. It lives where Python does, which is the driver. */
final class PythonKms extends KmsClient {
  private var id: String = _

  override def initialize(conf: Configuration, instanceId: String, instanceUrl: String, token: String): Unit =
    id = Option(conf.get(PythonKms.IdName)).filter(PythonKms.known.containsKey).getOrElse {
      throw failed(
        "this process does not have it; a KMS in Python needs kms.callFrom=driver and the session in which it was created"
      )
    }

  override def wrapKey(keyBytes: Array[Byte], masterKeyId: String): String =
    result(call("wrap", Base64.getEncoder.encodeToString(keyBytes), masterKeyId))

  override def unwrapKey(wrappedKey: String, masterKeyId: String): Array[Byte] = {
    val key = result(call("unwrap", wrappedKey, masterKeyId))
    try Base64.getDecoder.decode(key)
    catch { case _: IllegalArgumentException => throw failed("it returned something that is not a key") }
  }

  private def call(what: String, value: String, masterKeyId: String) = {
    // Its secret changes, and this client may live long.
    val known = PythonKms.known.get(id)
    known.calls.call(known.secret, what, value, masterKeyId)
  }

  private def result(answer: String): String = Option(answer).getOrElse("").split(" ", 2) match {
    case Array("ok", value) => value
    case Array("denied", _) => throw new KeyAccessDeniedException("the KMS in Python refused the key")
    case Array("missing", _) => throw new ParquetCryptoRuntimeException("the KMS in Python has no such key")
    case Array("failed", kind) => throw failed(s"it raised $kind")
    case _ => throw failed("its answer cannot be read")
  }

  // It repeats nothing of the client's answer.
  private def failed(why: String) = KmsFailure.unavailable(why, null)
}

object PythonKms {

  /** The option that says which: not one of parquet-java's, whose values become part of files. */
  private val IdName = "pme.python.kms"
  private val known = new ConcurrentHashMap[String, Known]

  private final class Known(val calls: PythonKmsCalls, val secret: String)

  /** @param id what the option `pme.python.kms` then names */
  def register(id: String, secret: String, calls: PythonKmsCalls): Unit = {
    known.put(id, new Known(calls, secret))
    ()
  }
}
