package io.pmeparquet.material

import java.util.Base64

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.FlatJson.{Flag, Text, Value}

/**
 * What is needed to unwrap a data key with the KMS, in the JSON format of parquet-java's key tools (`PKMT1`).
 *
 * @param kek
 *   the key-encryption key; none with single wrapping
 * @param kms
 *   instance id and URL of the KMS, which parquet-java stores with the footer key. They are written for other readers, but
 *   not read: a file must not determine where credentials go.
 * @param rotatedFrom
 *   the master key that a rotation replaced: a field of ours, which other readers ignore. With it a rotation that is run again
 *   can distinguish its own work from a misspelt name. It has no other use.
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

  /** The part that the master key wrapped: everything that the KMS sees, and the id of the KEK. */
  def wrappedKey: WrappedKey = kek match {
    case None => WrappedKey(masterKeyId, wrappedDek, None)
    case Some(key) => WrappedKey(masterKeyId, key.wrapped, Some(key.id))
  }

  /** The same data key, with another wrapped form of what the master key wraps. */
  def rewrapped(by: WrappedKey): KeyMaterial = {
    val from = if (by.masterKeyId == masterKeyId) rotatedFrom else Some(masterKeyId)
    val to = copy(masterKeyId = by.masterKeyId, rotatedFrom = from)
    kek match {
      case None => to.copy(wrappedDek = by.wrapped)
      case Some(key) => to.copy(kek = Some(key.copy(wrapped = by.wrapped)))
    }
  }

  /** @param internal whether it is stored in the file itself, as key metadata, or in a separate file */
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

  /** @param id base64 of the random id of the KEK; its bytes are the AAD of the data keys that it wraps */
  final case class Kek(id: String, wrapped: String)

  val Type1 = "PKMT1"
  val KekIdBytes = 16

  /** The names of a file's keys in separate key material. */
  val FooterReference = "footerKey"
  def columnReference(ordinal: Int): String = s"columnKey$ordinal"

  /**
   * The AAD with which a KEK wraps data keys: its random id. A master key wraps both data keys and KEKs, so a data key can be
   * passed off as a KEK. Nothing that a data key encrypts opens with an AAD of this length, because no AAD of a module has
   * it ([[io.pmeparquet.options.AadPrefix]]).
   *
   * @throws io.pmeparquet.PmeException `PME_KEY_METADATA`
   */
  def kekAad(id: String, where: String): Array[Byte] = {
    def unusable(why: String, cause: Throwable = null) =
      PmeErrors.keyMetadata(where, s"the id of the key-encryption key is not $why", cause)
    val bytes =
      try Base64.getDecoder.decode(id)
      catch { case bad: IllegalArgumentException => throw unusable("base64", bad) }
    if (bytes.length != KekIdBytes || Base64.getEncoder.encodeToString(bytes) != id)
      throw unusable(s"$KekIdBytes bytes in base64")
    bytes
  }

  /**
   * Whether a key may have this name. The name of a key is the AAD of what it wraps. The AAD of a module contains the type of
   * the module, a control character, so the two cannot be confused if one key encrypts modules, too.
   */
  def isKeyName(id: String): Boolean = !id.exists(Character.isISOControl(_))

  /** Key material has a few hundred bytes; no master-key id or wrapped key needs more than this. */
  val MaxBytes: Int = 64 * 1024

  private[pmeparquet] object Field {
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

  private[pmeparquet] def of(fields: Fields): KeyMaterial = {
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
  private[pmeparquet] final class Fields(values: Map[String, Value], where: String) {
    def requireType(): Unit =
      if (text(Field.Type) != Type1)
        throw PmeErrors.keyMetadata(where, s"the key material is not of type $Type1")
    def text(name: String): String = values.get(name) match {
      case Some(Text(value)) if value.nonEmpty => value
      case _ => throw PmeErrors.keyMetadata(where, s"it has no string field '$name'")
    }

    /** Checked here, so that no material has an id that is the AAD of something else ([[kekAad]]). */
    def kekId: String = {
      val id = text(Field.KekId)
      kekAad(id, where)
      id
    }
    def masterKeyId: String = {
      val id = text(Field.MasterKeyId)
      if (!isKeyName(id)) throw PmeErrors.keyMetadata(where, "the master-key id has control characters")
      id
    }
    def textIfAny(name: String): Option[String] = values.get(name).map(_ => text(name))
    def flag(name: String): Boolean = values.get(name) match {
      case Some(Flag(value)) => value
      case _ => throw PmeErrors.keyMetadata(where, s"it has no true or false field '$name'")
    }
  }

  private[pmeparquet] object Fields {
    def parse(json: String, where: String): Fields = {
      if (json.length > MaxBytes) throw tooLong(where)
      try new Fields(FlatJson.parse(json), where)
      catch { case bad: FlatJson.Malformed => throw PmeErrors.keyMetadata(where, bad.getMessage, bad) }
    }
    def tooLong(where: String): PmeException =
      PmeErrors.keyMetadata(where, s"it is longer than $MaxBytes bytes")
  }
}

/** The content of `_KEY_MATERIAL_FOR_<file>.json`: the key material of a file by reference (`keyMaterial=external`). */
object MaterialFile {
  val Prefix = "_KEY_MATERIAL_FOR_"
  val Suffix = ".json"

  /** A wide table has one entry per column key; no real table comes near this. */
  val MaxBytes: Int = 64 * 1024 * 1024

  def nameFor(fileName: String): String = Prefix + fileName + Suffix

  def toJson(material: Seq[(String, KeyMaterial)]): String =
    FlatJson.write(material.map { case (reference, one) =>
      reference -> FlatJson.Text(one.toJson(internal = false))
    })

  def parse(json: String, where: String): Map[String, KeyMaterial] = {
    val entries =
      try FlatJson.parse(json)
      catch { case bad: FlatJson.Malformed => throw PmeErrors.keyMetadata(where, bad.getMessage, bad) }
    entries.map {
      case (reference, FlatJson.Text(material)) => reference -> KeyMaterial.parse(material, where)
      case (reference, _) =>
        throw PmeErrors.keyMetadata(where, s"the value of its entry '$reference' is not a string")
    }
  }
}
