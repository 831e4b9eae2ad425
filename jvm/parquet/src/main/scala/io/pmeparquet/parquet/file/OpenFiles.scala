package io.pmeparquet.parquet.file

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{PmeErrors, RecentValues}
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.admission.FooterPolicy
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, FileVersion, FooterBytes, ReadCounters}
import io.pmeparquet.parquet.scope.{ReadScope, ScopeCache}

/** Opens files; every reader of a file comes through here. */
private[parquet] object OpenFiles extends ScopeCache[FileVersion, OpenFile] {

  /** The files whose footers a scope has opened, for as long as it may use keys without the KMS. */
  override def empty(settings: ReadSettings): RecentValues[FileVersion, OpenFile] =
    new RecentValues(MaxFiles, settings.kekLifetimeMillis)

  /** @throws io.pmeparquet.PmeException whatever keeps this scope from reading the file */
  def apply(scope: ReadScope, version: FileVersion, conf: Configuration, counters: ReadCounters): OpenFile =
    scope.cache(OpenFiles).get(version)(read(scope, version, conf, counters))

  /** As [[apply]], but reads the current file, whatever this JVM has cached. */
  def read(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters
  ): OpenFile = {
    val file = unjudged(scope, version, conf, counters)
    file.deviations(scope).headOption.foreach { case (_, refused) => throw refused }
    file
  }

  /** As [[read]], but without the check of which keys protect its columns: [[OpenFile.deviations]] makes it. */
  def unjudged(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters
  ): OpenFile = {
    val file = version.path.toString
    val bytes = new FileBytes(version, conf, counters)
    try {
      counters.footers.increment()
      val footer = FooterBytes.read(bytes)
      FileTail.of(footer, file) match {
        case FileTail.Plaintext =>
          if (!scope.settings.allowPlaintextFiles) throw PmeErrors.plaintextFile(file)
          new OpenFile(version, FileTail.metadata(footer.segment, file), None, footer.tail)
        case tail: FileTail.Encrypted =>
          val crypto = FileCrypto.of(scope, version, conf, tail, counters)
          val content = crypto.footer(footer.segment, counters)
          val opened = new OpenFile(version, content, Some(crypto), footer.tail)
          if (FooterPolicy.isUnproven(tail, scope.settings)) FooterProof.require(opened, bytes, counters)
          opened
      }
    } finally bytes.close()
  }

  /** The number of files that a scope keeps open: their footers are the largest things that it holds. */
  private val MaxFiles = 64
}
