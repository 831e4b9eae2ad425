package io.pmeparquet.kms.local

import java.security.SecureRandom
import java.util.Base64

import io.pmeparquet.{AesKey, PmeErrors, Secret}
import io.pmeparquet.keys.{Kms, KmsSettings}
import io.pmeparquet.kms.client.KmsOptionReader
import io.pmeparquet.material.LocalWrap
import io.pmeparquet.options.PmeOptions

/** `kms=static`: master keys in a secret, as lines `name=base64key`. For tests and first steps. */
final class StaticKms(keys: Map[String, AesKey]) extends Kms {
  private val random = new SecureRandom

  override def describe: String = "kms=static"

  override def wrap(key: AesKey, masterKeyId: String, where: String): String =
    LocalWrap.wrap(key, master(masterKeyId, where).toSecretKey, LocalWrap.aadOf(masterKeyId), random, where)

  override def unwrap(wrapped: String, masterKeyId: String, where: String): AesKey =
    LocalWrap.unwrap(
      wrapped,
      master(masterKeyId, where).toSecretKey,
      LocalWrap.aadOf(masterKeyId),
      where,
      masterKeyId
    )

  override def directKey(id: String, where: String): Option[AesKey] = Some(master(id, where))

  private def master(id: String, where: String): AesKey =
    keys.getOrElse(id, throw PmeErrors.keyNotFound(where, id, describe))
}

object StaticKms {
  val KeysOption = "kms.static.keys"

  /** Empty lines and lines that begin with `#` are ignored. */
  def parse(secret: Secret): StaticKms = {
    val lines = secret.insecureValue.split("\r?\n").map(_.trim).zipWithIndex
    val keys = lines.collect {
      case (line, number) if line.nonEmpty && !line.startsWith("#") =>
        keyOf(line, number + 1)
    }
    keys.groupBy(_._1).collectFirst { case (name, several) if several.length > 1 => name }.foreach { name =>
      throw PmeErrors.contradiction(KeysOption, s"key '$name' is listed twice", "List it once.")
    }
    if (keys.isEmpty)
      throw PmeErrors.contradiction(KeysOption, "it lists no keys", "Add lines 'name=base64key'.")
    new StaticKms(keys.toMap)
  }

  private def keyOf(line: String, number: Int): (String, AesKey) = {
    // Messages never contain the line itself, which has a key.
    def unusable(why: String) =
      PmeErrors.contradiction(KeysOption, s"line $number $why", "Write 'name=base64key'.")
    val separator = line.indexOf('=')
    if (separator <= 0) throw unusable("is not 'name=base64key'")
    val name = line.substring(0, separator).trim
    val bytes =
      try Base64.getDecoder.decode(line.substring(separator + 1).trim)
      catch { case _: IllegalArgumentException => throw unusable("has a value that is not base64") }
    if (!AesKey.AllowedBits.contains(bytes.length * 8))
      throw unusable(s"holds ${bytes.length} bytes; an AES key has 16, 24 or 32")
    name -> AesKey.of(bytes, s"$KeysOption line $number")
  }
}

/** `kms=static`: the keys themselves. */
final case class StaticSettings(keys: Secret) extends KmsSettings {
  override def kind: String = "static"
  override def isInProcess: Boolean = true
}

object StaticSettings {

  /** @throws io.pmeparquet.PmeException without keys */
  def of(values: KmsOptionReader): StaticSettings =
    StaticSettings(values.requiredSecret(PmeOptions.StaticKeys, "with kms=static"))
}
