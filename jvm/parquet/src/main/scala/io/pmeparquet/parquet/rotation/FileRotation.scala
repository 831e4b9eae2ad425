package io.pmeparquet.parquet.rotation

import java.io.OutputStream
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, Path}

import io.pmeparquet.keys.{KeyMaterial, KeyMetadata, MaterialFile, WrappedKey}
import io.pmeparquet.parquet.{FileVersion, MaterialFiles, ReadScope}
import io.pmeparquet.PmeErrors

/** A file as it was listed; whether there is key material beside it. */
final case class ListedFile(path: String, length: Long, modified: Long, hasMaterialBeside: Boolean) {
  private[parquet] def version: FileVersion = FileVersion(new Path(path), length, modified)
}

/** What one file needs: nothing of it is a secret. */
sealed trait FileNeeds extends Serializable

object FileNeeds {
  final case class Nothing(because: String) extends FileNeeds

  /**
   * @param keys distinct, and those that are to be wrapped anew are proven to be the file's
   * @param more whether there is something to be done even where no key changes
   * @param met all master keys that keys are under, and those that this rotation has taken some from before
   */
  final case class Keys(keys: Seq[WrappedKey], material: String, more: Boolean, met: Seq[String])
      extends FileNeeds
}

/**
 * What a rotation does with one file: looks which keys it has, and later writes them anew. ''Crosses the wire''.
 *
 * @param masterKeys where keys go, by the master keys they are under; none: each to its own
 * @param external where key material is to stand; none: where it does
 * @param instances of the KMS that keys come from, and of that they go to: id and url
 */
final class FileRotation(
    scope: ReadScope,
    masterKeys: Option[Map[String, String]],
    external: Option[Boolean],
    instances: ((String, String), (String, String))
) extends Serializable {

  /** The master key that keys under another one go under; none where they are left as they are. */
  def target(masterKeyId: String): Option[String] = masterKeys.fold(Option(masterKeyId))(_.get(masterKeyId))

  /** The key that opening the file's footer will ask for. */
  def footerKey(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    FoundFile.footerKey(scope, file.version, conf).toSeq

  /** The keys of columns that [[look]] will ask for, so that they show that they are the file's. */
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
      case FoundFile.WithoutWrappedKeys => FileNeeds.Nothing("it keeps no wrapped key")
      case keyed: KeyedFile =>
        FileReplacement.of(path, conf)
        keyed.unknownParts.headOption.foreach { part =>
          throw PmeErrors.unknownPart(file.path, part, "it may hold keys as they were wrapped before")
        }
        val material =
          if (keyed.isInternal) FileRotation.Internal
          else if (keyed.isExternal) FileRotation.External
          else "mixed"
        val converts = external.exists(wanted => keyed.keys.exists(_.isExternal != wanted))
        // A rotation that was ended left it, or the writer: it is not the file's any more.
        val left = file.hasMaterialBeside && keyed.isInternal
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
   * Writes the file's keys anew. A file that another attempt of the same task has finished is left as it is.
   *
   * @param changes the keys as they were found, and what each has become
   */
  def change(file: ListedFile, changes: Map[WrappedKey, WrappedKey], conf: Configuration): Unit = {
    val path = new Path(file.path)
    val status = path.getFileSystem(conf).getFileStatus(path)
    val version = FileVersion.of(path, status)
    val looked = version == file.version
    open(version, conf) match {
      case keyed: KeyedFile =>
        val plan = new Plan(keyed, changes)
        if (!plan.isKnown || (!looked && plan.edits.nonEmpty)) throw PmeErrors.changedMeanwhile(file.path)
        // What opens the file stands before what it opens: readers find their keys at every moment.
        if (plan.besideChanges) writeBeside(path, plan.beside, status, conf)
        if (plan.edits.nonEmpty) writeFile(keyed, plan, status, conf)
        if (plan.beside.isEmpty) FileReplacement.of(MaterialFiles.beside(path), conf).delete()
      case _ => throw PmeErrors.changedMeanwhile(file.path)
    }
  }

  private def open(version: FileVersion, conf: Configuration): FoundFile =
    FoundFile.open(scope, version, conf, target(_).isDefined)

  private def writeBeside(
      path: Path,
      material: Seq[(String, KeyMaterial)],
      like: FileStatus,
      conf: Configuration
  ): Unit =
    FileReplacement.of(MaterialFiles.beside(path), conf).write(like, () => ()) { out =>
      out.write(MaterialFile.toJson(material).getBytes(UTF_8))
    }

  private def writeFile(keyed: KeyedFile, plan: Plan, like: FileStatus, conf: Configuration): Unit = {
    val path = keyed.version.path
    def unchanged(): Unit =
      if (FileVersion.of(path, conf) != keyed.version) throw PmeErrors.changedMeanwhile(path.toString)
    val end = keyed.end(plan.edits)
    FileReplacement.of(path, conf).write(like, () => unchanged()) { out =>
      FileRotation.copy(path, keyed.footerOffset, out, conf)
      out.write(end)
    }
  }

  /** A file's keys, before and after. */
  private final class Plan(keyed: KeyedFile, changes: Map[WrappedKey, WrappedKey]) {
    private val done = changes.values.toSet
    private val keys = keyed.keys.map(key => key -> after(key.material))

    /** Whether each key that is to change is one that was looked at. */
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
}

object FileRotation {
  val Internal = "internal"
  val External = "external"

  /** What the names of files begin with that a rotation makes, and leaves when it is killed. */
  val LeftoverPrefix: String = FileReplacement.Prefix

  private val BufferBytes = 1024 * 1024

  private def copy(path: Path, length: Long, out: OutputStream, conf: Configuration): Unit = {
    val in = path.getFileSystem(conf).open(path)
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
