package io.pmeparquet.parquet.admission

import java.util.Arrays

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileDecryptionProperties

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.cipher.ModuleAad
import io.pmeparquet.options.{EncryptionAlgorithm, ReadSettings}
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope, ScopeCache}

/** Decides from a file's tail alone whether a reader accepts the file, before it reads any page. */
private[parquet] object FooterPolicy {

  /**
   * @return the AAD prefix to open the file with, if the reader gives one
   * @throws io.pmeparquet.PmeException `PME_ALGORITHM`, `PME_AAD_PREFIX`
   */
  def check(path: Path, tail: FileTail.Encrypted, settings: ReadSettings): Option[Array[Byte]] = {
    val file = path.toString
    if (tail.ctr && !settings.acceptCtr)
      throw PmeErrors.algorithm(file, EncryptionAlgorithm.AesGcmCtrV1.name, EncryptionAlgorithm.AesGcmV1.name)
    // Nothing authenticates the algorithm's fields, and the AAD joins prefix and unique part without a delimiter: a fixed
    // length keeps the boundary between them where the writer put it.
    if (tail.aadFileUnique.length != ModuleAad.FileUniqueBytes)
      throw PmeErrors.fileUnique(file, tail.aadFileUnique.length, ModuleAad.FileUniqueBytes)
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

/**
 * Admits files to a read: reads and checks a file's tail, then gives parquet-java the properties that open the file.
 */
private[pmeparquet] object FileDecryption {

  /** @return the properties that open the file; none for a plaintext file that the options allow */
  def admit(scope: ReadScope, path: Path, conf: Configuration): Option[FileDecryptionProperties] =
    Admissions.tailOf(scope.cache(Admissions), path, conf) match {
      case FileTail.Plaintext =>
        if (!scope.settings.allowPlaintextFiles) throw PmeErrors.plaintextFile(path.toString)
        None
      case tail: FileTail.Encrypted => Some(propertiesFor(scope, path, conf, tail))
    }

  private def propertiesFor(
      scope: ReadScope,
      path: Path,
      conf: Configuration,
      tail: FileTail.Encrypted
  ): FileDecryptionProperties = {
    val prefix = FooterPolicy.check(path, tail, scope.settings)
    val keys = new FileKeys(path, conf, scope, prefix.orElse(tail.aadPrefix))
    val builder = FileDecryptionProperties.builder().withKeyRetriever(keys)
    // With properties, parquet-java itself refuses a plaintext file, so it does not read a file that somebody swaps
    // between our check and its own. It also compares the stored prefix with the one given here.
    prefix.foreach(builder.withAADPrefix)
    if (tail.footerKeyMetadata.isEmpty)
      builder.withFooterKey(keys.footerKeyWithoutMetadata.insecureBytes)
    builder.build()
  }
}

/**
 * The file tails that a scope has read in this JVM. Spark builds read options about three times per split, and each
 * time asks the crypto factory.
 */
private[parquet] object Admissions extends ScopeCache[FileVersion, FileTail] {
  private[parquet] val MaxFiles = 1000

  /** Long enough to open a split, and no longer: whoever alters files can forge their length and time. */
  private[parquet] val LifetimeMillis = 5000L

  override def empty(settings: ReadSettings): RecentValues[FileVersion, FileTail] =
    tails(RecentValues.monotonicMillis)

  private[parquet] def tails(now: () => Long): RecentValues[FileVersion, FileTail] =
    new RecentValues(MaxFiles, LifetimeMillis, now)

  def tailOf(tails: RecentValues[FileVersion, FileTail], path: Path, conf: Configuration): FileTail = {
    val file = FileVersion.of(path, conf)
    tails.get(file)(FileTail.read(conf, file))
  }
}
