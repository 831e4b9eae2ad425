package io.pmeparquet.orc.keys

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
