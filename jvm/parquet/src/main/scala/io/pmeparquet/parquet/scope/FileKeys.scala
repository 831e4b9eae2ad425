package io.pmeparquet.parquet

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, StreamCapabilities}
import org.apache.parquet.crypto.DecryptionKeyRetriever

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.{KeyMaterial, KeyMetadata, MaterialFile}
import io.pmeparquet.options.AadPrefix
import io.pmeparquet.parquet.files.OwnFiles

/**
 * The keys of one file, from its key metadata: what parquet-java asks when it meets one.
 *
 * @param aadPrefix what the file is opened with; none where its keys are only named, and none is unwrapped
 */
final class FileKeys(
    path: Path,
    conf: Configuration,
    scope: ReadScope,
    aadPrefix: Option[Array[Byte]] = None
) extends DecryptionKeyRetriever {

  private[parquet] lazy val material: Map[String, KeyMaterial] = MaterialFiles.read(path, conf)

  /** parquet-java does not tell which column it asks for. */
  override def getKey(keyMetadata: Array[Byte]): Array[Byte] = {
    val where = s"$path, footer or column"
    keyOf(KeyMetadata.parse(keyMetadata, where), where).insecureBytes
  }

  /** @param column the name of the column that the key is of; none for the footer */
  private[parquet] def keyOf(keyMetadata: Array[Byte], column: Option[String]): AesKey = {
    val where = whereOf(column)
    val metadata = KeyMetadata.parse(keyMetadata, where)
    metadata match {
      case wrapped: KeyMetadata.Wrapped => requireOwn(materialOf(wrapped, where), column, where)
      case _: KeyMetadata.Direct => ()
    }
    keyOf(metadata, where)
  }

  private def keyOf(metadata: KeyMetadata, where: String): AesKey = metadata match {
    case KeyMetadata.Direct(keyId) =>
      if (!scope.settings.directKeys) throw PmeErrors.directKeyRefused(where, keyId)
      requireAllowed(keyId, where)
      scope.unwrapper(conf).direct(keyId, where)
    case wrapped: KeyMetadata.Wrapped => scope.unwrapper(conf).unwrap(materialOf(wrapped, where), where)
  }

  /** Nothing authenticates what a footer's key material says; a mistake is told for what it is. */
  private def requireOwn(one: KeyMaterial, column: Option[String], where: String): Unit =
    if (one.isFooterKey != column.isEmpty) {
      val said = if (one.isFooterKey) "the footer's key" else "a column's key"
      throw PmeErrors.keyMetadata(where, s"it is the material of $said")
    }

  /**
   * Has the keys of several columns unwrapped at once, before they are asked for one by one.
   *
   * @param keyMetadata of each column, by its name
   * @throws io.pmeparquet.PmeException where key metadata is of no use; not where a key is refused
   */
  private[parquet] def prepare(keyMetadata: Seq[(String, Array[Byte])]): Unit = {
    val materials = keyMetadata.flatMap { case (name, metadata) =>
      val where = whereOf(Some(name))
      KeyMetadata.parse(metadata, where) match {
        case wrapped: KeyMetadata.Wrapped => Some(materialOf(wrapped, where))
        case _: KeyMetadata.Direct => None
      }
    }
    scope.unwrapper(conf).prepare(materials, path.toString)
  }

  /**
   * The id of the master key that a key is under, be it allowed or not.
   *
   * @param column whose it is; none for the footer
   */
  private[parquet] def masterKeyOf(keyMetadata: Array[Byte], column: Option[String]): String = {
    val where = whereOf(column)
    KeyMetadata.parse(keyMetadata, where) match {
      case KeyMetadata.Direct(keyId) => keyId
      case wrapped: KeyMetadata.Wrapped => found(wrapped, where).masterKeyId
    }
  }

  /** What must be known to get the key back; none for one that was not wrapped. */
  private[parquet] def materialOf(keyMetadata: Array[Byte], column: Option[String]): Option[KeyMaterial] = {
    val where = whereOf(column)
    KeyMetadata.parse(keyMetadata, where) match {
      case wrapped: KeyMetadata.Wrapped => Some(materialOf(wrapped, where))
      case _: KeyMetadata.Direct => None
    }
  }

  private def materialOf(wrapped: KeyMetadata.Wrapped, where: String): KeyMaterial = {
    val one = found(wrapped, where)
    requireAllowed(one.masterKeyId, where)
    requireApart(one, where)
    one
  }

  /**
   * A key that the master key itself wrapped may be a KEK's, and what that wrapped must open as no module of this file. Nor
   * do writers make such files: their data keys could be called KEKs, and their pages wrapped keys.
   */
  private def requireApart(one: KeyMaterial, where: String): Unit =
    for (prefix <- aadPrefix if one.kek.isEmpty && !AadPrefix.isApart(prefix))
      throw PmeErrors.aadPrefixOfSingleWrapping(where, prefix.length)

  private def found(wrapped: KeyMetadata.Wrapped, where: String): KeyMaterial = wrapped match {
    case KeyMetadata.Internal(own) => own
    case KeyMetadata.External(reference) =>
      material.getOrElse(
        reference,
        throw PmeErrors.keyMetadata(where, s"its key material has no '$reference'")
      )
  }

  private def requireAllowed(masterKeyId: String, where: String): Unit =
    scope.settings.allowedMasterKeys.filterNot(_.contains(masterKeyId)).foreach { allowed =>
      throw PmeErrors.keyMetadata(
        where,
        s"it names master key '$masterKeyId', which is none of those that footerKey and columnKeys name " +
          s"(${allowed.toSeq.sorted.mkString(", ")})"
      )
    }

  private def whereOf(column: Option[String]): String =
    s"$path, ${column.fold("footer")(name => s"column '$name'")}"
}

/** `_KEY_MATERIAL_FOR_<file>.json`, beside the file (`keyMaterial=external`). */
object MaterialFiles {
  def read(path: Path, conf: Configuration): Map[String, KeyMaterial] = {
    val file = beside(path)
    val json =
      try
        SmallText.read(
          file,
          conf,
          length => PmeErrors.keyMetadata(path.toString, s"$file is $length bytes long")
        )
      catch {
        case missing: FileNotFoundException =>
          throw PmeErrors.keyMetadata(path.toString, s"its key material file $file is missing", missing)
      }
    MaterialFile.parse(json, file.toString)
  }

  /** @throws io.pmeparquet.PmeException where there is one: it may be that of another file of this name */
  def write(path: Path, conf: Configuration, material: Seq[(String, KeyMaterial)]): Unit = {
    val file = beside(path)
    // The file that it is for comes after it.
    OwnFiles.makeParents(file, conf)
    val stream = OwnFiles.create(file, conf)
    try {
      stream.write(MaterialFile.toJson(material).getBytes(UTF_8))
      // No file is to outlive its keys when the machine is lost. Stores of objects have no such step, and refuse it.
      if (stream.hasCapability(StreamCapabilities.HSYNC)) stream.hsync()
    } finally stream.close()
  }

  /** Removes the key material of a file that was not finished. */
  def remove(path: Path, conf: Configuration): Unit = {
    val file = beside(path)
    file.getFileSystem(conf).delete(file, false)
    ()
  }

  private[parquet] def beside(path: Path) = new Path(path.getParent, MaterialFile.nameFor(path.getName))
}
