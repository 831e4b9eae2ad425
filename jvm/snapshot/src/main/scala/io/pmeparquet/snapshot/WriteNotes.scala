package io.pmeparquet.snapshot

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.options.NumberedWrite
import io.pmeparquet.parquet.storage.{Found, OwnFiles}
import io.pmeparquet.Sha256

/**
 * Notes that appends of series leave in the directory of snapshots while they run: files that no version lists may be theirs.
 * A note counts until a version has its number. Nobody seals a note, so whoever can write to the storage can plant one.
 * ''Driver only.''
 */
final class WriteNotes(directory: SnapshotDirectory, conf: Configuration) {
  import WriteNotes._

  /**
   * Notes that an append begins.
   *
   * @param run names this attempt
   * @param since when the first attempt began; none for this one
   */
  def begin(write: NumberedWrite, run: String, since: Option[Long]): Unit =
    directory.write(
      s"${nameOf(write.series)}-$run",
      s"${write.number}\n$run\n${since.getOrElse("")}\n".getBytes(UTF_8)
    )

  /** The notes of one write. */
  def of(write: NumberedWrite): Seq[WriteNote] =
    below(nameOf(write.series)).filter(_.number == write.number)

  /** Whether a series has notes, of whatever write. */
  def has(series: String): Boolean = below(nameOf(series)).nonEmpty

  def end(note: WriteNote): Unit = OwnFiles.delete(note.path, conf)

  /** The notes of writes that the table does not have: by its series, the number of the last one. */
  def open(writes: Map[String, Long]): Seq[WriteNote] = {
    val last = writes.map { case (series, number) => nameOf(series) -> number }
    below(Prefix).filterNot { note =>
      last.get(note.path.getName.take(Prefix.length + DigitsOfName)).exists(_ >= note.number)
    }
  }

  private def below(prefix: String): Seq[WriteNote] =
    directory.list().toSeq.flatten.map(_.getPath).filter(_.getName.startsWith(prefix)).flatMap(read)

  private def read(path: Path): Option[WriteNote] = OwnFiles.find(path, conf) match {
    case Found.File(length) if length <= MostBytes =>
      val fs = path.getFileSystem(conf)
      val in = fs.open(path)
      val bytes = new Array[Byte](length.toInt)
      try in.readFully(0, bytes)
      finally in.close()
      new String(bytes, UTF_8).split("\n", -1) match {
        case Array(number, run, since, "") =>
          def made = fs.getFileStatus(path).getModificationTime
          Try(WriteNote(path, number.toLong, run, if (since.isEmpty) made else since.toLong)).toOption
        case _ => None
      }
    case _ => None
  }
}

/**
 * @param number of the write in its series
 * @param run names the attempt
 * @param since when the first attempt began, in milliseconds since 1970
 */
final case class WriteNote(path: Path, number: Long, run: String, since: Long)

private object WriteNotes {
  private val Prefix = ".pme-write-"
  private val MostBytes = 1024L
  private val DigitsOfName = 20

  // The name of a series may hold anything.
  private def nameOf(series: String) =
    Prefix + Sha256.hex(Sha256.ofBytes(series.getBytes(UTF_8))).take(DigitsOfName)
}
