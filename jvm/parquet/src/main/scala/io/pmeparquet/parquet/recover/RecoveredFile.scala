package io.pmeparquet.parquet.recover

import java.io.Closeable
import java.util.BitSet

import scala.collection.mutable

import org.apache.parquet.column.page.{PageReadStore, PageReader}
import org.apache.parquet.column.ColumnDescriptor
import org.apache.parquet.hadoop.metadata.FileMetaData
import org.apache.parquet.VersionParser.ParsedVersion

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.columns.LeafColumn
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.Chunk
import io.pmeparquet.parquet.file.{ColumnPages, OpenFile}
import io.pmeparquet.parquet.verify.{Finding, Findings}

/**
 * A file with its sound pages. For one thread.
 *
 * @param deviations columns that are not protected as the reader asks, by their paths
 * @param rebuiltBy the other file whose names and types it has, since its own footer does not open. How many rows it had is
 *   not known then: only those before the last page that was found
 */
final class RecoveredFile private[recover] (
    file: OpenFile,
    input: ColumnPages,
    counters: ReadCounters,
    found: Found,
    findings: Findings,
    deviations: Map[Seq[String], PmeException],
    unauthenticated: Boolean,
    val rebuiltBy: Option[String]
) extends Closeable {
  private val writer = PageValues.writerOf(file.fileMetaData.getCreatedBy)

  /** Schema, key-value metadata and writer. */
  def metadata: FileMetaData = file.fileMetaData

  /** All row groups, each found out about when it is asked for. */
  def groups: Iterator[RecoveredGroup] = Iterator.range(0, file.rowGroupCount).map(group)

  private def group(group: Int): RecoveredGroup = {
    val rows = file.rowCount(group)
    val columns = file.leaves.zipWithIndex.map { case (leaf, ordinal) =>
      columnOf(group, leaf, ordinal, rows.toInt)
    }
    val fields = columns.groupBy(_.sound.descriptor.getPath.head).values.filter(_.size > 1)
    val repeated = new RepeatedField(input, file.schema, rows.toInt, writer)
    fields.filter(_.exists(_.sound.descriptor.getMaxRepetitionLevel > 0)).foreach { field =>
      val other = repeated.disagreements(field.map(_.sound), RowSet.union(field.map(_.sound.lost)))
      field.head.lose(other, Condition.DamagedFile.name, "the columns of this field state different items.")
    }
    // A row that has lost a part of a field has lost the field.
    fields.foreach { field =>
      val all = RowSet.union(field.map(_.sound.lost))
      field.foreach { column =>
        val rest = all.clone.asInstanceOf[BitSet]
        rest.andNot(column.sound.lost)
        val other = field.flatMap(_.lost).headOption
        other.foreach(one =>
          column.lose(rest, one.condition, s"column '${one.column}' of the same field is lost.")
        )
      }
    }
    new RecoveredGroup(input, group, rows.toInt, columns, writer)
  }

  private def columnOf(group: Int, leaf: LeafColumn, ordinal: Int, rows: Int): GroupColumn = {
    val reasons = new Reasons(group, leaf.display, findings.all)
    val there = found.of(group, ordinal)
    def noTag = if (unauthenticated) None else untagged(group, leaf, there.map(_.chunk))
    val refused = deviations.get(leaf.path).orElse(noTag)
    val sound = there.filter(_ => refused.isEmpty).map { one =>
      val offsets =
        try input.indexes.read(Seq(one.chunk), Set.empty).map(_.getOffsetIndex(one.chunk.meta.getPath))
        catch { case failed: PmeException if !PmeException.isOfCancelled(failed) => None }
      new ChunkRecovery(input, one, offsets, writer, reasons.add, isRebuilt = rebuiltBy.isDefined).sound()
    }
    val descriptor = file.schema.getColumns.get(ordinal)
    val column =
      sound.getOrElse(new SoundChunk(descriptor, None, IndexedSeq.empty, RowSet.all(rows)))
    val lost = RowSet.runs(column.lost).toList.map { case (first, until) =>
      val (condition, message) = refused
        .fold(reasons.of(there, column.pages, first))(failed => failed.condition.name -> failed.problem)
      LostRows(group, leaf.display, first.toLong, (until - first).toLong, condition, message)
    }
    new GroupColumn(group, leaf, column, lost)
  }

  /** Why no tag covers the values of a chunk. */
  private def untagged(group: Int, leaf: LeafColumn, chunk: Option[Chunk]): Option[PmeException] = {
    val where = s"${file.version.path}, column '${leaf.display}'"
    if (!file.chunkOf(file.groups(group), leaf.path).isSetCrypto_metadata)
      Some(PmeErrors.notTagged(where, "it is not encrypted"))
    else
      chunk
        .flatMap(file.modules(_, counters))
        .filter(_.pages.overheadBytes != ModuleFrame.GcmOverheadBytes)
        .map(_ => PmeErrors.notTagged(where, "the algorithm of its pages is AES_GCM_CTR_V1"))
  }

  override def close(): Unit = input.close()
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

/** A leaf column of a row group, and what is lost of it. For one thread. */
private[recover] final class GroupColumn(
    group: Int,
    leaf: LeafColumn,
    val sound: SoundChunk,
    first: Seq[LostRows]
) {
  private val all = mutable.ArrayBuffer(first: _*)

  def lost: Seq[LostRows] = all.toList

  /** More rows are lost. */
  def lose(rows: BitSet, condition: String, message: String): Unit = {
    sound.lost.or(rows)
    all ++= RowSet.runs(rows).map { case (start, until) =>
      LostRows(group, leaf.display, start.toLong, (until - start).toLong, condition, message)
    }
  }
}

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

  /** The rows that have lost a field of the file's schema. */
  def lostRows(field: String): BitSet = RowSet.union(
    byField
      .getOrElse(field, throw new IllegalArgumentException(s"internal error: no $field"))
      .map(_.sound.lost)
  )

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
