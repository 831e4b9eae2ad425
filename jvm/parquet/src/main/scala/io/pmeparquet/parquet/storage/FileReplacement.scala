package io.pmeparquet.parquet.storage

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, StandardCopyOption}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.Options.Rename
import org.apache.hadoop.io.IOUtils

import io.pmeparquet.PmeErrors

/**
 * Replaces a file with another. Anyone who reads it, even after this process was killed, gets one or the other, whole.
 * ''Executor only.''
 */
private[pmeparquet] final class FileReplacement private (place: Place, conf: Configuration) {
  import place.{fs, isLocal, path, raw, scheme}
  import FileReplacement._

  /** Whether the path is in an object store, which cannot rename. */
  def inStore: Boolean = Stores.contains(scheme)

  /**
   * @param like the file whose permissions the new file gets
   * @param unchanged fails if the file to replace is no longer what it was; called last
   */
  def write(like: FileStatus, unchanged: () => Unit)(content: OutputStream => Unit): Unit =
    if (inStore) writeInPlace(unchanged)(content) else writeStaged(like, unchanged)(content)

  /** Call this before closing a file that [[take]] will move: a crash of the machine must not lose the file. */
  def sync(out: FSDataOutputStream): Unit = if (Renaming.contains(scheme)) out.hsync()

  /**
   * Puts a complete file, on the same file system, in the place. Object stores copy it.
   *
   * @param like as in [[write]]
   * @param unchanged as in [[write]]
   */
  def take(complete: Path, like: FileStatus, unchanged: () => Unit): Unit = {
    val real = Place.of(complete, conf).path
    if (inStore) writeInPlace(unchanged)(copyOf(real, _))
    else {
      // Hadoop's local file system with checksums does not sync.
      if (isLocal) LocalFiles.force(LocalFiles.of(real))
      OwnFiles.setPermission(real, like.getPermission, conf)
      raw.setReplication(real, like.getReplication)
      unchanged()
      moveOver(real)
    }
  }

  private def copyOf(file: Path, out: FSDataOutputStream): Unit = {
    val length = fs.getFileStatus(file).getLen
    val in = fs.open(file)
    try IOUtils.copyBytes(in, out, BufferBytes, /* close= */ false)
    finally in.close()
    // A truncated copy must not replace the original, and closing the stream would do that.
    if (out.getPos != length)
      throw new IOException(s"only ${out.getPos} of $length bytes of $file were copied")
  }

  private def writeStaged(like: FileStatus, unchanged: () => Unit)(content: OutputStream => Unit): Unit = {
    val staged = new Path(path.getParent, StagedPrefix + UUID.randomUUID())
    try {
      val out = OwnFiles.create(staged, like, conf)
      try {
        content(out)
        out.hsync()
      } finally out.close()
      OwnFiles.setPermission(staged, like.getPermission, conf)
      unchanged()
      moveOver(staged)
    } catch {
      case failed: Throwable =>
        try OwnFiles.delete(staged, conf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  private def moveOver(staged: Path): Unit =
    if (isLocal) {
      // Before the move, and for good: Hadoop's local file system deletes a file whose checksums belong to another, and
      // a reader that opens one before the move and the other after it would see exactly that.
      raw.delete(checksums, false)
      Files.move(LocalFiles.of(staged), LocalFiles.of(path), StandardCopyOption.ATOMIC_MOVE)
      ()
    } else FileContext.getFileContext(fs.getUri, conf).rename(staged, path, Rename.OVERWRITE)

  private def writeInPlace(unchanged: () => Unit)(content: FSDataOutputStream => Unit): Unit = {
    val out = fs.create(path, true)
    // Closing puts the file in place, so an incomplete one is never closed.
    try {
      content(out)
      unchanged()
    } catch {
      case failed: Throwable =>
        try out.abort()
        catch {
          case more @ (_: IOException | _: UnsupportedOperationException) => failed.addSuppressed(more)
        }
        throw failed
    }
    out.close()
  }

  def delete(): Unit = {
    raw.delete(path, false)
    if (isLocal) raw.delete(checksums, false)
    ()
  }

  private def checksums = new Path(path.getParent, s".${path.getName}.crc")
}

private[pmeparquet] object FileReplacement {

  /**
   * The prefix of files that are staged next to those that they will replace: every reader ignores it, and no writer
   * uses it. Rotation was the first to stage files. The name stays, since other versions leave such files behind when
   * they are killed, and look for them.
   */
  val StagedPrefix = ".pme-rotation-"

  /** File systems where a rename replaces a file in one step. */
  private val Renaming = Set("file", Place.Hdfs)

  /** File systems where a file appears on close, and replaces the one before it. */
  private val Stores = Set("s3a", "s3", "gs")

  private val BufferBytes = 1024 * 1024

  /** @throws io.pmeparquet.PmeException if its file system gives no such guarantee */
  def of(path: Path, conf: Configuration): FileReplacement = {
    val place = Place.of(path, conf)
    if (!Renaming.contains(place.scheme) && !Stores.contains(place.scheme))
      throw PmeErrors.unsupported(
        path.toString,
        s"replacing a file on '${place.scheme}'",
        "this file system does not guarantee that a file is replaced in one step, so a file could be lost",
        s"Work on a copy on one of ${(Renaming ++ Stores).toSeq.sorted.mkString(", ")}."
      )
    if (place.isLocal && Files.isSymbolicLink(place.local))
      throw PmeErrors.unsupported(
        path.toString,
        "replacing a symbolic link",
        "the link would be replaced, and not the file that it leads to",
        "Name the table that has the file itself, or replace the link with the file."
      )
    new FileReplacement(place, conf)
  }

  /** The file system without checksum files next to its files. */
  def unchecked(fs: FileSystem): FileSystem = Place.unchecked(fs)
}
