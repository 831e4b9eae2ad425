package io.pmeparquet.parquet.admission

import java.util.Arrays

import org.apache.hadoop.fs.Path

import io.pmeparquet.cipher.ModuleAad
import io.pmeparquet.options.{EncryptionAlgorithm, ReadSettings}
import io.pmeparquet.parquet.bytes.FileTail
import io.pmeparquet.PmeErrors

/** What a reader accepts in a file, decided from its tail before any page is read. */
private[parquet] object FooterPolicy {

  /**
   * The fields of the algorithm are not authenticated, and prefix and unique part of the AAD are joined without a
   * delimiter. A fixed length keeps the boundary where the writer had it.
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
   * Whether only the file itself states the AAD of its footer. Only lengths separate prefix and unique part of an AAD,
   * so the AAD of a page, an index or column metadata can be passed off as the AAD of another file's footer; no other
   * module of that file would open. This is impossible without a prefix, or if the reader names the prefix.
   */
  def isUnproven(tail: FileTail.Encrypted, settings: ReadSettings): Boolean =
    !tail.plaintextFooter && tail.aadPrefix.isDefined && settings.aadPrefix.isEmpty
}
