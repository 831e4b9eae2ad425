package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, PmeException, RecentValues}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.admission.FooterPolicy
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, FileVersion, FooterBytes, ReadCounters}
import io.pmeparquet.parquet.scope.{ReadScope, ScopeCache}

/** Opens files. Every reader of a file begins here. */
private[parquet] object OpenFiles extends ScopeCache[FileVersion, OpenFile] {

  /** The files whose footers a scope has opened, kept as long as the scope may use keys without the KMS. */
  override def empty(settings: ReadSettings): RecentValues[FileVersion, OpenFile] =
    new RecentValues(MaxFiles, settings.kekLifetimeMillis)

  /** @throws io.pmeparquet.PmeException if this scope cannot read the file, for any reason */
  def apply(scope: ReadScope, version: FileVersion, conf: Configuration, counters: ReadCounters): OpenFile =
    scope.cache(OpenFiles).get(version)(read(scope, version, conf, counters))

  /**
   * As [[apply]], for a file that a snapshot lists.
   *
   * @throws io.pmeparquet.PmeException `PME_SNAPSHOT_MISMATCH` if it is another one
   */
  def asSealed(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      seal: FileSeal
  ): OpenFile = {
    seal.requireLength(version.path, version.length)
    def opened = read(scope, version, conf, counters, Some(seal))
    val cache = scope.cache(OpenFiles)
    val known = cache.get(version)(opened)
    val file =
      try {
        seal.requireFooter(version.path, known.footerSha256)
        known
      } catch {
        // Another file of this length and time was there when a read without this seal opened it.
        case _: PmeException =>
          val now = opened
          cache.put(version, now, scope.settings.kekLifetimeMillis)
          now
      }
    seal.requireKey(version.path, file.footerMasterKey)
    file
  }

  /** As [[apply]], but reads the file as it is now and ignores this JVM's cache. */
  def read(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      seal: Option[FileSeal] = None
  ): OpenFile = {
    val file = unjudged(scope, version, conf, counters, seal)
    file.deviations(scope).headOption.foreach { case (_, refused) => throw refused }
    file
  }

  /** As [[read]], but does not judge the keys of its columns; [[OpenFile.deviations]] does. */
  def unjudged(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      seal: Option[FileSeal] = None
  ): OpenFile = {
    val file = version.path.toString
    val bytes = new FileBytes(version, conf, counters)
    try {
      counters.footers.increment()
      val footer =
        try FooterBytes.read(bytes)
        catch {
          case damaged: PmeException =>
            seal.foreach(_.requireFooter(version.path, Array.emptyByteArray))
            throw damaged
        }
      seal.foreach(_.requireFooter(version.path, footer.sha256))
      FileTail.of(footer, file) match {
        case FileTail.Plaintext =>
          if (!scope.settings.allowPlaintextFiles) throw PmeErrors.plaintextFile(file)
          new OpenFile(
            version,
            FileTail.metadata(footer.segment, file),
            None,
            Set.empty,
            footer.tail,
            footer.sha256
          )
        case tail: FileTail.Encrypted =>
          val crypto = FileCrypto.of(scope, version, conf, tail, counters)
          val content = crypto.footer.metadata(footer.segment, counters)
          val named = NamedByRead.complete(content, version, scope.settings)
          val opened = new OpenFile(version, content, Some(crypto), named, footer.tail, footer.sha256)
          if (FooterPolicy.isUnproven(tail, scope.settings)) FooterProof.require(opened, bytes, counters)
          opened
      }
    } finally bytes.close()
  }

  /** The number of files that a scope keeps open: their footers are the largest thing that it holds. */
  private val MaxFiles = 64
}
