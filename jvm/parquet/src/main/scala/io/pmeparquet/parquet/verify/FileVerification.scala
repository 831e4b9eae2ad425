package io.pmeparquet.parquet.verify

import java.io.IOException

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.parquet.bytes.{FileBytes, FileVersion, ReadCounters}
import io.pmeparquet.parquet.chunk.{Chunk, Window}
import io.pmeparquet.parquet.file.{Indexes, OpenFiles}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.PmeException

/**
 * Opens every module of a file with its keys, without decompressing or decoding. Reports every module that does not
 * open, and each column that is not protected as the reader asks. It does not report what a broken module would lead
 * to: a file whose footer does not open is one finding. ''Crosses the wire''. START HERE: [[of]].
 */
final class FileVerification(scope: ReadScope, sample: Sample) extends Serializable {

  /**
   * @param goOn called often; throws if the work is no longer wanted
   * @throws java.io.IOException if the work was cancelled, but not if storage fails: that is a finding
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
          OpenFiles.withoutColumnCheck(scope, version, conf, counters.tagged)
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
          val allowed = scope.settings.allowClearLevels
          val examined = new Examined(file, allowed, sample, counters, findings, goOn)
          try new FileWalk(examined, bytes).run()
          finally bytes.close()
        }
    catch {
      case failed: IOException if !PmeException.isOfCancelled(failed) => findings.ofStorage(failed)
    }
    Verified(findings.all, counters.opened, unprotected)
  }
}

/** Walks over all of a file except its footer, in the order of row groups and columns. */
private[parquet] final class FileWalk(examined: Examined, bytes: FileBytes) {
  import examined.{counters, file, findings}
  private val indexes = new Indexes(file, bytes, counters.tagged)
  private val window =
    new Window(bytes, if (examined.sample.pages < 1) FileWalk.SampleBytes else FileWalk.ReadBytes)

  def run(): Unit = {
    // If they cannot be read all at once, reading them one by one shows which ones cannot.
    file.indexRange.foreach(range => findings.trial(bytes.keep(range)))
    (0 until file.rowGroupCount).foreach(group)
  }

  private def group(group: Int): Unit =
    chunks(group).filter(_.key.isDefined || examined.found.wantsPlaintext).foreach { chunk =>
      examined.goOn()
      examined.found.chunk(group, chunk)
      new ChunkWalk(group, chunk).run()
    }

  /** The chunks whose metadata opens: one that does not must not keep the others from being opened. */
  private def chunks(group: Int): Seq[Chunk] =
    together(group, file.leaves).getOrElse {
      val keyed = file.leaves.filter(hasKey(group, _))
      together(group, keyed).getOrElse(keyed.flatMap(single(group, _)))
    }

  private def together(group: Int, columns: Seq[LeafColumn]): Option[Seq[Chunk]] = {
    val opened = new ReadCounters
    val chunks = findings.trial(file.chunks(group, columns.map(_.path), opened).chunks).toOption
    if (chunks.isDefined) counters.tagged.modules.add(opened.modules.sum)
    chunks
  }

  private def hasKey(group: Int, column: LeafColumn): Boolean =
    findings.trial(file.requireKey(group, column.path, counters.tagged)) match {
      case Right(()) => true
      case Left(failed) =>
        findings.addOnce(_.copy(column = Some(column.display)), failed)
        false
    }

  private def single(group: Int, column: LeafColumn): Option[Chunk] = {
    def metadata(file: Finding) = file.copy(
      rowGroup = Some(group),
      column = Some(column.display),
      module = Some(ModuleKind.ColumnMetaData.name)
    )
    findings.attempt(metadata)(file.chunks(group, Seq(column.path), counters.tagged).chunks.head)
  }

  private final class ChunkWalk(group: Int, chunk: Chunk) {
    private def in(kind: ModuleKind)(file: Finding) = file.inModule(group, chunk, kind)

    def run(): Unit = {
      content(ModuleKind.ColumnIndex)
      val offsets = content(ModuleKind.OffsetIndex)
      if (indexes.hasFilter(chunk)) bloomFilter()
      if (chunk.meta.getValueCount > 0)
        new PageWalk(examined, window, group, chunk, offsets).run()
    }

    private def content(kind: ModuleKind): Option[Array[Byte]] =
      findings.attempt(in(kind))(indexes.contents(Seq(chunk), kind)).flatMap(_.headOption.map(_._2))

    private def bloomFilter(): Unit = for {
      header <- findings.attempt(in(ModuleKind.BloomFilterHeader))(indexes.filterHeader(chunk))
    } findings.attempt(in(ModuleKind.BloomFilterBitset))(indexes.filterBits(chunk, header))
  }
}

private object FileWalk {
  val ReadBytes: Int = 8 * 1024 * 1024

  /** If the sample omits most pages, a read should not cover what is between two headers. */
  val SampleBytes: Int = 64 * 1024
}
