package io.pmeparquet.parquet.verify

import java.io.IOException

import scala.collection.mutable
import scala.util.hashing.MurmurHash3
import scala.util.Random

import org.apache.hadoop.fs.ChecksumException

import io.pmeparquet.{PmeErrors, PmeException}
import io.pmeparquet.cipher.ModuleKind
import io.pmeparquet.parquet.bytes.ReadCounters
import io.pmeparquet.parquet.chunk.{Chunk, OpenedHeader}
import io.pmeparquet.parquet.file.OpenFile
import io.pmeparquet.parquet.inspect.FoundProtection

/**
 * Something wrong with a file, usually a module that does not open. Without a module, it is about a whole column chunk;
 * without a row group, about the column in the whole file. ''Crosses the wire''.
 *
 * @param column its name in Spark
 * @param page its number among the data pages of its column chunk
 * @param module the specification's name of it
 * @param condition a condition of ours, or the class name of the storage's exception
 */
final case class Finding(
    file: String,
    rowGroup: Option[Int] = None,
    column: Option[String] = None,
    page: Option[Int] = None,
    module: Option[String] = None,
    condition: String = "",
    message: String = ""
) {

  /** The same finding, about a whole column chunk. */
  private[verify] def inChunk(group: Int, chunk: Chunk): Finding =
    copy(rowGroup = Some(group), column = Some(chunk.display))

  /** The same finding, about one module of a column chunk. */
  private[verify] def inModule(group: Int, chunk: Chunk, kind: ModuleKind): Finding =
    inChunk(group, chunk).copy(module = Some(kind.name))

  private[verify] def because(failed: PmeException): Finding =
    copy(condition = failed.condition.name, message = failed.problem)
}

/**
 * Counts what a verification opened. ''Crosses the wire''.
 *
 * @param modules modules with a verified tag, including the signature of a readable footer
 * @param untaggedPages pages under AES_GCM_CTR_V1: only their length, and their checksum if they have one, shows damage
 * @param skippedPages data pages that the sample omits; only their headers are opened
 * @param bytes the number of bytes read
 */
final case class Opened(
    files: Long = 0,
    modules: Long = 0,
    untaggedPages: Long = 0,
    skippedPages: Long = 0,
    bytes: Long = 0
) {
  def +(other: Opened): Opened = Opened(
    files + other.files,
    modules + other.modules,
    untaggedPages + other.untaggedPages,
    skippedPages + other.skippedPages,
    bytes + other.bytes
  )
}

/** ''Crosses the wire''. */
final case class Verified(
    findings: Seq[Finding],
    opened: Opened,
    unprotected: Unprotected = Unprotected()
)

/** The counters of one file's verification. */
private[parquet] final class Counters {
  val tagged = new ReadCounters
  val untagged = new ReadCounters
  var skippedPages = 0L

  def opened: Opened =
    Opened(1, tagged.modules.sum, untagged.modules.sum, skippedPages, tagged.bytes.sum + untagged.bytes.sum)
}

/** The findings in one file. */
private[parquet] final class Findings(file: Finding) {
  private val found = mutable.ArrayBuffer.empty[Finding]

  // A List, not a Seq: in Scala 2.12 a Seq may be a Stream, which must not be serialised.
  def all: List[Finding] = found.toList

  /** The result of opening something; a failure becomes a finding. */
  def attempt[A](place: Finding => Finding)(open: => A): Option[A] = trial(open) match {
    case Right(opened) => Some(opened)
    case Left(failed) =>
      add(place, failed)
      None
  }

  /** The result of opening something, or why it does not open; a storage failure ends the verification. */
  def trial[A](open: => A): Either[PmeException, A] =
    try Right(open)
    catch {
      case failed: PmeException if !PmeException.isOfCancelled(failed) => Left(failed)
      case bad: ChecksumException =>
        Left(
          PmeErrors.damaged(file.file, "a checksum of the file system does not match", bad)
        )
    }

  def add(place: Finding => Finding, failed: PmeException, more: String = ""): Unit = {
    val one = place(file).because(failed)
    found += one.copy(message = one.message + more)
  }

  /** Adds it once for each place and reason. */
  def addOnce(place: Finding => Finding, failed: PmeException): Unit =
    if (!found.contains(place(file).because(failed))) add(place, failed)

  def ofStorage(failed: IOException): Unit =
    found += file.copy(condition = failed.getClass.getName, message = PmeException.firstLine(failed))
}

