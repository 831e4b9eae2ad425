package io.pmeparquet.keys

import java.util.Base64

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.FlatJson.{Flag, Text, Value}

/**
 * What must be known to get a data key back from the KMS, in the JSON form of parquet-java's key tools (`PKMT1`).
 *
 * @param kek
 *   with double wrapping, the key-encryption key in between; none with single wrapping
 * @param kms
 *   instance id and url of the KMS, which parquet-java keeps with the footer key. They are written for other readers;
 *   nothing a file says chooses where a credential goes, so they are not read.
 * @param rotatedFrom
 *   the master key that a rotation took it from: a field of ours, which other readers pass over. It tells a rotation that is
 *   run again what it has done from a name that was never right, and nothing else is made of it.
 */
final case class KeyMaterial(
    isFooterKey: Boolean,
    masterKeyId: String,
    wrappedDek: String,
    kek: Option[KeyMaterial.Kek],
    kms: Option[(String, String)] = None,
    rotatedFrom: Option[String] = None
) {
  import KeyMaterial.Field

  /** What of it the master key wrapped: all that the KMS sees, and the KEK's id beside it. */
  def wrappedKey: WrappedKey = kek match {
    case None => WrappedKey(masterKeyId, wrappedDek, None)
    case Some(key) => WrappedKey(masterKeyId, key.wrapped, Some(key.id))
  }

  /** The same data key, with what the master key wrapped wrapped anew. */
  def rewrapped(by: WrappedKey): KeyMaterial = {
    val from = if (by.masterKeyId == masterKeyId) rotatedFrom else Some(masterKeyId)
    val to = copy(masterKeyId = by.masterKeyId, rotatedFrom = from)
    kek match {
      case None => to.copy(wrappedDek = by.wrapped)
      case Some(key) => to.copy(kek = Some(key.copy(wrapped = by.wrapped)))
    }
  }

  /** @param internal whether it stands in the file itself, as key metadata, or in a file beside */
  def toJson(internal: Boolean): String = {
    val fields = Seq.newBuilder[(String, Value)]
    fields += Field.Type -> Text(KeyMaterial.Type1)
    if (internal) fields += Field.InternalStorage -> Flag(true)
    fields += Field.IsFooterKey -> Flag(isFooterKey)
    kms.foreach { case (id, url) =>
      fields += Field.KmsInstanceId -> Text(id)
      fields += Field.KmsInstanceUrl -> Text(url)
    }
    fields += Field.MasterKeyId -> Text(masterKeyId)
    fields += Field.WrappedDek -> Text(wrappedDek)
    fields += Field.DoubleWrapping -> Flag(kek.isDefined)
    kek.foreach { key =>
      fields += Field.KekId -> Text(key.id)
      fields += Field.WrappedKek -> Text(key.wrapped)
    }
    rotatedFrom.foreach(from => fields += Field.RotatedFrom -> Text(from))
    FlatJson.write(fields.result())
  }
}

object KeyMaterial {

  /** @param id base64 of the KEK's random id; its bytes are the AAD under which it wraps data keys */
  final case class Kek(id: String, wrapped: String)

  val Type1 = "PKMT1"
  val KekIdBytes = 16

  /** The names under which a file's keys stand in its material beside, when they do. */
  val FooterReference = "footerKey"
  def columnReference(ordinal: Int): String = s"columnKey$ordinal"

  /**
   * The AAD under which a KEK wrapped data keys: the KEK's id, as every writer draws it. A master key wraps data keys and
   * KEKs alike, so a data key can be called a KEK. Nothing that a data key seals opens under an AAD of this length: no AAD
   * of a module is as long ([[io.pmeparquet.options.AadPrefix]]).
   *
   * @throws io.pmeparquet.PmeException `PME_KEY_METADATA`
   */
  def kekAad(id: String, where: String): Array[Byte] = {
    def unusable(why: String, cause: Throwable = null) =
      PmeErrors.keyMetadata(where, s"the id of its key-encryption key is not $why", cause)
    val bytes =
      try Base64.getDecoder.decode(id)
      catch { case bad: IllegalArgumentException => throw unusable("base64", bad) }
    if (bytes.length != KekIdBytes || Base64.getEncoder.encodeToString(bytes) != id)
      throw unusable(s"$KekIdBytes bytes in base64, as every writer draws it")
    bytes
  }

  /**
   * Whether a key may have this name. The name of a key is the AAD of what it wraps, and before the ordinals in a module's
   * AAD stands a module's type, a control character: so a key that encrypts modules as well takes neither for the other.
   */
  def isKeyName(id: String): Boolean = !id.exists(Character.isISOControl(_))

  /** Key material is a few hundred bytes; no master-key id or wrapped key needs more than this. */
  val MaxBytes: Int = 64 * 1024

  private[keys] object Field {
    val Type = "keyMaterialType"
    val InternalStorage = "internalStorage"
    val Reference = "keyReference"
    val IsFooterKey = "isFooterKey"
    val KmsInstanceId = "kmsInstanceID"
    val KmsInstanceUrl = "kmsInstanceURL"
    val MasterKeyId = "masterKeyID"
    val WrappedDek = "wrappedDEK"
    val DoubleWrapping = "doubleWrapping"
    val KekId = "keyEncryptionKeyID"
    val WrappedKek = "wrappedKEK"
    val RotatedFrom = "rotatedFrom"
  }

  def parse(json: String, where: String): KeyMaterial = of(Fields.parse(json, where))

  private[keys] def of(fields: Fields): KeyMaterial = {
    fields.requireType()
    val kek =
      if (fields.flag(Field.DoubleWrapping))
        Some(Kek(fields.kekId, fields.text(Field.WrappedKek)))
      else None
    KeyMaterial(
      fields.flag(Field.IsFooterKey),
      fields.masterKeyId,
      fields.text(Field.WrappedDek),
      kek,
      rotatedFrom = fields.textIfAny(Field.RotatedFrom)
    )
  }

  /** The fields of a JSON object, each asked for by name and type. */
  private[keys] final class Fields(values: Map[String, Value], where: String) {
    def requireType(): Unit =
      if (text(Field.Type) != Type1)
        throw PmeErrors.keyMetadata(where, s"its key material is not of type $Type1")
    def text(name: String): String = values.get(name) match {
      case Some(Text(value)) if value.nonEmpty => value
      case _ => throw PmeErrors.keyMetadata(where, s"it has no text '$name'")
    }

    /** Checked here, so that there is no material whose id is the AAD of something else ([[kekAad]]). */
    def kekId: String = {
      val id = text(Field.KekId)
      kekAad(id, where)
      id
    }
    def masterKeyId: String = {
      val id = text(Field.MasterKeyId)
      if (!isKeyName(id)) throw PmeErrors.keyMetadata(where, "its master-key id has control characters")
      id
    }
    def textIfAny(name: String): Option[String] = values.get(name).map(_ => text(name))
    def flag(name: String): Boolean = values.get(name) match {
      case Some(Flag(value)) => value
      case _ => throw PmeErrors.keyMetadata(where, s"it has no true or false '$name'")
    }
  }

  private[keys] object Fields {
    def parse(json: String, where: String): Fields = {
      if (json.length > MaxBytes) throw tooLong(where)
      try new Fields(FlatJson.parse(json), where)
      catch { case bad: FlatJson.Malformed => throw PmeErrors.keyMetadata(where, bad.getMessage, bad) }
    }
    def tooLong(where: String): PmeException =
      PmeErrors.keyMetadata(where, s"it is longer than $MaxBytes bytes")
  }
}
