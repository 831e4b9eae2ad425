package io.pmeparquet.parquet.recover

import java.io.Closeable
import java.util.BitSet

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.parquet.column.page.{PageReadStore, PageReader}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.parquet.bytes.{FileVersion, ReadCounters}
import io.pmeparquet.parquet.chunk.{Chunk, OpenedHeader}
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile, OpenFiles}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.verify._

/**
 * Finds what is sound in a file. A page counts if its header and its body open under their keys, and all its values
 * decode: whatever a reader gets was sealed by a holder of the key, for this place in this file (specification §4.4).
 * ''Crosses the wire''. START HERE: [[open]].
 *
 * @param unauthenticated whether values count that no tag covers: pages under AES_GCM_CTR_V1, columns without a key,
 *   plaintext files, and V2 pages whose levels are outside modules
 * @param like a file with the same columns, written in the same way, for files whose footers do not open
 */
final class FileRecovery(scope: ReadScope, unauthenticated: Boolean, like: Option[String] = None)
    extends Serializable {

  /**
   * Opens the footer, and every module.
   *
   * @param goOn called often; throws if the work is no longer wanted
   * @throws io.pmeparquet.PmeException if the footer does not open: then nothing of the file does
   * @throws java.io.IOException if storage fails, which says nothing of the file
   */
  def open(path: Path, conf: Configuration, goOn: () => Unit): RecoveredFile =
    open(FileVersion.of(path, conf), conf, goOn)

  /**
   * Schema, key-value metadata and writer.
   *
   * @throws io.pmeparquet.PmeException if the footer does not open
   */
  def metadata(path: Path, conf: Configuration): FileMetaData =
    opened(FileVersion.of(path, conf), conf, scope.counters).fileMetaData

  private def opened(version: FileVersion, conf: Configuration, counters: ReadCounters): OpenFile =
    try OpenFiles.withoutColumnCheck(scope, version, conf, counters)
    catch {
      case failed: PmeException if FileRecovery.OfFooter(failed.condition) && like.isDefined =>
        val other = OpenFiles.withoutColumnCheck(scope, FileVersion.of(new Path(like.get), conf), conf, counters)
        OpenFiles.withFooter(scope, version, conf, counters) { (crypto, bytes, end) =>
          new RebuiltFooter(crypto, bytes, end, other, counters).metadata
        }
    }

  private[parquet] def open(version: FileVersion, conf: Configuration, goOn: () => Unit): RecoveredFile = {
    val counters = new Counters
    val file = opened(version, conf, counters.tagged)
    val findings = new Findings(Finding(version.path.toString))
    val found = new Found(unauthenticated)
    val bytes = file.bytes(conf, counters.tagged)
    val allowed = unauthenticated || scope.settings.allowClearLevels
    try new FileWalk(new Examined(file, allowed, Sample(), counters, findings, goOn, found), bytes).run()
    finally bytes.close()
    new RecoveredFile(
      file,
      new ColumnPages(scope, file, conf, counters.tagged),
      counters.tagged,
      found,
      findings,
      file.deviations(scope).map { case (leaf, refused) => leaf.path -> refused }.toMap,
      unauthenticated
    )
  }
}

private object FileRecovery {

  /** How a footer fails that was altered. */
  val OfFooter: Set[Condition] = Set(Condition.NotAuthentic, Condition.DamagedFile)
}

/** Keeps what a walk finds, by row group and leaf. */
private final class Found(override val wantsPlaintext: Boolean) extends FoundParts {
  private val chunks = mutable.Map.empty[(Int, Int), FoundChunk]

  def of(group: Int, ordinal: Int): Option[FoundChunk] = chunks.get((group, ordinal))

  override def chunk(group: Int, chunk: Chunk): Unit = chunks((group, chunk.ordinal)) = new FoundChunk(chunk)

  override def header(group: Int, chunk: Chunk, number: Int, page: OpenedHeader): Unit =
    chunks((group, chunk.ordinal)).values(number) = page.values

  override def page(group: Int, chunk: Chunk, number: Option[Int], page: OpenedHeader, length: Int): Unit =
    chunks((group, chunk.ordinal)).add(number, page, length)
}

/**
 * A file with its sound pages. For one thread.
 *
 * @param deviations columns that are not protected as the reader asks, by their paths
 */