/**
 * The parts of a file without modules, which therefore cannot fail to open. ''Crosses the wire''.
 *
 * @param files 1 for a plaintext file
 * @param readable columns of an encrypted file that have no key in at least one row group
 * @param encrypted columns of it that have a key in at least one row group
 */
final case class Unprotected(
    files: Long = 0,
    readable: Set[String] = Set.empty,
    encrypted: Set[String] = Set.empty
)

private[parquet] object Unprotected {

  def of(file: OpenFile): Unprotected =
    if (!file.isEncrypted) Unprotected(files = 1)
    else {
      val chunks = FoundProtection.chunks(file.footer, file.version.path)
      val (readable, encrypted) = FoundProtection.of(chunks)(_ => None).partition(_.isReadable)
      Unprotected(0, readable.map(_.column).toSet, encrypted.map(_.column).toSet)
    }
}

/**
 * The part of a table to verify, the same in every run. ''Crosses the wire''.
 *
 * @param files the fraction of files
 * @param pages the fraction of data pages in them; all other modules are opened
 */
final case class Sample(files: Double = 1, pages: Double = 1, seed: Long = 0) {
  Seq("sample.files" -> files, "sample.pages" -> pages).foreach { case (name, fraction) =>
    if (!(fraction > 0 && fraction <= 1))
      throw PmeErrors.badOption(name, fraction.toString, "a fraction above 0 and up to 1")
  }

  /** The sample of some files, in their order: at least one. */
  def of[A](all: Seq[A]): Seq[A] =
    if (files == 1) all
    else {
      val chosen = new Random(seed).shuffle(all.indices.toList).take(math.ceil(files * all.size).toInt).toSet
      all.zipWithIndex.collect { case (one, index) if chosen(index) => one }
    }

  /** @param file the file's name */
  def takes(file: String, rowGroup: Int, column: Int, page: Int): Boolean =
    pages == 1 || {
      val hash = MurmurHash3.productHash((file, seed, rowGroup, column, page))
      Integer.toUnsignedLong(hash).toDouble < pages * Sample.Hashes
    }
}

object Sample {
  private val Hashes = math.pow(2, Integer.SIZE.toDouble)
}

/**
 * A file under verification, and the place for its findings. For one thread.
 *
 * @param sample the pages to open
 * @param goOn called often; throws if the work is no longer wanted
 * @param found gets what opens
 */
private[parquet] final class Examined(
    val file: OpenFile,
    val allowClearLevels: Boolean,
    val sample: Sample,
    val counters: Counters,
    val findings: Findings,
    val goOn: () => Unit,
    val found: FoundParts = NoParts
) {
  def name: String = file.version.path.toString
}

/** Gets the parts of a file that open, in their order. For one thread. */
private[parquet] trait FoundParts {

  /** Whether it wants the chunks without a key as well. */
  def wantsPlaintext: Boolean

  /** A chunk whose metadata opens. */
  def chunk(group: Int, chunk: Chunk): Unit

  /** A data page whose header opens. */
  def header(group: Int, chunk: Chunk, number: Int, page: OpenedHeader): Unit

  /**
   * A page whose header and body open.
   *
   * @param number none for the dictionary
   * @param length of its body
   */
  def page(group: Int, chunk: Chunk, number: Option[Int], page: OpenedHeader, length: Int): Unit
}

private object NoParts extends FoundParts {
  override def wantsPlaintext: Boolean = false
  override def chunk(group: Int, chunk: Chunk): Unit = ()
  override def header(group: Int, chunk: Chunk, number: Int, page: OpenedHeader): Unit = ()
  override def page(group: Int, chunk: Chunk, number: Option[Int], page: OpenedHeader, length: Int): Unit = ()
}
