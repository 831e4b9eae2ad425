package io.pmeparquet.parquet.bytes

import java.lang.reflect.InvocationTargetException
import java.nio.ByteBuffer
import java.util.concurrent.{CompletableFuture, ExecutionException}
import java.util.function.IntFunction

import scala.collection.JavaConverters._

import org.apache.hadoop.fs.FSDataInputStream

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
