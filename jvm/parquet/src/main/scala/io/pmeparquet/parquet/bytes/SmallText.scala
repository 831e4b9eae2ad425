package io.pmeparquet.parquet.bytes

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.material.MaterialFile
import io.pmeparquet.PmeException

/** A small file beside data. Anyone with storage access may have made it as large as they like. */
private[parquet] object SmallText {

  /**
   * @param tooLong the error for a file of this many bytes
   * @throws java.io.FileNotFoundException if there is no file
   */
  def read(file: Path, conf: Configuration, tooLong: Long => PmeException): String = {
    val version = FileVersion.of(file, conf)
    if (version.length > MaterialFile.MaxBytes) throw tooLong(version.length)
    // A FIFO and a device are of no length, and opening one could wait for ever.
    if (version.length == 0) ""
    else {
      val bytes = new Array[Byte](version.length.toInt)
      val stream = version.open(conf)
      try stream.readFully(0, bytes)
      finally stream.close()
      new String(bytes, UTF_8)
    }
  }
}
