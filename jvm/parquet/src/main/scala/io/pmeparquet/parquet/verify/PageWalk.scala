package io.pmeparquet.parquet.verify

import java.io.ByteArrayInputStream

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import org.apache.parquet.format.Util

import io.pmeparquet.{Condition, PmeErrors}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileTail, Limits, ThriftBounds}
import io.pmeparquet.parquet.chunk._

/**
 * Walks over all pages of one encrypted column chunk. A page that does not open does not hide later ones: the walk
 * finds the next page from the header, or if that does not open, from the offset index or the lengths before modules.
 * Nothing authenticates those lengths, so the walk believes one only if a module opens at the offset that it leads to.
 *
 * @param offsets the content of the chunk's offset index
 */
private[verify] final class PageWalk(
    examined: Examined,
    window: Window,
    group: Int,
    chunk: Chunk,
    offsets: Option[Array[Byte]]
) {
  import examined.{counters, file, findings}
  private val where = s"${examined.name}, column '${chunk.display}'"
  private var reader = readerOf(examined.allowClearLevels)

  /** Whether pages open only because this walk, other than the reader, opens levels outside modules. */
  private var opensMore = false
  private var values = 0L
  private var end = 0L

  /** Whether all headers have opened, so that the values can be counted. */
  private var complete = true

  def run(): Unit =
    findings.attempt(_.inChunk(group, chunk))(file.boundsOf(chunk)).foreach { case (start, until) =>
      end = until
      window.limitTo(until)
      val first = if (hasDictionary(start)) page(start, None) else Some(start)
      first.foreach(dataPages(_, 0))
      if (complete) findings.attempt(_.inChunk(group, chunk))(reader.requireAll(values))
    }

  /** In a chunk without a key, only the first header shows whether it is one of a dictionary. */
  private def hasDictionary(start: Long): Boolean = chunk.mayHaveDictionary &&
    (chunk.key.isDefined || findings.trial(reader.headerAt(window, start, None)).forall(_._1.isDictionary))

  @tailrec
  private def dataPages(at: Long, number: Int): Unit =
    if (at < end) {
      examined.goOn()
      page(at, Some(number)) match {
        case Some(next) => dataPages(next, number + 1)
        case None => ()
      }
    }

  private def readerOf(clearLevels: Boolean) = new CompressedPageReader(source(counters), clearLevels)

  private def source(counters: Counters) = new ChunkSource(chunk, modules(counters), examined.name)

  /** Counts pages without a tag separately. */
  private def modules(counters: Counters): Option[ChunkModules] =
    file.modules(chunk, counters.tagged).map { all =>
      if (all.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) all
      else new ChunkModules(all.headers, file.modules(chunk, counters.untagged).get.pages)
    }

  private def in(kind: ModuleKind, number: Option[Int])(file: Finding) =
    file.inModule(group, chunk, kind).copy(page = number)

  /**
   * @param number none for the dictionary
   * @return the offset of the next page; none if nothing shows it
   */
  private def page(at: Long, number: Option[Int]): Option[Long] =
    findings.trial(reader.headerAt(window, at, number)) match {
      case Right((page, length)) =>
        if (!page.isDictionary) {
          values += page.values
          examined.found.header(group, chunk, number.getOrElse(0), page)
        }
        if (isWanted(number)) body(page, length, number)
        Some(at + page.headerBytes + length)
      case Left(failed) =>
        complete = false
        val body = frameEnd(at)
        val next = nextByIndex(at, number).orElse(
          // Without keys, nothing shows whether a header is one.
          body.filter(_ => chunk.key.isDefined).flatMap(nextByFrame(_, number))
        )
        val kind = if (number.isEmpty) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader
        findings.add(in(kind, number), failed, if (next.isEmpty) PageWalk.NoNext else "")
        for (from <- body; until <- next if frameEnd(from).contains(until) && isWanted(number))
          bodyWithoutHeader(at, from, until, number)
        next
    }

  private def isWanted(number: Option[Int]) = number.forall { page =>
    val wanted = examined.sample.takes(file.version.path.getName, group, chunk.ordinal, page)
    if (!wanted) counters.skippedPages += 1
    wanted
  }

  @tailrec
  private def body(page: OpenedHeader, length: Int, number: Option[Int]): Unit =
    findings.trial {
      val whole = page.in(segment(page.place.offset, page.headerBytes.toLong + length))
      reader.open(whole, reader.end(whole))
    } match {
      case Right(()) => if (!opensMore) examined.found.page(group, chunk, number, page, length)
      case Left(failed) =>
        findings.add(in(page.kind, number), failed)
        // Levels outside modules: reported once per chunk, whose modules are still opened.
        if (failed.condition == Condition.Unsupported) {
          reader = readerOf(clearLevels = true)
          opensMore = true
          body(page, length, number)
        }
    }

  private def bodyWithoutHeader(at: Long, from: Long, until: Long, number: Option[Int]): Unit = {
    val kind = if (number.isEmpty) ModuleKind.DictionaryPage else ModuleKind.DataPage
    findings.attempt(in(kind, number)) {
      val place = PagePlace(segment(at, until - at), at, number.getOrElse(0), None)
      reader.open(place, place.index + (from - at).toInt, place.index + (until - at).toInt, kind)
    }
    ()
  }

  /** The bytes of a whole page. */
  private def segment(at: Long, length: Long) = {
    if (length > Limits.PageBytes)
      throw PmeErrors.damaged(
        where,
        s"the length of a page is $length bytes; with this heap size at most ${Limits.PageBytes} are accepted"
      )
    window.from(at, length)
  }

  /** As [[Window.frameEnd]]; none if the length there cannot be read. */
  private def frameEnd(at: Long): Option[Long] =
    findings.trial(window.frameEnd(at)).toOption.flatten

  private lazy val places: IndexedSeq[Long] = offsets.fold(IndexedSeq.empty[Long]) { content =>
    findings
      .trial(FileTail.parse(where, "its offset index") {
        val struct = ThriftBounds.end(content, 0, content.length)
        Util.readOffsetIndex(new ByteArrayInputStream(content, 0, struct)).getPage_locations.asScala
      })
      .fold(_ => IndexedSeq.empty, _.map(_.getOffset).toIndexedSeq)
  }

  private def nextByIndex(at: Long, number: Option[Int]): Option[Long] = {
    val next = number match {
      case None => places.headOption
      case Some(page) if places.lift(page).contains(at) => Some(places.lift(page + 1).getOrElse(end))
      case _ => None
    }
    next.filter(offset => offset > at && offset <= end)
  }

  /** @param body the offset of the page's own body */
  private def nextByFrame(body: Long, number: Option[Int]): Option[Long] = frameEnd(body).filter { next =>
    lazy val other = new CompressedPageReader(source(new Counters), allowClearLevels = true)
    next == end || findings.trial(other.headerAt(window, next, Some(number.fold(0)(_ + 1)))).isRight
  }
}

private object PageWalk {
  val NoNext = " The pages after it were not opened, because their offsets are not known."
}
