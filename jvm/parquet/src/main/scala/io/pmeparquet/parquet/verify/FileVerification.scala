package io.pmeparquet.parquet.verify

import java.io.IOException

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.ChecksumException
import org.apache.parquet.internal.hadoop.metadata.IndexReference

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.{FileVersion, ReadScope}
import io.pmeparquet.parquet.pages._
import io.pmeparquet.parquet.rotation.ListedFile

/**
 * Opens every module of a file with its keys, decompresses and decodes nothing, and tells all that does not open, and each
 * column that is not protected as the reader asks. What a module that does not open would lead to is not told again: a file
 * whose footer does not open is one finding.
 * ''Crosses the wire''. START HERE: [[of]].
 */
final class FileVerification(scope: ReadScope, sample: Sample) extends Serializable {

  /**
   * @param goOn called often; throws where the work is no longer wanted
   * @throws java.io.IOException where it was ended, but not where storage fails: that is a finding
   */
  def of(listed: ListedFile, conf: Configuration, goOn: () => Unit): Verified =
    of(listed.version, conf, goOn)

  private[parquet] def of(version: FileVersion, conf: Configuration, goOn: () => Unit): Verified = {
    val counters = new Counters
    val findings = new Findings(Finding(version.path.toString))
    var unprotected = Unprotected()
    try
      findings
        .attempt(_.copy(module = Some(ModuleKind.Footer.name))) {
          OpenFile.unjudged(scope, version, conf, counters.tagged)
        }
        .map { file =>
          unprotected = Unprotected.of(file)
          file
        }
        .filter(_.isEncrypted)
        .foreach { file =>
          findings.attempt(identity)(file.deviations(scope)).toSeq.flatten.foreach { case (column, refused) =>
            findings.add(_.copy(column = Some(column.display)), refused)
          }
          val bytes = file.bytes(conf, counters.tagged)
          try
            new FileWalk(file, bytes, scope.settings.allowClearLevels, sample, counters, findings, goOn).run()
          finally bytes.close()
        }
    catch {
      case failed: IOException if !PmeException.isOfCancelled(failed) => findings.ofStorage(failed)
    }
    Verified(findings.all, counters.opened, unprotected)
  }
}

/** What one file's verification counts. */
private[verify] final class Counters {
  val tagged = new ReadCounters
  val untagged = new ReadCounters
  var skippedPages = 0L

  def opened: Opened =
    Opened(1, tagged.modules.sum, untagged.modules.sum, skippedPages, tagged.bytes.sum + untagged.bytes.sum)
}

/** What was found in one file. */
private[verify] final class Findings(file: Finding) {
  private val found = mutable.ArrayBuffer.empty[Finding]

  // A list, and not a sequence: Scala 2.12's may be a stream, which is not to be sent.
  def all: List[Finding] = found.toList

  /** What comes of opening something; if nothing does, that is a finding. */
  def attempt[A](place: Finding => Finding)(open: => A): Option[A] = trial(open) match {
    case Right(opened) => Some(opened)
    case Left(failed) =>
      add(place, failed)
      None
  }

  /** What comes of opening something; storage that does not answer ends it all. */
  def trial[A](open: => A): Either[PmeException, A] =
    try Right(open)
    catch {
      case failed: PmeException if !PmeException.isOfCancelled(failed) => Left(failed)
      case bad: ChecksumException =>
        Left(
          PmeErrors.damaged(file.file, "its file system's own checksum of a part of it does not match", bad)
        )
    }

  def add(place: Finding => Finding, failed: PmeException, more: String = ""): Unit = {
    val one = place(file).because(failed)
    found += one.copy(message = one.message + more)
  }

  /** Once for each place and reason. */
  def addOnce(place: Finding => Finding, failed: PmeException): Unit =
    if (!found.contains(place(file).because(failed))) add(place, failed)

  def ofStorage(failed: IOException): Unit =
    found += file.copy(condition = failed.getClass.getName, message = String.valueOf(failed.getMessage))
}

/** All of a file but its footer, in the order of row groups and columns. */
private final class FileWalk(
    file: OpenFile,
    bytes: FileBytes,
    allowClearLevels: Boolean,
    sample: Sample,
    counters: Counters,
    findings: Findings,
    goOn: () => Unit
) {
  private val indexes = new Indexes(file, bytes, counters.tagged)
  private val window = new Window(bytes, if (sample.pages < 1) FileWalk.SampleBytes else FileWalk.ReadBytes)

  def run(): Unit = {
    // Where all of them cannot be read at once, reading them one by one tells which.
    file.indexRange.foreach(range => findings.trial(bytes.keep(range)))
    (0 until file.rowGroupCount).foreach(group)
  }

  private def group(group: Int): Unit =
    chunks(group).filter(_.key.isDefined).foreach { chunk =>
      goOn()
      new ChunkWalk(group, chunk).run()
    }

  /** Those whose metadata open: one that does not must not keep the others from being opened. */
  private def chunks(group: Int): Seq[Chunk] =
    together(group, file.columns).getOrElse {
      val keyed = file.columns.filter(hasKey(group, _))
      together(group, keyed).getOrElse(keyed.flatMap(alone(group, _)))
    }

  private def together(group: Int, columns: Seq[FileColumn]): Option[Seq[Chunk]] = {
    val opened = new ReadCounters
    val chunks = findings.trial(file.chunks(group, columns.map(_.path), opened).chunks).toOption
    if (chunks.isDefined) counters.tagged.modules.add(opened.modules.sum)
    chunks
  }

  private def hasKey(group: Int, column: FileColumn): Boolean =
    findings.trial(file.requireKey(group, column.path, counters.tagged)) match {
      case Right(()) => true
      case Left(failed) =>
        findings.addOnce(_.copy(column = Some(column.display)), failed)
        false
    }

  private def alone(group: Int, column: FileColumn): Option[Chunk] = {
    def metadata(file: Finding) = file.copy(
      rowGroup = Some(group),
      column = Some(column.display),
      module = Some(ModuleKind.ColumnMetaData.name)
    )
    findings.attempt(metadata)(file.chunks(group, Seq(column.path), counters.tagged).chunks.head)
  }

  private final class ChunkWalk(group: Int, chunk: Chunk) {
    private def in(kind: ModuleKind)(file: Finding) =
      file.copy(rowGroup = Some(group), column = Some(chunk.display), module = Some(kind.name))

    def run(): Unit = {
      content(ModuleKind.ColumnIndex)(_.meta.getColumnIndexReference)
      val offsets = content(ModuleKind.OffsetIndex)(_.meta.getOffsetIndexReference)
      if (chunk.meta.getBloomFilterOffset > 0) bloomFilter()
      if (chunk.meta.getValueCount > 0)
        new PageWalk(file, group, chunk, offsets, window, allowClearLevels, sample, counters, findings, goOn)
          .run()
    }

    private def content(kind: ModuleKind)(
        reference: Chunk => IndexReference
    ): Option[Array[Byte]] =
      findings
        .attempt(in(kind))(indexes.contents(Seq(chunk), kind)(reference))
        .flatMap(_.headOption.map(_._2))

    private def bloomFilter(): Unit = for {
      header <- findings.attempt(in(ModuleKind.BloomFilterHeader))(indexes.bloomHeader(chunk))
    } findings.attempt(in(ModuleKind.BloomFilterBitset))(indexes.bloomBits(chunk, header))
  }
}

private object FileWalk {
  val ReadBytes: Int = 8 * 1024 * 1024

  /** Where most pages are left out, what lies between two headers is not to be read. */
  val SampleBytes: Int = 64 * 1024
}
