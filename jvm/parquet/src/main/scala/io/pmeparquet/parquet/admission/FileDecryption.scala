package io.pmeparquet.parquet.admission

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileDecryptionProperties

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope, ScopeCache}

/**
 * Admits files to a read: reads and judges a file's tail, then gives parquet-java the properties that open the file.
 */
private[parquet] object FileDecryption {

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
      builder.withFooterKey(FileKeys.footerKeyWithoutMetadata(scope, path, conf).insecureBytes)
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
