package io.pmeparquet.parquet.bytes

import java.io.{Closeable, EOFException, IOException}
import java.lang.reflect.InvocationTargetException
import java.nio.ByteBuffer
import java.util.concurrent.{CompletableFuture, ExecutionException}
import java.util.function.IntFunction

import scala.collection.mutable
import scala.collection.JavaConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FSInputChecker}

import io.pmeparquet.PmeErrors

/**
 * Reads parts of one file in few large requests, neighbours together. For one thread.
 *
 * @param before the part of the file that is in memory already
 */
private[parquet] final class FileBytes(
    val file: FileVersion,
    conf: Configuration,
    counters: ReadCounters,
    before: Option[Segment] = None
) extends Closeable {
  private var known = before
  private var stream: FSDataInputStream = _

  /** Reads a range now, to answer later requests for parts of it. */
  def keep(range: Range): Unit = known = Some(read(range))

  /**
   * @throws io.pmeparquet.PmeException if the range exceeds the file
   * @throws java.io.IOException if storage fails
   */
  def read(range: Range): Segment = known.filter(_.holds(range)).fold(fetch(range))(_.slice(range))

  /** @return the segment of each range, in the order of the ranges */
  def readAll(ranges: Seq[Range]): Seq[Segment] = {
    val (had, missing) = ranges.partition(range => known.exists(_.holds(range)))
    val segments = had.map(read) ++ fetchAll(FileBytes.merged(missing))
    ranges.map(range => segments.find(_.holds(range)).get.slice(range))
  }

  /** As [[read]], into an array of a caller who goes through the file: the stream continues from its position. */
  def readInto(range: Range, array: Array[Byte], at: Int): Unit = known.filter(_.holds(range)) match {
    case Some(had) =>
      val part = had.slice(range)
      System.arraycopy(part.array, part.at, array, at, range.length)
    case None =>
      counted(range)(readOn(range, array, at))
  }

  private def fetchAll(ranges: Seq[Range]): Seq[Segment] =
    if (ranges.size > 1 && VectoredReads.serves(opened)) {
      ranges.foreach(requireInFile)
      val segments = whole(ranges.last)(VectoredReads.read(opened, ranges))
      ranges.foreach(count)
      segments
    } else ranges.map(fetch)

  private def fetch(range: Range): Segment = counted(range) {
    val bytes = new Array[Byte](range.length)
    if (positionedReadsReopen) readOn(range, bytes, 0)
    else opened.readFully(range.offset, bytes, 0, range.length)
    new Segment(bytes, 0, range.offset, range.length)
  }

  /** Moves the stream to a range and reads it there. */
  private def readOn(range: Range, array: Array[Byte], at: Int): Unit = {
    opened.seek(range.offset)
    opened.readFully(array, at, range.length)
  }

  /**
   * Hadoop's checksummed file systems, including the local one, reopen the file and its checksums for each read by
   * position. After a seek, HDFS reads on to the end of the block, so a read by position is cheaper there for a part of
   * a file; S3A treats both alike.
   */
  private def positionedReadsReopen: Boolean = opened.getWrappedStream.isInstanceOf[FSInputChecker]

  private def counted[A](range: Range)(read: => A): A = {
    requireInFile(range)
    val done = whole(range)(read)
    count(range)
    done
  }

  private def opened: FSDataInputStream = {
    if (stream == null) stream = file.open(conf)
    stream
  }

  private def requireInFile(range: Range): Unit =
    if (range.offset < 0 || range.length < 0 || range.offset > file.length - range.length)
      throw PmeErrors.damaged(
        file.path.toString,
        s"the file has ${file.length} bytes, but refers to bytes ${range.offset} to ${range.end}"
      )

  private def whole[A](range: Range)(read: => A): A =
    try read
    catch {
      case cut: EOFException =>
        // A file that still has the bytes is not cut: its connection is.
        if (file.isRecovered && FileVersion.of(file.path, conf).length >= range.end)
          // Without its cause, by which callers would take it for damage.
          throw new IOException(s"${file.path}: storage sent less than bytes ${range.offset} to ${range.end}")
        throw PmeErrors.damaged(file.path.toString, "the data ends too early", cut)
    }

  private def count(range: Range): Unit = {
    counters.reads.increment()
    counters.bytes.add(range.length.toLong)
  }

  override def close(): Unit = if (stream != null) stream.close()
}

