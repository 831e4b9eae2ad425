package io.pmeparquet.material

import java.nio.charset.CharacterCodingException
import java.nio.charset.StandardCharsets.UTF_8

import io.pmeparquet.{PmeErrors, Utf8}
import io.pmeparquet.material.KeyMaterial.{Field, Fields}

/**
 * The metadata of a key in a file (Parquet `key_metadata`, specification §4.3): the key material itself, a reference to
 * material in a separate file, or the name of the data key.
 */
sealed trait KeyMetadata

object KeyMetadata {

  /** A wrapped data key, and where its material is. */
  sealed trait Wrapped extends KeyMetadata

  /** `keyMaterial=internal` */
  final case class Internal(material: KeyMaterial) extends Wrapped

  /** `keyMaterial=external`: the material has this name in `_KEY_MATERIAL_FOR_<file>.json`. */
  final case class External(reference: String) extends Wrapped

  /** `keyManagement=direct`: the data key is the key of this name in the KMS. */
  final case class Direct(keyId: String) extends KeyMetadata

  private val MaxDirectCharacters = 1024

  def parse(bytes: Array[Byte], where: String): KeyMetadata = {
    if (bytes.length > KeyMaterial.MaxBytes) throw Fields.tooLong(where)
    val text = decode(bytes, where)
    if (text.startsWith("{")) {
      val fields = Fields.parse(text, where)
      fields.requireType()
      if (fields.flag(Field.InternalStorage)) Internal(KeyMaterial.of(fields))
      else External(fields.text(Field.Reference))
    } else {
      // Names have no quotes; altered JSON has. Messages must not show its content.
      if (
        text.isEmpty || text.length > MaxDirectCharacters || text
          .contains('"') || !KeyMaterial.isKeyName(text)
      )
        throw PmeErrors.keyMetadata(where, "it is neither key material nor the name of a key")
      Direct(text)
    }
  }

  def bytesOf(metadata: KeyMetadata): Array[Byte] = {
    val text = metadata match {
      case Internal(material) => material.toJson(internal = true)
      case External(reference) =>
        FlatJson.write(
          Seq(
            Field.Type -> FlatJson.Text(KeyMaterial.Type1),
            Field.InternalStorage -> FlatJson.Flag(false),
            Field.Reference -> FlatJson.Text(reference)
          )
        )
      case Direct(keyId) => keyId
    }
    text.getBytes(UTF_8)
  }

  private def decode(bytes: Array[Byte], where: String): String =
    try Utf8.strict(bytes)
    catch { case bad: CharacterCodingException => throw PmeErrors.keyMetadata(where, "it is not text", bad) }
}
