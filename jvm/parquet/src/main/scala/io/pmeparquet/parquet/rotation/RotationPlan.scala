package io.pmeparquet.parquet.rotation

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.{KeyMaterial, KeyMetadata}

/**
 * A file's keys, before and after a rotation. Parameters are those of [[FileRotation]].
 *
 * @param changes the new form of each key, by the old one
 * @param target the new master key of keys under another one
 */
private[rotation] final class RotationPlan(
    keyed: KeyedFile,
    changes: Map[WrappedKey, WrappedKey],
    target: String => Option[String],
    external: Option[Boolean],
    instances: ((String, String), (String, String))
) {
  private val done = changes.values.toSet
  private val keys = keyed.keys.map(key => key -> after(key.material))

  /** Whether the rotation has looked at each key that it is to change. */
  val isKnown: Boolean = keyed.keys.map(_.material.wrappedKey).forall { key =>
    target(key.masterKeyId).isEmpty || changes.contains(key) || done.contains(key)
  }

  private val references: Map[FileKey, String] = {
    val used = keyed.keys.flatMap(_.reference).toSet
    val fresh = Iterator.from(0).map(KeyMaterial.columnReference).filterNot(used.contains)
    keyed.keys.map { key =>
      key -> key.reference.getOrElse(
        if (key.column.isEmpty) KeyMaterial.FooterReference else fresh.next()
      )
    }.toMap
  }

  val beside: Seq[(String, KeyMaterial)] =
    keys.collect { case (key, material) if goesBeside(key) => references(key) -> material }.distinct

  val besideChanges: Boolean = beside.nonEmpty &&
    (keyed.unused.nonEmpty || keys.exists { case (key, material) =>
      goesBeside(key) && (!key.isExternal || isChanged(key, material))
    })

  val edits: Map[java.nio.ByteBuffer, Array[Byte]] = keys.collect {
    case (key, material)
        if goesBeside(key) != key.isExternal || (!goesBeside(key) && isChanged(key, material)) =>
      val metadata =
        if (goesBeside(key)) KeyMetadata.External(references(key)) else KeyMetadata.Internal(material)
      key.metadata -> KeyMetadata.bytesOf(metadata)
  }.toMap

  private def goesBeside(key: FileKey) = external.getOrElse(key.isExternal)

  private def isChanged(key: FileKey, material: KeyMaterial) =
    material.wrappedKey != key.material.wrappedKey

  private def after(material: KeyMaterial): KeyMaterial = {
    val key = material.wrappedKey
    val changed = changes.get(key).fold(material)(material.rewrapped)
    val (from, to) = instances
    if (!material.isFooterKey) changed
    else changed.copy(kms = Some(if (changes.contains(key) || done.contains(key)) to else from))
  }
}
