package io.pmeparquet.parquet.file

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.parquet.format.{ColumnChunk, EncryptionWithColumnKey, FileMetaData}

import io.pmeparquet.{Condition, KeyRefusal, PmeErrors, PmeException, RecentValues}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.columns.ColumnPolicy
import io.pmeparquet.columns.ColumnProtection.ColumnKey
import io.pmeparquet.options.ReadSettings
import io.pmeparquet.parquet.admission.{ColumnCheck, FooterPolicy}
import io.pmeparquet.parquet.bytes._
import io.pmeparquet.parquet.chunk.Chunk
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
    // A query leaves out a file whose key is refused only if the key is the one that the writer gave it. Key material beside it
    // may be altered, unless the snapshot states that the key was destroyed: then nothing opens the file anyway.
    def opened =
      try read(scope, version, conf, counters, Some(seal))
      catch {
        case refused: FooterKeyRefused =>
          if (!refused.isInFooter && seal.erased(version.path).isEmpty) throw refused.failure
          seal.requireKey(version.path, refused.masterKeyId)
          throw refused
      }
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
    val file = withoutColumnCheck(scope, version, conf, counters, seal)
    file.deviations(scope).headOption.foreach { case (_, refused) => throw refused }
    file
  }

  /**
   * As [[read]], but does not check the keys of its columns; [[OpenFile.deviations]] does.
   *
   * @param mayBeDamaged whether any module may prove the footer, since the first ones may not open
   */
  def withoutColumnCheck(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters,
      seal: Option[FileSeal] = None,
      mayBeDamaged: Boolean = false
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
          // What such a footer states, anybody may have written.
          scope.settings.columnsAt(version.inTable, file)
          val metadata = FileTail.metadata(footer.segment, file)
          new OpenFile(version, version.inTable, metadata, None, Set.empty, footer.tail, footer.sha256)
        case tail: FileTail.Encrypted =>
          val crypto = FileCrypto.of(scope, version, conf, tail, counters, seal)
          val metadata = FileTail.metadata(crypto.openFooter(footer.segment, counters), file)
          val place = version.inTable.stating(FooterShape.statedBy(metadata, file))
          val policy = scope.settings.columnsAt(place, file)
          policy.foreach(ColumnCheck.footer(_, file, crypto.masterKeyOfFooter))
          val named = nameKeys(metadata, version, policy, scope.settings)
          val opened = new OpenFile(version, place, metadata, Some(crypto), named, footer.tail, footer.sha256)
          if (FooterPolicy.isUnproven(tail, scope.settings))
            new FooterProof(opened, bytes, counters).require(mayBeDamaged)
          opened
      }
    } finally bytes.close()
  }

  /**
   * A file whose footer does not open, if what precedes its footer module does: the algorithm and the footer's key.
   *
   * @param footerOf makes the footer: from the file's keys, what is before its footer, and where that ends
   * @throws io.pmeparquet.PmeException if the file is plaintext, cut, or refused by the scope's policy
   */
  def withFooter(
      scope: ReadScope,
      version: FileVersion,
      conf: Configuration,
      counters: ReadCounters
  )(footerOf: (FileCrypto, FileBytes, Long) => FileMetaData): OpenFile = {
    val bytes = new FileBytes(version, conf, counters)
    try {
      val footer = FooterBytes.read(bytes)
      FileTail.of(footer, version.path.toString) match {
        case tail: FileTail.Encrypted if !tail.plaintextFooter =>
          val crypto = FileCrypto.of(scope, version, conf, tail, counters)
          val metadata = footerOf(crypto, bytes, footer.segment.offset)
          val place = version.inTable
          new OpenFile(version, place, metadata, Some(crypto), Set.empty, footer.tail, footer.sha256)
        case _ => throw PmeErrors.notAuthentic(version.path.toString, "its footer")
      }
    } finally bytes.close()
  }

  /**
   * Completes an authenticated footer. The columns of files may have keys of their own, but no key metadata, as low-level
   * writers make them (Polars, arrow-rs, Arrow C++). With `keyManagement=direct`, the read's own options name these keys,
   * and then every rule about keys that files name holds. Columns that the read names no key for stay as they are.
   *
   * @return the columns whose keys the read has named
   */
  private def nameKeys(
      footer: FileMetaData,
      version: FileVersion,
      ofPlace: Option[ColumnPolicy],
      settings: ReadSettings
  ): Set[Seq[String]] = {
    val named = for {
      policy <- ofPlace.toSeq
      if settings.directKeys && FileTail
        .rowGroups(footer)
        .exists(_.getColumns.asScala.exists(unnamed(_).isDefined))
      shape = new FooterShape(version, footer)
      (leaf, asked) <- shape.leaves.zip(policy.of(shape.leaves))
      ColumnKey(id) <- asked.accepted.headOption.toSeq
      group <- shape.groups
      key <- unnamed(shape.chunkOf(group, leaf.path))
    } yield {
      key.setKey_metadata(id.getBytes(UTF_8))
      leaf.path
    }
    named.toSet
  }

  private def unnamed(chunk: ColumnChunk): Option[EncryptionWithColumnKey] =
    Option(chunk.getCrypto_metadata)
      .filter(_.isSetENCRYPTION_WITH_COLUMN_KEY)
      .map(_.getENCRYPTION_WITH_COLUMN_KEY)
      .filterNot(_.isSetKey_metadata)

  /** The number of files that a scope keeps open: their footers are the largest thing that it holds. */
  private val MaxFiles = 64
}

