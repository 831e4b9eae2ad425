package io.pmeparquet.parquet.admission

import java.util.Arrays

import org.apache.hadoop.fs.Path

import io.pmeparquet.cipher.ModuleAad
import io.pmeparquet.options.{EncryptionAlgorithm, ReadSettings}
import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.PmeErrors

/** Decides from a file's tail alone whether a reader accepts the file, before it reads any page. */
private[parquet] object FooterPolicy {

  /**
   * Nothing authenticates the algorithm's fields, and the AAD joins prefix and unique part without a delimiter: a fixed
   * length keeps the boundary between them where the writer put it.
   */
  val AadFileUniqueBytes: Int = ModuleAad.FileUniqueBytes

  /**
   * @return the AAD prefix to open the file with, if the reader gives one
   * @throws io.pmeparquet.PmeException `PME_ALGORITHM`, `PME_AAD_PREFIX`
   */
  def check(path: Path, tail: FileTail.Encrypted, settings: ReadSettings): Option[Array[Byte]] = {
    val file = path.toString
    if (tail.ctr && !settings.acceptCtr)
      throw PmeErrors.algorithm(file, EncryptionAlgorithm.AesGcmCtrV1.name, EncryptionAlgorithm.AesGcmV1.name)
    if (tail.aadFileUnique.length != AadFileUniqueBytes)
      throw PmeErrors.aadPrefix(
        file,
        s"aad_file_unique is ${tail.aadFileUnique.length} bytes long instead of $AadFileUniqueBytes"
      )
    val expected = settings.aadPrefix.map(_.bytesFor(path.getParent.toUri.getPath, path.getName))
    (expected, tail.aadPrefix) match {
      case (_, Some(_)) if tail.supplyAadPrefix =>
        throw PmeErrors.aadPrefix(file, "the file contains a prefix, but states that it does not")
      case (Some(wanted), Some(stored)) if !Arrays.equals(wanted, stored) =>
        throw PmeErrors.aadPrefix(file, "the file contains a different one")
      case (Some(_), None) if !tail.supplyAadPrefix =>
        throw PmeErrors.aadPrefix(file, "the file was written without one")
      case (None, None) if tail.supplyAadPrefix =>
        throw PmeErrors.aadPrefix(file, "the file does not contain it, and aadPrefix is not set")
      case _ => ()
    }
    expected
  }

  /**
   * Whether only the file itself states the footer's AAD. The lengths alone define where prefix and unique part of the
   * AAD end, so a forger can state the AAD of a page, index or column metadata as that of another file's footer; no
   * other module of that file would open. This is impossible if there is no prefix, or if the reader names it.
   */
  def isUnproven(tail: FileTail.Encrypted, settings: ReadSettings): Boolean =
    !tail.plaintextFooter && tail.aadPrefix.isDefined && settings.aadPrefix.isEmpty
}