final class RecoveredFile private[recover] (
    file: OpenFile,
    input: ColumnPages,
    counters: ReadCounters,
    found: Found,
    findings: Findings,
    deviations: Map[Seq[String], PmeException],
    unauthenticated: Boolean
) extends Closeable {
  private val writer = PageValues.writerOf(file.fileMetaData.getCreatedBy)

  /** Schema, key-value metadata and writer. */
  def metadata: FileMetaData = file.fileMetaData

  /** All row groups, each found out about when it is asked for. */
  def groups: Iterator[RecoveredGroup] = Iterator.range(0, file.rowGroupCount).map(group)

  private def group(group: Int): RecoveredGroup = {
    val rows = file.rowCount(group)
    if (rows > RecoveredFile.MostRows)
      throw PmeErrors.unsupported(
        file.version.path.toString,
        s"the recovery of a row group of $rows rows",
        s"it counts at most ${RecoveredFile.MostRows} rows",
        "Recover the other files."
      )
    val columns = file.leaves.zipWithIndex.map { case (leaf, ordinal) => columnOf(group, leaf, ordinal, rows.toInt) }
    new RecoveredGroup(input, group, rows.toInt, columns, writer)
  }

  private def columnOf(group: Int, leaf: LeafColumn, ordinal: Int, rows: Int): GroupColumn = {
    val reasons = new Reasons(group, leaf.display, findings.all)
    val there = found.of(group, ordinal)
    val refused =
      deviations.get(leaf.path).orElse(there.flatMap(one => untagged(one.chunk)).filterNot(_ => unauthenticated))
    val sound = there.filter(_ => refused.isEmpty).map { one =>
      val offsets =
        try input.indexes.read(Seq(one.chunk), Set.empty).map(_.getOffsetIndex(one.chunk.meta.getPath))
        catch { case failed: PmeException if !PmeException.isOfCancelled(failed) => None }
      new ChunkRecovery(input, one, offsets, writer, reasons.add).sound()
    }
    val descriptor = file.schema.getColumns.get(ordinal)
    val column =
      sound.getOrElse(new SoundChunk(descriptor, None, IndexedSeq.empty, RowSet.all(rows)))
    val lost = RowSet.runs(column.lost).toList.map { case (first, until) =>
      val (condition, message) = refused.fold(reasons.of(there, column.pages, first))(failed =>
        failed.condition.name -> failed.problem
      )
      LostRows(group, leaf.display, first.toLong, (until - first).toLong, condition, message)
    }
    new GroupColumn(leaf, column, lost)
  }

  /** Why no tag covers the values of a chunk. */
  private def untagged(chunk: Chunk): Option[PmeException] = file.modules(chunk, counters) match {
    case None => Some(PmeErrors.notTagged(file.where(chunk), "it is not encrypted"))
    case Some(ciphers) if ciphers.pages.overheadBytes != ModuleFrame.GcmOverheadBytes =>
      Some(PmeErrors.notTagged(file.where(chunk), "the algorithm of its pages is AES_GCM_CTR_V1"))
    case _ => None
  }

  override def close(): Unit = input.close()
}

private object RecoveredFile {
  val MostRows: Int = Int.MaxValue - 64
}

/** Why pages of one chunk are lost. */
private final class Reasons(group: Int, column: String, findings: Seq[Finding]) {
  private val own = mutable.ArrayBuffer.empty[(Option[Int], (String, String))]
  findings
    .filter(one => one.rowGroup.forall(_ == group) && one.column.forall(_ == column))
    .filterNot(_.module.exists(Reasons.OfIndexes))
    .foreach(one => own += (one.page -> (one.condition -> one.message)))

  def add(page: Int, failed: PmeException): Unit =
    own += (Some(page) -> (failed.condition.name -> failed.problem))

  /** The reason why rows from one on are lost. */
  def of(found: Option[FoundChunk], sound: IndexedSeq[SoundPage], row: Int): (String, String) = {
    // The first page that is lost at or behind the page before the row.
    val before = sound.takeWhile(_.first < row).lastOption.fold(-1)(_.found.number)
    val after = sound.find(_.first > row).fold(Int.MaxValue)(_.found.number)
    own
      .collectFirst { case (Some(page), reason) if page > before && page < after => reason }
      .orElse(own.collectFirst { case (None, reason) => reason })
      .orElse(own.headOption.map(_._2))
      .getOrElse(
        (Condition.DamagedFile.name, s"nothing shows which rows the pages of column '$column' hold")
      )
  }
}

private object Reasons {

  /** Pages are found without them, or are lost for another reason. */
  val OfIndexes: Set[String] = Set(
    ModuleKind.ColumnIndex,
    ModuleKind.OffsetIndex,
    ModuleKind.BloomFilterHeader,
    ModuleKind.BloomFilterBitset
  ).map(_.name)
}

/** A leaf column of a row group. */
private[recover] final class GroupColumn(val leaf: LeafColumn, val sound: SoundChunk, val lost: Seq[LostRows])

/** The rows of a row group, and what is lost of them. For one thread. */
final class RecoveredGroup private[recover] (
    input: ColumnPages,
    val rowGroup: Int,
    val rowCount: Int,
    columns: IndexedSeq[GroupColumn],
    writer: ParsedVersion
) {
  private val byField: Map[String, IndexedSeq[GroupColumn]] = columns.groupBy(_.sound.descriptor.getPath.head)

  /** What is lost of each leaf column, in the order of columns and rows. */
  def lost: Seq[LostRows] = columns.flatMap(_.lost)

  /** The rows that have lost any part of a field of the schema. */
  def lostRows(field: String): BitSet =
    RowSet.union(byField.getOrElse(field, IndexedSeq.empty).map(_.sound.lost))

  /**
   * The pages of all columns. A reader of rows gets as many as the row group has, each in its place. Cells of
   * [[lostRows]] have NULL, or in a column that cannot have that, any value.
   */
  def pages: PageReadStore = new PageReadStore {
    private val readers: Map[ColumnDescriptor, PageReader] = byField.values.flatten.map { column =>
      val lost = lostRows(column.sound.descriptor.getPath.head)
      val reader: PageReader = new RecoveredPages(input, column.sound, rowCount, lost, writer)
      column.sound.descriptor -> reader
    }.toMap
    override def getPageReader(column: ColumnDescriptor): PageReader =
      readers.getOrElse(column, throw new IllegalArgumentException(s"internal error: there is no $column"))
    override def getRowCount: Long = rowCount.toLong
  }
}
