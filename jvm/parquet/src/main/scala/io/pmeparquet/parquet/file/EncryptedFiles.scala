package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}

/** Whether files state that they are encrypted, without any key. */
private[pmeparquet] object EncryptedFiles {

  /**
   * Whether the file has an encrypted footer, or a signed one that names an algorithm (specification §5.2 and §5.3).
   *
   * @param length of the file, in bytes
   * @throws io.pmeparquet.PmeException if it is no Parquet file
   */
  def isEncrypted(conf: Configuration, path: Path, length: Long): Boolean =
    FileTail.read(conf, FileVersion(path, length, modified = 0)()) != FileTail.Plaintext
}
