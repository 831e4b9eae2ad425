package io.pmeparquet.parquet.rotation

import java.io.OutputStream
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.{PmeErrors, Sha256}
import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.material.{KeyMaterial, KeyMetadata, MaterialFile}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.{FileReplacement, ListedFile, MaterialFiles}
import io.pmeparquet.parquet.write.WrittenFooter

/**
 * What a rotation does with one file: finds its keys, and later replaces them with the rewrapped ones. ''Crosses the
 * wire''.
 *
 * @param masterKeys the new master key for each old one; none if each key stays under its own
 * @param external whether key material goes next to the file; none if it stays where it is
 * @param instances id and URL of the KMS that keys come from, and of the one that they go to
 */
final class FileRotation(
    scope: ReadScope,
    masterKeys: Option[Map[String, String]],
    external: Option[Boolean],
    instances: ((String, String), (String, String))
) extends Serializable {

  /** The new master key of keys under another one; none if they stay as they are. */
  def target(masterKeyId: String): Option[String] = masterKeys.fold(Option(masterKeyId))(_.get(masterKeyId))

  /** The key that opening the file's footer will need. */
  def footerKey(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    FoundFile.footerKey(scope, file.version, conf).toSeq

  /** The column keys that [[look]] will need to prove that they are the file's. */
  def columnKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    FoundFile.open(scope, file.version, conf, _ => false) match {
      case keyed: KeyedFile =>
        val columns = keyed.keys.filter(_.column.isDefined).map(_.material.wrappedKey)
        columns.filter(key => target(key.masterKeyId).isDefined).distinct
      case _ => Nil
    }

  def look(file: ListedFile, conf: Configuration): FileNeeds = {
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

  private def met(materials: Seq[KeyMaterial]): Seq[String] = {
    val before = materials.flatMap { one =>
      one.rotatedFrom.filter(from => masterKeys.flatMap(_.get(from)).contains(one.masterKeyId))
    }
    (materials.map(_.masterKeyId) ++ before).distinct
  }

  /**
   * Writes the file's rewrapped keys. Leaves a file alone that another attempt of the same task has finished.
   *
   * @param changes the new form of each key, by the old one
   * @return the footer that the file had, and the one that this has written; none if the file itself stays as it is
   */
  def change(
      file: ListedFile,
      changes: Map[WrappedKey, WrappedKey],
      conf: Configuration
  ): Option[RotatedFooter] = {
    val path = new Path(file.path)
    val status = path.getFileSystem(conf).getFileStatus(path)
    val version = FileVersion.of(path, status)
    val looked = version.isListed(file.version)
    open(version, conf) match {
      case keyed: KeyedFile =>
        val plan = new RotationPlan(keyed, changes, target, external, instances)
        if (!plan.isKnown || (!looked && plan.edits.nonEmpty)) throw PmeErrors.changedMeanwhile(file.path)
        // Key material is there before the footer that needs it: readers find their keys at every moment.
        if (plan.materialChanges) writeMaterial(path, plan.externalMaterial, status, conf)
        val rotated = if (plan.edits.isEmpty) None else Some(writeFile(keyed, plan, status, conf))
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

  private def writeFile(
      keyed: KeyedFile,
      plan: RotationPlan,
      like: FileStatus,
      conf: Configuration
  ): RotatedFooter = {
    val path = keyed.version.path
    def unchanged(): Unit =
      if (FileVersion.of(path, conf) != keyed.version) throw PmeErrors.changedMeanwhile(path.toString)
    val end = keyed.end(plan.edits)
    FileReplacement.of(path, conf).write(like, () => unchanged()) { out =>
      FileRotation.copy(keyed.version, keyed.footerOffset, out, conf)
      out.write(end)
    }
    val written = WrittenFooter(keyed.footerOffset + end.length, Sha256.ofBytes(end))
    RotatedFooter(keyed.footerSha256, written)
  }
}

/**
 * The end of a file that a rotation has replaced. ''Crosses the wire.''
 *
 * @param before SHA-256 of the old footer, its length and the magic
 */
final case class RotatedFooter(before: Array[Byte], after: WrittenFooter)

object FileRotation {
  val Internal = "internal"
  val External = "external"

  /** The prefix of files that a rotation makes, and leaves behind if it is killed. */
  val LeftoverPrefix: String = FileReplacement.StagedPrefix

  private val BufferBytes = 1024 * 1024

  private def copy(file: FileVersion, length: Long, out: OutputStream, conf: Configuration): Unit = {
    val in = file.open(conf)
    try {
      val buffer = new Array[Byte](BufferBytes)
      var left = length
      while (left > 0) {
        val count = left.min(BufferBytes.toLong).toInt
        in.readFully(buffer, 0, count)
        out.write(buffer, 0, count)
        left -= count
      }
    } finally in.close()
  }
}

/** What one file needs. It contains no secrets. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys the file's distinct wrapped keys; those to rewrap are proven to be the file's
   * @param more whether there is work even if no key changes
   * @param met all master keys of its keys, and those from which this rotation has taken keys before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}

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
