package io.pmeparquet.parquet.storage

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path, StreamCapabilities}

import io.pmeparquet.material.{KeyMaterial, MaterialFile}
import io.pmeparquet.parquet.bytes.SmallText
import io.pmeparquet.PmeErrors

/** `_KEY_MATERIAL_FOR_<file>.json`, next to the file (`keyMaterial=external`). */
object MaterialFiles {
  def read(path: Path, conf: Configuration): Map[String, KeyMaterial] = {
    val file = pathFor(path)
    val json =
      try
        SmallText.read(
          file,
          conf,
          length => PmeErrors.keyMetadata(path.toString, s"$file is $length bytes long")
        )
      catch {
        case missing: FileNotFoundException =>
          throw PmeErrors.keyMetadata(path.toString, s"the key material file $file is missing", missing)
      }
    MaterialFile.parse(json, file.toString)
  }

  /** @throws io.pmeparquet.PmeException if one exists: it may belong to another file of this name */
  def write(path: Path, conf: Configuration, material: Seq[(String, KeyMaterial)]): Unit = {
    val file = pathFor(path)
    // The file that needs it is written later, so its directory may not exist.
    OwnFiles.makeParents(file, conf)
    val stream = OwnFiles.create(file, conf)
    try {
      stream.write(MaterialFile.toJson(material).getBytes(UTF_8))
      // A file must not survive a crash of the machine without its keys. Object stores have no such step, and refuse
      // it.
      if (stream.hasCapability(StreamCapabilities.HSYNC)) stream.hsync()
    } finally stream.close()
  }

  /** Removes the key material of an unfinished file. */
  def remove(path: Path, conf: Configuration): Unit = {
    val file = pathFor(path)
    file.getFileSystem(conf).delete(file, false)
    ()
  }

  private[parquet] def pathFor(path: Path) = new Path(path.getParent, MaterialFile.nameFor(path.getName))
}
