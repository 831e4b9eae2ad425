package io.pmeparquet.parquet.write

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.{FileBytes, FileVersion, FooterBytes, ReadCounters}

/**
 * What tells a file that was just written from every other one. It needs no key. ''Crosses the wire.''
 *
 * @param length of the file in bytes
 * @param sha256 of the footer, its length and the magic at the end of the file
 */
final case class WrittenFooter(length: Long, sha256: Array[Byte])

object WrittenFooter {

  /** @throws io.pmeparquet.PmeException if the file does not end as a Parquet file does */
  def read(file: Path, conf: Configuration): WrittenFooter = {
    val version = FileVersion.of(file, conf)
    val bytes = new FileBytes(version, conf, new ReadCounters)
    try WrittenFooter(version.length, FooterBytes.read(bytes).sha256)
    finally bytes.close()
  }
}
