package io.pmeparquet.parquet.recover

import java.io.ByteArrayInputStream
import java.util.ArrayList

import scala.annotation.tailrec
import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.parquet.format._

import io.pmeparquet.{AesKey, Condition, PmeErrors, PmeException}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileBytes, FileTail, Limits, Range, ReadCounters, Segment, ThriftBounds}
import io.pmeparquet.parquet.chunk.{ChunkModules, Modules}
import io.pmeparquet.parquet.file.{FileCrypto, OpenFile}

/**
 * Makes the footer of a file whose own does not open, from the headers of its pages and from the footer of another file
 * with the same columns. The tag of a header holds the ordinals of its column and row group, and that it is the first of
 * its chunk (specification §4.4), so chunks are found where they begin. Nothing in a tag says what a column is called: names
 * and types are those of the other file. For one thread.
 *
 * @param like the other file
 * @param end where the footer begins
 * @param goOn called often; throws if the work is no longer wanted
 */
private[recover] final class RebuiltFooter(
    crypto: FileCrypto,
    bytes: FileBytes,
    end: Long,
    like: OpenFile,
    counters: ReadCounters,
    goOn: () => Unit
) {
  import RebuiltFooter._
  private val file = bytes.file.path.toString
  private val leaves = like.leaves
  private val model: RowGroup = like.groups.headOption.getOrElse(
    throw PmeErrors.damaged(
      like.version.path.toString,
      "it has no row group that shows how columns are written"
    )
  )
  private def modelOf(column: Int) = model.getColumns.get(column)

  /** The key of each column; none if it is not known, or the column has none. */
  private val keys: IndexedSeq[Option[AesKey]] = leaves.indices.map { column =>
    Option(modelOf(column).getCrypto_metadata).flatMap { metadata =>
      if (metadata.isSetENCRYPTION_WITH_FOOTER_KEY) Some(crypto.footerKey)
      // Of keys that their files wrap, each file has another one. With external material, or direct keys, the other
      // file's metadata names this file's as well. If it is the wrong one, nothing opens.
      else
        try Some(crypto.columnKey(modelOf(column), leaves(column).display, counters))
        catch {
          // A KMS that does not answer says nothing of the file.
          case failed: PmeException
              if !PmeException.isOfCancelled(failed) && failed.condition != Condition.KmsUnavailable =>
            None
        }
    }
  }

  private val known = mutable.Map.empty[(Int, Int), Option[ChunkModules]]
  private def modules(group: Int, column: Int): Option[ChunkModules] = known.getOrElseUpdate(
    (group, column),
    keys(column).map(crypto.modules(leaves(column).display, group, column, _, counters))
  )

  /** @throws io.pmeparquet.PmeException if no page header opens */
  def metadata: FileMetaData = {
    val groups = rowGroups()
    if (groups.isEmpty) throw PmeErrors.notAuthentic(file, "its footer, and every page header,")
    val made = new FileMetaData(like.footer)
    made.setRow_groups(new ArrayList(groups.asJava))
    made.setNum_rows(groups.map(_.getNum_rows).sum)
    made
  }

  private def rowGroups(): Seq[RowGroup] = {
    val groups = mutable.ArrayBuffer.empty[RowGroup]
    var at: Option[Start] = Some(Start(0, 0, FirstPage)).filter(begins).orElse(laterStart(-1, 0, FirstPage))
    while (at.isDefined) {
      val chunks = mutable.Map.empty[Int, FoundPages]
      val group = at.get.group
      while (at.exists(_.group == group)) {
        val start = at.get
        val pages = walk(start)
        chunks(start.column) = pages
        at = next(start, pages.end)
      }
      rowsOf(chunks.toMap) match {
        case Some(rows) if group == groups.size => groups += rowGroup(group, rows, chunks.toMap)
        // Nothing shows how many rows it has; those behind it are not row groups of this file without it.
        case _ => at = None
      }
    }
    groups.toList
  }

  /** Where the next chunk begins whose key is known. */
  private def next(from: Start, at: Long): Option[Start] = laterStart(from.group, from.column + 1, at)

  /** The first place, from one on, where a later chunk begins. Chunks whose keys are unknown lie between. */
  @tailrec
  private def laterStart(group: Int, column: Int, at: Long): Option[Start] =
    if (at >= end) None
    else {
      val first = group.max(0)
      val candidates =
        leaves.indices.drop(column).map(Start(first, _, at)) ++ leaves.indices.map(Start(group + 1, _, at))
      candidates.distinct.find(begins) match {
        case found @ Some(_) => found
        case None =>
          frameEnd(at) match {
            case Some(after) => laterStart(group, column, after)
            case None => None
          }
      }
    }

  private def begins(start: Start): Boolean =
    header(start, ModuleKind.DictionaryPageHeader, 0, start.at).isDefined ||
      header(start, ModuleKind.DataPageHeader, 0, start.at).isDefined

  /** The pages of a chunk. One whose header does not open is passed over if the next one opens. */
  private def walk(start: Start): FoundPages = {
    val dictionary = header(start, ModuleKind.DictionaryPageHeader, 0, start.at)
    val first = dictionary.fold(start.at)(_._2)
    var at = first
    var number = 0
    var values = 0L
    var isComplete = true
    var goesOn = true
    while (goesOn && at < end)
      header(start, ModuleKind.DataPageHeader, number, at) match {
        case Some((page, after)) =>
          values += valuesOf(page)
          at = after
          number += 1
        case None =>
          val behind = frameEnd(at).flatMap(frameEnd)
          behind.filter(header(start, ModuleKind.DataPageHeader, number + 1, _).isDefined) match {
            case Some(after) =>
              isComplete = false
              at = after
              number += 1
            case None => goesOn = false
          }
      }
    // The last page may be damaged: then no chunk begins where it should end.
    if (at < end && !isStart(start, at)) isComplete = false
    FoundPages(dictionary.map(_ => start.at), first, at, values, isComplete)
  }

  private def isStart(from: Start, at: Long) =
    (leaves.indices.drop(from.column + 1).map(Start(from.group, _, at)) ++
      leaves.indices.map(Start(from.group + 1, _, at))).exists(begins)

  private def valuesOf(page: PageHeader): Int =
    if (page.isSetData_page_header) page.getData_page_header.getNum_values
    else if (page.isSetData_page_header_v2) page.getData_page_header_v2.getNum_values
    else 0

  /** The header of a page, and where the page ends; none if it does not open. */
  private def header(start: Start, kind: ModuleKind, number: Int, at: Long): Option[(PageHeader, Long)] =
    for {
      ciphers <- modules(start.group, start.column)
      until <- frameEnd(at)
      if until - at <= MostOfHeader
      header <- opened(ciphers.headers, at, (until - at).toInt, kind, number)
      after = until + header.getCompressed_page_size
      if header.getCompressed_page_size >= 0 && after <= end
    } yield (header, after)

  private def opened(
      cipher: Modules,
      at: Long,
      length: Int,
      kind: ModuleKind,
      number: Int
  ): Option[PageHeader] = {
    val segment = read(Range(at, length))
    try {
      val moduleEnd = cipher.end(segment.array, segment.at, segment.until, Limits.PageHeaderBytes, kind)
      val size = cipher.open(segment.array, segment.at, moduleEnd, kind, number)
      Some(FileTail.parse(file, "a page header") {
        val struct = ThriftBounds.end(cipher.plaintext, 0, size)
        Util.readPageHeader(new ByteArrayInputStream(cipher.plaintext, 0, struct))
      })
    } catch { case failed: PmeException if !PmeException.isOfCancelled(failed) => None }
  }

  private var near: Option[Segment] = None

  /** Modules are looked for one after the other, and most are short. */
  private def read(range: Range): Segment = near
    .filter(_.holds(range))
    .getOrElse {
      goOn()
      val length = (end - range.offset).min(NearBytes.max(range.length).toLong).toInt
      val found = bytes.read(Range(range.offset, length))
      near = Some(found)
      found
    }
    .slice(range)

  /** The end of the module at a place according to the length before it, if that is possible. */
  private def frameEnd(at: Long): Option[Long] =
    if (end - at < ModuleFrame.LengthBytes) None
    else {
      val found = read(Range(at, ModuleFrame.LengthBytes))
      val length = ModuleFrame.lengthAt(found.array, found.at)
      Some(length).filter(_ >= 0).map(at + ModuleFrame.LengthBytes + _).filter(_ <= end)
    }

  /** The rows of a row group, as its flat columns agree. */
  private def rowsOf(chunks: Map[Int, FoundPages]): Option[Long] = {
    val counts = chunks.toSeq.collect {
      case (column, pages) if pages.isComplete && isFlat(column) => pages.values
    }.distinct
    if (counts.size == 1) counts.headOption else None
  }

  private def isFlat(column: Int) =
    like.schema.getColumns.get(column).getMaxRepetitionLevel == 0

  private def rowGroup(group: Int, rows: Long, chunks: Map[Int, FoundPages]): RowGroup = {
    val columns = leaves.indices.map(column => chunkOf(group, column, rows, chunks.get(column)))
    val made = new RowGroup(new ArrayList(columns.asJava), 0, rows)
    made.setOrdinal(group.toShort)
    made
  }

  /** The chunk of a column. One that was not found has no metadata, so that it is lost. */
  private def chunkOf(group: Int, column: Int, rows: Long, found: Option[FoundPages]): ColumnChunk = {
    val made = new ColumnChunk(modelOf(column))
    made.unsetMeta_data()
    made.unsetEncrypted_column_metadata()
    made.unsetOffset_index_offset()
    made.unsetOffset_index_length()
    made.unsetColumn_index_offset()
    made.unsetColumn_index_length()
    found.foreach { pages =>
      val metadata = new ColumnMetaData(metadataOf(column))
      metadata.unsetStatistics()
      metadata.unsetEncoding_stats()
      metadata.unsetBloom_filter_offset()
      metadata.unsetIndex_page_offset()
      metadata.setNum_values(if (isFlat(column)) rows else pages.values.max(rows))
      metadata.setData_page_offset(pages.first)
      metadata.unsetDictionary_page_offset()
      pages.dictionary.foreach(metadata.setDictionary_page_offset)
      metadata.setTotal_compressed_size(pages.end - pages.dictionary.getOrElse(pages.first))
      metadata.setTotal_uncompressed_size(metadata.getTotal_compressed_size)
      if (made.getCrypto_metadata.isSetENCRYPTION_WITH_FOOTER_KEY) made.setMeta_data(metadata)
      else made.setEncrypted_column_metadata(crypto.sealMetadata(metadata, keys(column).get, group, column))
    }
    made
  }

  private def metadataOf(column: Int): ColumnMetaData =
    like.chunks(0, Seq(leaves(column).path), counters).chunks.head.struct.getMeta_data
}

private[recover] object RebuiltFooter {

  /** A chunk with a known key, and where it begins. */
  private final case class Start(group: Int, column: Int, at: Long)

  /**
   * @param dictionary where its dictionary is
   * @param first where its first data page is
   * @param values of the headers that open
   * @param isComplete whether all headers open
   */
  private final case class FoundPages(
      dictionary: Option[Long],
      first: Long,
      end: Long,
      values: Long,
      isComplete: Boolean
  )

  private val FirstPage = 4L
  private val NearBytes = 1 << 20
  private val MostOfHeader = Limits.PageHeaderBytes.toLong + ModuleFrame.GcmOverheadBytes
}
