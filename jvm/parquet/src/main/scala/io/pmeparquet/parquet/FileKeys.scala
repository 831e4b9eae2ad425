package io.pmeparquet.parquet

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.DecryptionKeyRetriever

import io.pmeparquet.{AesKey, PmeErrors}
import io.pmeparquet.keys.{KeyMaterial, KeyMetadata, MaterialFile}

/** The keys of one file, from its key metadata: what parquet-java asks when it meets one. */
final class FileKeys(path: Path, conf: Configuration, scope: ReadScope) extends DecryptionKeyRetriever {

  /** The column whose key is being asked for, where the caller knows it: parquet-java does not tell. */
  @volatile private var column: Option[String] = None

  private lazy val material: Map[String, KeyMaterial] = MaterialFiles.read(path, conf)

  override def getKey(keyMetadata: Array[Byte]): Array[Byte] = keyOf(keyMetadata).insecureBytes

  def forColumn[A](name: String)(read: => A): A = {
    column = Some(name)
    try read
    finally column = None
  }

  private[parquet] def keyOf(keyMetadata: Array[Byte]): AesKey = KeyMetadata.parse(keyMetadata, where) match {
    case KeyMetadata.Internal(one) => unwrap(one)
    case KeyMetadata.External(reference) =>
      unwrap(
        material.getOrElse(
          reference,
          throw PmeErrors.keyMetadata(where, s"its key material has no '$reference'")
        )
      )
    case KeyMetadata.Direct(keyId) =>
      requireAllowed(keyId)
      scope.unwrapper(conf).direct(keyId, where)
  }

  private def unwrap(one: KeyMaterial): AesKey = {
    requireAllowed(one.masterKeyId)
    scope.unwrapper(conf).unwrap(one, where)
  }

  private def requireAllowed(masterKeyId: String): Unit =
    scope.settings.allowedMasterKeys.filterNot(_.contains(masterKeyId)).foreach { allowed =>
      throw PmeErrors.keyMetadata(
        where,
        s"it names master key '$masterKeyId', which is none of those that footerKey and columnKeys name " +
          s"(${allowed.toSeq.sorted.mkString(", ")})"
      )
    }

  private def where: String = s"$path, ${column.fold("footer")(name => s"column '$name'")}"
}

/** `_KEY_MATERIAL_FOR_<file>.json`, beside the file (`keyMaterial=external`). */
object MaterialFiles {
  def read(path: Path, conf: Configuration): Map[String, KeyMaterial] = {
    val file = beside(path)
    val fs = file.getFileSystem(conf)
    val json =
      try {
        val length = fs.getFileStatus(file).getLen
        if (length > MaterialFile.MaxBytes)
          throw PmeErrors.keyMetadata(path.toString, s"$file is $length bytes long")
        val stream = fs.open(file)
        try {
          val bytes = new Array[Byte](length.toInt)
          stream.readFully(0, bytes)
          new String(bytes, UTF_8)
        } finally stream.close()
      } catch {
        case missing: FileNotFoundException =>
          throw PmeErrors.keyMetadata(path.toString, s"its key material file $file is missing", missing)
      }
    MaterialFile.parse(json, file.toString)
  }

  def write(path: Path, conf: Configuration, material: Seq[(String, KeyMaterial)]): Unit = {
    val file = beside(path)
    val stream = file.getFileSystem(conf).create(file, true)
    try stream.write(MaterialFile.toJson(material).getBytes(UTF_8))
    finally stream.close()
  }

  /** Removes the key material of a file that was not finished. */
  def remove(path: Path, conf: Configuration): Unit = {
    val file = beside(path)
    file.getFileSystem(conf).delete(file, false)
    ()
  }

  private def beside(path: Path) = new Path(path.getParent, MaterialFile.nameFor(path.getName))
}
