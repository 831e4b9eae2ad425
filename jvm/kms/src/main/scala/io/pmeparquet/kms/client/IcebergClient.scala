package io.pmeparquet.kms.client

import java.io.Closeable
import java.lang.reflect.InvocationTargetException
import java.nio.ByteBuffer
import java.util
import java.util.Base64

import scala.collection.JavaConverters._

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.hadoop.conf.Configuration
import org.apache.parquet.crypto.keytools.KmsClient
import org.apache.parquet.crypto.ParquetCryptoRuntimeException

import io.pmeparquet.kms.http.Json
import io.pmeparquet.options.PmeOptions
import io.pmeparquet.PmeErrors

/**
 * A client of Iceberg's kind, `org.apache.iceberg.encryption.KeyManagementClient`, called by its methods' names: Iceberg
 * need not be there when this is built. Key material has what it wraps as base64.
 *
 * @param interface Iceberg's, as the client's class loader has it
 */
private[pmeparquet] final class IcebergClient private (client: Closeable, interface: Class[_])
    extends ParquetJavaClient {
  private val wrapping = method("wrapKey", classOf[ByteBuffer], classOf[String])
  private val unwrapping = method("unwrapKey", classOf[ByteBuffer], classOf[String])

  override protected def open(conf: Configuration, token: String): Unit = {
    closeAfterUse(client)
    call(method("initialize", classOf[util.Map[_, _]]), IcebergClient.properties(conf))
    ()
  }

  override protected def wrap(key: Array[Byte], masterKeyId: String): String =
    bytes(call(wrapping, ByteBuffer.wrap(key), masterKeyId)).map(Base64.getEncoder.encodeToString).orNull

  override protected def unwrap(text: String, masterKeyId: String): Array[Byte] = {
    val wrapped =
      try Base64.getDecoder.decode(text)
      catch {
        case failed: IllegalArgumentException =>
          throw PmeErrors.keyMetadata("wrapped key", "it is not base64", failed)
      }
    bytes(call(unwrapping, ByteBuffer.wrap(wrapped), masterKeyId)).orNull
  }

  private def method(name: String, takes: Class[_]*) = interface.getMethod(name, takes: _*)

  private def call(method: java.lang.reflect.Method, arguments: AnyRef*): AnyRef =
    try method.invoke(client, arguments: _*)
    catch {
      case failed: InvocationTargetException =>
        failed.getTargetException match {
          case unchecked: RuntimeException => throw unchecked
          case error: Error => throw error
          case checked => throw new ParquetCryptoRuntimeException(checked)
        }
    }

  private def bytes(result: AnyRef): Option[Array[Byte]] = Option(result).map { buffer =>
    val left = buffer.asInstanceOf[ByteBuffer].duplicate()
    val copied = new Array[Byte](left.remaining)
    left.get(copied)
    copied
  }
}

private[pmeparquet] object IcebergClient {
  val InterfaceName = "org.apache.iceberg.encryption.KeyManagementClient"

  def isOne(type_ : Class[_]): Boolean =
    classOf[Closeable].isAssignableFrom(type_) && interfacesOf(type_).exists(_.getName == InterfaceName)

  /** None where the object is no client of Iceberg's kind. */
  def of(instance: Any): Option[KmsClient] = instance match {
    case client: Closeable =>
      interfacesOf(client.getClass)
        .find(_.getName == InterfaceName)
        .map(interface => new IcebergClient(client, interface))
    case _ => None
  }

  private def interfacesOf(type_ : Class[_]): Seq[Class[_]] =
    if (type_ == null) Nil
    else (type_ +: type_.getInterfaces.toSeq.flatMap(interfacesOf)) ++ interfacesOf(type_.getSuperclass)

  /** What it is initialized with: texts by their names. */
  private def properties(conf: Configuration): util.Map[String, String] = {
    val name = PmeOptions.ClientProperties.name
    // Not repeated: somebody may have put a secret there.
    def unusable = KmsFailure.badSetting(name, "it is not a JSON object of strings")
    Option(conf.get(PmeOptions.ParquetPrefix + name)).fold(util.Collections.emptyMap[String, String]) {
      json =>
        val parsed =
          try Json.mapper.readTree(json)
          catch { case _: JsonProcessingException => throw unusable }
        if (parsed == null || !parsed.isObject) throw unusable
        val texts = new util.TreeMap[String, String]
        parsed.fields().asScala.foreach { field =>
          if (!field.getValue.isTextual) throw unusable
          texts.put(field.getKey, field.getValue.textValue)
        }
        texts
    }
  }
}
