package io.pmeparquet.parquet.rotation

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.{KeyMaterial, KeyMetadata, MaterialFile}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile, MaterialFiles}
import io.pmeparquet.PmeErrors

/**
 * The rotation of Parquet files. ''Crosses the wire.''
 *
 * @param masterKeys as in [[FileRotation]]
 * @param external whether key material goes next to the file; none if it stays where it is
 * @param instances id and URL of the KMS that keys come from, and of the one that they go to
 */
final class ParquetRotation(
    scope: ReadScope,
    protected val masterKeys: Option[Map[String, String]],
    external: Option[Boolean],
    instances: ((String, String), (String, String))
) extends FileRotation {

  /** The key that opening the file's footer will need. */
  override def firstKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    FoundFile.footerKey(scope, file.version, conf).toSeq

  /** The column keys. */
  override def furtherKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    FoundFile.open(scope, file.version, conf, _ => false) match {
      case keyed: KeyedFile =>
        val columns = keyed.keys.filter(_.column.isDefined).map(_.material.wrappedKey)
        columns.filter(key => target(key.masterKeyId).isDefined).distinct
      case _ => Nil
    }

  override def look(file: ListedFile, conf: Configuration): FileNeeds = {
    val path = new Path(file.path)
    open(file.version, conf) match {
      case FoundFile.Plaintext => FileNeeds.Nothing("it is not encrypted")
      case FoundFile.WithoutWrappedKeys => FileNeeds.Nothing("it has no wrapped key")
      case keyed: KeyedFile =>
        FileReplacement.of(path, conf)
        keyed.unknownParts.headOption.foreach { part =>
          throw PmeErrors.unknownPart(
            file.path,
            part,
            "it may hold keys that would stay wrapped with the old master key"
          )
        }
        val material =
          if (keyed.isInternal) FileRotation.Internal
          else if (keyed.isExternal) FileRotation.External
          else "mixed"
        val converts = external.exists(wanted => keyed.keys.exists(_.isExternal != wanted))
        // A killed rotation or the writer left it: it no longer belongs to the file.
        val left = file.hasExternalMaterial && keyed.isInternal
        FileNeeds.Keys(
          keyed.keys.map(_.material.wrappedKey).distinct,
          material,
          converts || left || keyed.unused.exists(one => target(one.masterKeyId).isDefined),
          met(keyed.keys.map(_.material) ++ keyed.unused)
        )
    }
  }

  override def change(
      file: ListedFile,
      changes: Map[WrappedKey, WrappedKey],
      conf: Configuration
  ): Option[RotatedFooter] = {
    val path = new Path(file.path)
    val found = EndReplacement.of(file, conf)
    open(found.version, conf) match {
      case keyed: KeyedFile =>
        val plan = new RotationPlan(keyed, changes, target, external, instances)
        if (!plan.isKnown || (!found.isListed && plan.edits.nonEmpty))
          throw PmeErrors.changedMeanwhile(file.path)
        // Key material is there before the footer that needs it: readers find their keys at every moment.
        if (plan.materialChanges) writeMaterial(path, plan.externalMaterial, found.status, conf)
        val rotated =
          if (plan.edits.isEmpty) None
          else Some(found.write(keyed.footerOffset, keyed.end(plan.edits), keyed.footerSha256))
        if (plan.externalMaterial.isEmpty) FileReplacement.of(MaterialFiles.pathFor(path), conf).delete()
        rotated
      case _ => throw PmeErrors.changedMeanwhile(file.path)
    }
  }

  private def open(version: FileVersion, conf: Configuration): FoundFile =
    FoundFile.open(scope, version, conf, target(_).isDefined)

  private def writeMaterial(
      path: Path,
      material: Seq[(String, KeyMaterial)],
      like: FileStatus,
      conf: Configuration
  ): Unit =
    FileReplacement.of(MaterialFiles.pathFor(path), conf).write(like, () => ()) { out =>
      out.write(MaterialFile.toJson(material).getBytes(UTF_8))
    }
}

/**
 * A file's keys, before and after a rotation. Parameters are those of [[ParquetRotation]].
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

  val externalMaterial: Seq[(String, KeyMaterial)] =
    keys.collect { case (key, material) if becomesExternal(key) => references(key) -> material }.distinct

  val materialChanges: Boolean = externalMaterial.nonEmpty &&
    (keyed.unused.nonEmpty || keys.exists { case (key, material) =>
      becomesExternal(key) && (!key.isExternal || isChanged(key, material))
    })

  val edits: Map[java.nio.ByteBuffer, Array[Byte]] = keys.collect {
    case (key, material)
        if becomesExternal(key) != key.isExternal || (!becomesExternal(key) && isChanged(key, material)) =>
      val metadata =
        if (becomesExternal(key)) KeyMetadata.External(references(key)) else KeyMetadata.Internal(material)
      key.metadata -> KeyMetadata.bytesOf(metadata)
  }.toMap

  private def becomesExternal(key: FileKey) = external.getOrElse(key.isExternal)

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
