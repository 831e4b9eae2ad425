package io.pmeparquet.keys

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import io.pmeparquet.{AesKey, Condition, PmeException, Secret}

/**
 * Requests of executors and answers of the driver, as bytes: Spark's RPC on an executor does not see the classes of a
 * jar that came with the job.
 */
private[keys] sealed trait KeyRequest {
  def where: String
}

private[keys] object KeyRequest {
  final case class Unwrap(keys: Seq[WrappedKey], where: String) extends KeyRequest
  final case class Wrap(key: AesKey, masterKeyId: String, where: String) extends KeyRequest
  final case class Direct(keyId: String, where: String) extends KeyRequest
  final case class Reserve(keyId: String, uses: Long, where: String) extends KeyRequest
  final case class Kek(masterKeyId: String, bits: Int, where: String) extends KeyRequest
}

/** What another process needs to use a broker. It holds the broker's id. */
private[keys] final case class BrokerAddress(id: Secret, describe: String, instance: (String, String))

private[keys] object KeyRequestCodec {
  import KeyRequest._

  private val UnwrapCode = 1
  private val WrapCode = 2
  private val DirectCode = 3
  private val KekCode = 4
  private val ReserveCode = 5

  def bytesOf(brokerId: String, request: KeyRequest): Array[Byte] = written { out =>
    text(out, brokerId)
    request match {
      case Unwrap(keys, _) =>
        out.writeByte(UnwrapCode)
        out.writeInt(keys.size)
        keys.foreach { key =>
          text(out, key.masterKeyId)
          text(out, key.wrapped)
          option(out, key.kekId)(text(out, _))
        }
      case Wrap(key, masterKeyId, _) =>
        out.writeByte(WrapCode)
        bytes(out, key.insecureBytes)
        text(out, masterKeyId)
      case Direct(keyId, _) =>
        out.writeByte(DirectCode)
        text(out, keyId)
      case Reserve(keyId, uses, _) =>
        out.writeByte(ReserveCode)
        text(out, keyId)
        out.writeLong(uses)
      case Kek(masterKeyId, bits, _) =>
        out.writeByte(KekCode)
        text(out, masterKeyId)
        out.writeInt(bits)
    }
    text(out, request.where)
  }

  /** The broker that a request is for, and the request. */
  def requestOf(message: Array[Byte]): (String, KeyRequest) = readBy(message) { in =>
    val broker = text(in)
    val request = in.readByte().toInt match {
      case UnwrapCode =>
        val keys = List.fill(in.readInt())(WrappedKey(text(in), text(in), option(in)(text(in))))
        Unwrap(keys, text(in))
      case WrapCode =>
        val key = bytes(in)
        val masterKeyId = text(in)
        val where = text(in)
        Wrap(AesKey.of(key, where), masterKeyId, where)
      case DirectCode => Direct(text(in), text(in))
      case ReserveCode => Reserve(text(in), in.readLong(), text(in))
      case KekCode => Kek(text(in), in.readInt(), text(in))
      case other => throw new IllegalStateException(s"internal error: a request of kind $other")
    }
    broker -> request
  }

  def bytesOfKeys(answers: Seq[Either[PmeException, IssuedKey]]): Array[Byte] = written { out =>
    answers.foreach(either(out, _) { lent =>
      bytes(out, lent.key.insecureBytes)
      out.writeLong(lent.millis)
    })
  }

  def keysOf(message: Array[Byte], count: Int, where: String): Seq[Either[PmeException, IssuedKey]] =
    readBy(message)(in =>
      List.fill(count)(either(in)(new IssuedKey(AesKey.of(bytes(in), where), in.readLong())))
    )

  def bytesOfText(answer: Either[PmeException, String]): Array[Byte] =
    written(out => either(out, answer)(text(out, _)))

  def textOf(message: Array[Byte]): Either[PmeException, String] =
    readBy(message)(in => either(in)(text(in)))

  def bytesOfDirect(answer: Either[PmeException, Option[AesKey]]): Array[Byte] =
    written(out => either(out, answer)(option(out, _)(key => bytes(out, key.insecureBytes))))

  def directOf(message: Array[Byte], where: String): Either[PmeException, Option[AesKey]] =
    readBy(message)(in => either(in)(option(in)(AesKey.of(bytes(in), where))))

  def bytesOfKek(answer: Either[PmeException, IssuedKek]): Array[Byte] = written { out =>
    either(out, answer) { kek =>
      bytes(out, kek.id)
      bytes(out, kek.key.insecureBytes)
      text(out, kek.wrapped)
    }
  }

  def kekOf(message: Array[Byte], where: String): Either[PmeException, IssuedKek] =
    readBy(message)(in => either(in)(new IssuedKek(bytes(in), AesKey.of(bytes(in), where), text(in))))

  def bytesOfBroker(answer: Either[PmeException, Option[BrokerAddress]]): Array[Byte] = written { out =>
    either(out, answer)(option(out, _) { broker =>
      Seq(broker.id.insecureValue, broker.describe, broker.instance._1, broker.instance._2)
        .foreach(text(out, _))
    })
  }

  def brokerOf(message: Array[Byte]): Either[PmeException, Option[BrokerAddress]] =
    readBy(message)(in =>
      either(in)(option(in)(BrokerAddress(new Secret(text(in)), text(in), text(in) -> text(in))))
    )

  private def readBy[A](message: Array[Byte])(read: DataInputStream => A): A =
    read(new DataInputStream(new ByteArrayInputStream(message)))

  private def written(write: DataOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    write(new DataOutputStream(bytes))
    bytes.toByteArray
  }

  private def either[A](out: DataOutputStream, answer: Either[PmeException, A])(write: A => Unit): Unit = {
    out.writeBoolean(answer.isRight)
    answer match {
      case Right(value) => write(value)
      case Left(failed) =>
        text(out, failed.condition.name)
        text(out, failed.problem)
    }
  }

  private def either[A](in: DataInputStream)(read: => A): Either[PmeException, A] =
    if (in.readBoolean()) Right(read) else Left(failure(text(in), text(in)))

  private def failure(condition: String, problem: String) =
    PmeException.named(condition, problem).getOrElse(new PmeException(Condition.KmsUnavailable, problem))

  private def option[A](out: DataOutputStream, value: Option[A])(write: A => Unit): Unit = {
    out.writeBoolean(value.isDefined)
    value.foreach(write)
  }
  private def option[A](in: DataInputStream)(read: => A): Option[A] =
    if (in.readBoolean()) Some(read) else None

  private def text(out: DataOutputStream, value: String): Unit = bytes(out, value.getBytes(UTF_8))
  private def text(in: DataInputStream): String = new String(bytes(in), UTF_8)

  private def bytes(out: DataOutputStream, value: Array[Byte]): Unit = {
    out.writeInt(value.length)
    out.write(value)
  }
  private def bytes(in: DataInputStream): Array[Byte] = {
    val length = in.readInt()
    if (length < 0 || length > in.available)
      throw new IllegalStateException("internal error: a message about keys is cut short")
    in.readNBytes(length)
  }
}