private[parquet] object FileBytes {

  /** Reading this many unwanted bytes is quicker than another request to an object store. */
  private val MaxGapBytes = 64 * 1024

  /** The garbage collector is slow to provide larger arrays, and larger reads gain nothing. */
  private val MaxMergedBytes = 16 * 1024 * 1024

  private[parquet] def merged(ranges: Seq[Range]): Seq[Range] = {
    val result = mutable.ArrayBuffer.empty[Range]
    ranges.sortBy(_.offset).foreach { range =>
      result.lastOption match {
        case Some(last) if range.end <= last.end => ()
        case Some(last)
            if range.offset - last.end <= MaxGapBytes && range.end - last.offset <= MaxMergedBytes =>
          result(result.size - 1) = Range(last.offset, (range.end - last.offset).toInt)
        case _ => result += range
      }
    }
    result.toSeq
  }
}

/** A part of a file: `length` bytes from `offset` on. */
private[parquet] final case class Range(offset: Long, length: Int) {
  def end: Long = offset + length
}

/** Bytes of a file, at any place in an array: byte `offset` of the file is `array(at)`. */
private[parquet] final class Segment(val array: Array[Byte], val at: Int, val offset: Long, val length: Int) {
  def end: Long = offset + length
  def until: Int = at + length

  /** Where a byte of the file is in the array. */
  def indexOf(position: Long): Int = at + (position - offset).toInt

  def copied: Array[Byte] = java.util.Arrays.copyOfRange(array, at, until)

  /** Whether it has all bytes of a range. */
  def holds(range: Range): Boolean = range.length >= 0 && range.offset >= offset && range.end <= end

  /** The bytes of a range. */
  def slice(range: Range): Segment = {
    if (!holds(range))
      throw new IllegalStateException(s"internal error: $range is not in $offset..$end")
    new Segment(array, indexOf(range.offset), range.offset, range.length)
  }
}

/**
 * Hadoop's vectored reads of many ranges at once, which object stores answer in parallel. Hadoop has them since 3.3.5;
 * Spark 3.5 ships an older version, so this class finds them by reflection.
 */
private[parquet] object VectoredReads {
  private final class Api(loader: ClassLoader) {
    private val range = Class.forName("org.apache.hadoop.fs.FileRange", true, loader)
    private val create = range.getMethod("createFileRange", java.lang.Long.TYPE, Integer.TYPE)
    private val data = range.getMethod("getData")
    private val read =
      classOf[FSDataInputStream].getMethod(
        "readVectored",
        classOf[java.util.List[_]],
        classOf[IntFunction[_]]
      )

    def apply(stream: FSDataInputStream, ranges: Seq[Range]): Seq[Segment] = {
      val wanted = ranges.map(one => create.invoke(null, Long.box(one.offset), Int.box(one.length)))
      val allocate: IntFunction[ByteBuffer] = ByteBuffer.allocate(_)
      read.invoke(stream, wanted.asJava, allocate)
      ranges.zip(wanted).map { case (one, answer) =>
        segment(one, data.invoke(answer).asInstanceOf[CompletableFuture[ByteBuffer]].get())
      }
    }

    private def segment(range: Range, buffer: ByteBuffer): Segment = {
      if (buffer.remaining < range.length)
        throw new java.io.EOFException(s"only ${buffer.remaining} of ${range.length} bytes were read")
      if (buffer.hasArray)
        new Segment(buffer.array, buffer.arrayOffset + buffer.position(), range.offset, range.length)
      else {
        val bytes = new Array[Byte](range.length)
        buffer.get(bytes)
        new Segment(bytes, 0, range.offset, range.length)
      }
    }
  }

  private lazy val api: Option[Api] =
    try Some(new Api(classOf[FSDataInputStream].getClassLoader))
    catch {
      // An older Hadoop: the caller then reads one range after the other, which is as safe and only slower.
      case _: ReflectiveOperationException => None
    }

  /** Whether the stream is faster than reading one range after the other. */
  def serves(stream: FSDataInputStream): Boolean = api.isDefined && stream.hasCapability(Capability)

  /** @param ranges in order, without overlap or contact */
  def read(stream: FSDataInputStream, ranges: Seq[Range]): Seq[Segment] =
    try api.get.apply(stream, ranges)
    catch { case failed @ (_: InvocationTargetException | _: ExecutionException) => throw failed.getCause }

  private val Capability = "in:readvectored"
}