/**
 * Proves that an encrypted footer is a footer if only the file states its AAD prefix: another module must open under
 * the same AAD. If `FooterPolicy.isUnproven`, this comes before anything that the footer states is believed.
 */
private final class FooterProof(file: OpenFile, bytes: FileBytes, counters: ReadCounters) {
  import FooterProof._

  /**
   * @param mayBeDamaged whether it goes on to other modules if one does not open
   * @throws io.pmeparquet.PmeException if no module can prove it, or one does not open
   */
  def require(mayBeDamaged: Boolean): Unit = {
    val groups = (0 until file.rowGroupCount).filter(file.rowCount(_) > 0)
    val shown = (if (mayBeDamaged) groups else groups.take(1)).exists { group =>
      def proves(withFooterKey: Boolean)(opens: Seq[String] => Boolean) =
        file.sealedColumns(group, withFooterKey).exists { column =>
          try opens(column)
          catch { case failed: PmeException if mayBeDamaged && OfDamage(failed.condition) => false }
        }
      proves(withFooterKey = true)(opensPage(group, _)) || proves(withFooterKey = false)(
        opensMetadata(group, _)
      )
    }
    if (groups.nonEmpty && !shown) throw PmeErrors.unprovenPrefix(file.version.path.toString)
  }

  /** Whether the column has a page in this row group; its header then has opened. */
  private def opensPage(group: Int, column: Seq[String]): Boolean = {
    val chunk = file.chunks(group, Seq(column), counters).chunks.head
    chunk.meta.getValueCount > 0 && file.modules(chunk, counters).exists { modules =>
      val segment = firstModule(chunk)
      val kind =
        if (chunk.mayHaveDictionary) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader
      val headers = modules.headers
      headers.open(
        segment.array,
        segment.at,
        headers.end(segment.array, segment.at, segment.until, Limits.PageHeaderBytes, kind),
        kind,
        page = 0
      )
      true
    }
  }

  private def firstModule(chunk: Chunk): Segment = {
    val all = file.rangeOf(chunk)
    def first(length: Long) = bytes.read(all.copy(length = length.min(all.length.toLong).toInt))
    val usual = first(UsualBytes)
    val frame =
      if (usual.length < ModuleFrame.LengthBytes) 0L
      else ModuleFrame.LengthBytes + ModuleFrame.lengthAt(usual.array, usual.at).toLong
    if (frame <= usual.length) usual
    else first(frame.min(Limits.PageHeaderBytes.toLong + ModuleFrame.GcmOverheadBytes))
  }

  /** Whether the column's key is available; its metadata then has opened. */
  private def opensMetadata(group: Int, column: Seq[String]): Boolean =
    try {
      file.chunks(group, Seq(column), counters)
      true
    } catch { case failed: PmeException if KeyRefusal.NoKey(failed.condition) => false }
}

private object FooterProof {
  private val OfDamage = Set[Condition](Condition.NotAuthentic, Condition.DamagedFile)

  /** Page headers are short, unless they have long statistics. */
  private val UsualBytes = 1024L
}
