package io.pmeparquet.parquet.admission

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.crypto.FileDecryptionProperties

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.bytes.{FileTail, FileVersion}
import io.pmeparquet.parquet.scope.{FileKeys, ReadScope, ScopeCache}

/** Admits files to a read: it reads and judges their tail, and then tells parquet-java how to open them. */
private[parquet] object FileDecryption {

  /** @return what opens the file; none for a plaintext file that is allowed */
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
    // With these properties parquet-java itself refuses plaintext files, so a file that is swapped between our look and
    // its own is not read. It also compares the stored prefix with this one.
    prefix.foreach(builder.withAADPrefix)
    if (tail.footerKeyMetadata.isEmpty)
      builder.withFooterKey(FileKeys.footerKeyWithoutMetadata(scope, path, conf).insecureBytes)
    builder.build()
  }
}

/**
 * The tails that a scope has read in this JVM. Spark builds read options about three times per split, and asks the
 * crypto factory each time.
 */
private[parquet] object Admissions extends ScopeCache[FileVersion, FileTail] {
  private val MaxFiles = 1000

  /** Long enough to open a split. Whoever alters files can forge their length and time. */
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
