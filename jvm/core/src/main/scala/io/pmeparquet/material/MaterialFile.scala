package io.pmeparquet.material

import io.pmeparquet.PmeErrors

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
