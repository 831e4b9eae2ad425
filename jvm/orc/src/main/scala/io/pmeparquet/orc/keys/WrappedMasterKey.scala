package io.pmeparquet.orc.keys

import scala.collection.mutable

import io.pmeparquet.{AesKey, Audience, PmeErrors}
import io.pmeparquet.keys.Kms
import io.pmeparquet.material.FlatJson
import io.pmeparquet.material.FlatJson.Text
import io.pmeparquet.options.PmeOptions

/**
 * A master key of ORC files that a key of the KMS wraps: what a table's property or option `orcMasterKeys` holds.
 *
 * @param key none: it is the master key for every name in the table's files
 * @param kmsKey the key of the KMS that wraps it
 */
final case class WrappedMasterKey(key: Option[OrcKeyName], kmsKey: String, wrapped: String)

object WrappedMasterKey {
  private val Type = "ORCMK1"

  /** A few keys of some hundred bytes each. */
  private val MaxCharacters = 64 * 1024

  /**
   * Wraps a master key: the text that [[parse]] reads.
   *
   * @param key the key's name in ORC files
   * @param kmsKey the key of the KMS that wraps it
   */
  def wrap(kms: Kms, masterKey: AesKey, key: OrcKeyName, kmsKey: String): String = {
    val wrapped = kms.wrap(masterKey, kmsKey, s"ORC master key '${key.text}'")
    FlatJson.write(
      Seq(
        "type" -> Text(Type),
        "key" -> Text(key.text),
        "kmsKey" -> Text(kmsKey),
        "wrapped" -> Text(wrapped)
      )
    )
  }

  /**
   * @param text one or several texts of [[wrap]], or what a KMS made of one master key
   * @param wrappingKey the key of the KMS, for a text that names none
   * @throws io.pmeparquet.PmeException `PME_BAD_OPTION`
   */
  def parse(text: String, wrappingKey: Option[String]): Seq[WrappedMasterKey] = {
    val trimmed = text.trim
    if (trimmed.length > MaxCharacters) throw unusable("it is too long for wrapped keys")
    if (trimmed.isEmpty) throw unusable("it is empty")
    if (!trimmed.startsWith("{")) {
      val kmsKey = wrappingKey.getOrElse {
        throw unusable(s"it does not name the key that wraps it. Set ${PmeOptions.OrcWrappingKey.name}")
      }
      Seq(WrappedMasterKey(None, kmsKey, trimmed))
    } else {
      val keys = objects(trimmed).map(one)
      keys.groupBy(_.key).collectFirst { case (Some(key), several) if several.size > 1 => key }.foreach {
        key => throw unusable(s"it has key '${key.text}' twice")
      }
      keys
    }
  }

  private def one(json: String): WrappedMasterKey = {
    val fields =
      try FlatJson.parse(json)
      catch { case bad: FlatJson.Malformed => throw unusable(bad.getMessage) }
    def text(name: String) = fields.get(name) match {
      case Some(Text(value)) if value.nonEmpty => value
      case _ => throw unusable(s"it has no string field '$name'")
    }
    if (text("type") != Type || fields.size != 4) throw unusable("pme.wrap_orc_key did not make it")
    WrappedMasterKey(Some(OrcKeyName.parse(text("key"))), text("kmsKey"), text("wrapped"))
  }

  /** The JSON objects of a text, one after the other. */
  private def objects(text: String): Seq[String] = {
    val found = mutable.ArrayBuffer.empty[String]
    var (start, at, inString) = (0, 0, false)
    while (at < text.length) {
      text.charAt(at) match {
        case '\\' if inString => at += 1
        case '"' => inString = !inString
        case '}' if !inString =>
          found += text.substring(start, at + 1)
          start = at + 1
          while (start < text.length && " \t\r\n,;".indexOf(text.charAt(start).toInt) >= 0) start += 1
        case _ => ()
      }
      at += 1
    }
    if (start < text.length) throw unusable("it is not a row of JSON objects")
    found.toVector
  }

  // The text itself is not repeated: somebody may have put a key into it.
  private def unusable(why: String) =
    PmeErrors.contradiction(
      PmeOptions.OrcMasterKeys.name,
      why,
      s"Make it with ${Audience.current.wrapOrcKey}."
    )
}

/**
 * The name of an ORC master key with its version, as ORC files state it: `pii@2`. ''Crosses the wire.''
 *
 * @param version from 0
 */
final case class OrcKeyName(name: String, version: Int) {
  def text: String = s"$name@$version"

  /** The ids under which a KMS may have the key, in order of trial: most keys have one version and no number. */
  def kmsIds: Seq[String] = if (version == 0) Seq(text, name) else Seq(text)

  /** Whether `columnKeys` means this key by an id. */
  def isMeantBy(id: String): Boolean = id == text || (id == name && !OrcKeyName.hasVersion(id))
}

object OrcKeyName {
  private val WithVersion = "(.+)@(0|[1-9][0-9]{0,8})".r

  /** A key as `columnKeys` names it, with or without a version; without one it is version 0. */
  def parse(id: String): OrcKeyName = id match {
    case WithVersion(name, version) => OrcKeyName(name, version.toInt)
    case _ => OrcKeyName(id, 0)
  }

  private def hasVersion(id: String) = WithVersion.pattern.matcher(id).matches()
}
