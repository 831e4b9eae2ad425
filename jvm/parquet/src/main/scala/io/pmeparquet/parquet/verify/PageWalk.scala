package io.pmeparquet.parquet.verify

import java.io.ByteArrayInputStream

import scala.annotation.tailrec
import scala.collection.JavaConverters._

import org.apache.parquet.format.Util

import io.pmeparquet.{Condition, PmeErrors}
import io.pmeparquet.cipher.{ModuleFrame, ModuleKind}
import io.pmeparquet.parquet.bytes.{FileTail, Limits, ThriftBounds}
import io.pmeparquet.parquet.chunk.{
  Chunk,
  ChunkHeaders,
  ChunkModules,
  ChunkSource,
  OpenedHeader,
  PageOpener,
  PagePlace,
  Window
}

/**
 * All pages of one encrypted column chunk. A page that does not open hides no other: its header shows where the next
 * one begins, and if that does not open, the offset index or the lengths before modules do. Nothing authenticates
 * those, so they are trusted only if a module opens where they lead.
 *
 * @param offsets the content of its offset index
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
  private var opener = openerOf(examined.allowClearLevels)
  private var values = 0L
  private var end = 0L

  /** Whether all headers opened, so that values can be counted. */
  private var complete = true

  def run(): Unit = findings.attempt(inChunk)(file.boundsOf(chunk)).foreach { case (start, until) =>
    end = until
    window.limitTo(until)
    val first = if (chunk.mayHaveDictionary) page(start, None) else Some(start)
    first.foreach(dataPages(_, 0))
    if (complete) findings.attempt(inChunk)(opener.requireAll(values))
  }

  @tailrec
  private def dataPages(at: Long, number: Int): Unit =
    if (at < end) {
      examined.goOn()
      page(at, Some(number)) match {
        case Some(next) => dataPages(next, number + 1)
        case None => ()
      }
    }

  private def openerOf(clearLevels: Boolean) = new PageOpener(source(counters), clearLevels)

  private def source(counters: Counters) = new ChunkSource(chunk, modules(counters), examined.name)

  /** Pages without a tag are counted separately. */
  private def modules(counters: Counters): Option[ChunkModules] =
    file.modules(chunk, counters.tagged).map { all =>
      if (all.pages.overheadBytes == ModuleFrame.GcmOverheadBytes) all
      else new ChunkModules(all.headers, file.modules(chunk, counters.untagged).get.pages)
    }

  private def inChunk(file: Finding) = file.copy(rowGroup = Some(group), column = Some(chunk.display))
  private def in(kind: ModuleKind, number: Option[Int])(file: Finding) =
    inChunk(file).copy(page = number, module = Some(kind.name))

  /**
   * @param number none for the dictionary
   * @return where the next page begins; none if nothing shows it
   */
  private def page(at: Long, number: Option[Int]): Option[Long] =
    findings.trial(headers(opener).at(at, number)) match {
      case Right((page, length)) =>
        if (!page.isDictionary) values += page.values
        if (isWanted(number)) body(page, length, number)
        Some(at + page.headerBytes + length)
      case Left(failed) =>
        complete = false
        val body = frameEnd(at)
        val next = nextByIndex(at, number).orElse(body.flatMap(nextByFrame(_, number)))
        val kind = if (number.isEmpty) ModuleKind.DictionaryPageHeader else ModuleKind.DataPageHeader
        findings.add(in(kind, number), failed, if (next.isEmpty) PageWalk.NoNext else "")
        for (from <- body; until <- next if frameEnd(from).contains(until) && isWanted(number))
          bodyWithoutHeader(at, from, until, number)
        next
    }

  private def headers(opener: PageOpener) = new ChunkHeaders(window, end, opener, isEncrypted = true)

  private def isWanted(number: Option[Int]) = number.forall { page =>
    val wanted = examined.sample.takes(file.version.path.getName, group, chunk.ordinal, page)
    if (!wanted) counters.skippedPages += 1
    wanted
  }

  @tailrec
  private def body(page: OpenedHeader, length: Int, number: Option[Int]): Unit =
    findings.trial {
      val whole = page.in(segment(page.place.offset, page.headerBytes.toLong + length))
      opener.open(whole, opener.end(whole))
    } match {
      case Right(()) => ()
      case Left(failed) =>
        findings.add(in(page.kind, number), failed)
        // Levels outside of modules: reported once for a chunk, whose modules are opened all the same.
        if (failed.condition == Condition.Unsupported) {
          opener = openerOf(clearLevels = true)
          body(page, length, number)
        }
    }

  private def bodyWithoutHeader(at: Long, from: Long, until: Long, number: Option[Int]): Unit = {
    val kind = if (number.isEmpty) ModuleKind.DictionaryPage else ModuleKind.DataPage
    findings.attempt(in(kind, number)) {
      val place = PagePlace(segment(at, until - at), at, number.getOrElse(0), None)
      opener.open(place, place.index + (from - at).toInt, place.index + (until - at).toInt, kind)
    }
    ()
  }

  /** All of a page. */
  private def segment(at: Long, length: Long) = {
    if (length > Limits.PageBytes)
      throw PmeErrors.damaged(
        where,
        s"the length of a page is $length bytes; with this heap size at most ${Limits.PageBytes} are accepted"
      )
    window.from(at, length)
  }

  /** As [[ChunkHeaders.frameEnd]], if the bytes there can be read. */
  private def frameEnd(at: Long): Option[Long] =
    findings.trial(headers(opener).frameEnd(at)).toOption.flatten

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

  /** @param body where the page's own body begins */
  private def nextByFrame(body: Long, number: Option[Int]): Option[Long] = frameEnd(body).filter { next =>
    lazy val other = new PageOpener(source(new Counters), allowClearLevels = true)
    next == end || findings.trial(headers(other).at(next, Some(number.fold(0)(_ + 1)))).isRight
  }
}

private object PageWalk {
  val NoNext = " The pages after it were not opened, because their offsets are not known."
}
