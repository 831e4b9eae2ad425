package io.pmeparquet.parquet.files

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, StandardCopyOption}
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.hadoop.fs.Options.Rename
import org.apache.hadoop.io.IOUtils

import io.pmeparquet.PmeErrors

/**
 * Replaces a file in one step: every reader sees the old file or the new one, whole, even if this process is killed.
 * ''Executor only.''
 */
private[parquet] final class FileReplacement private (path: Path, fs: FileSystem, conf: Configuration) {
  import FileReplacement._

  private val scheme = schemeOf(fs)

  /** Whether it is in an object store, which has no renames. */
  def inStore: Boolean = Stores.contains(scheme)

  /**
   * @param like gives the permissions of the new file
   * @param unchanged fails if the old file has changed; called last
   */
  def write(like: FileStatus, unchanged: () => Unit)(content: OutputStream => Unit): Unit =
    if (inStore) writeInPlace(unchanged)(content) else writeBeside(like, unchanged)(content)

  /** Call it for a file that [[take]] will move, before the file is closed: it must survive a crash of the machine. */
  def sync(out: FSDataOutputStream): Unit = if (Renaming.contains(scheme)) out.hsync()

  /**
   * Moves a complete file of the same file system into place. In object stores it is copied.
   *
   * @param like as for [[write]]
   * @param unchanged as for [[write]]
   */
  def take(complete: Path, like: FileStatus, unchanged: () => Unit): Unit = {
    val real = resolved(complete, conf)
    if (inStore) writeInPlace(unchanged)(copyOf(real, _))
    else {
      // Hadoop's local file system with checksums does not sync.
      if (scheme == Local) LocalFiles.force(localFile(real))
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
    // Closing an incomplete file would put it in the place of the original.
    if (out.getPos != length)
      throw new IOException(s"only ${out.getPos} of $length bytes of $file were copied")
  }

  private def writeBeside(like: FileStatus, unchanged: () => Unit)(content: OutputStream => Unit): Unit = {
    val beside = new Path(path.getParent, StagedPrefix + UUID.randomUUID())
    try {
      val out = OwnFiles.create(beside, like, conf)
      try {
        content(out)
        out.hsync()
      } finally out.close()
      OwnFiles.setPermission(beside, like.getPermission, conf)
      unchanged()
      moveOver(beside)
    } catch {
      case failed: Throwable =>
        try OwnFiles.delete(beside, conf)
        catch { case more: IOException => failed.addSuppressed(more) }
        throw failed
    }
  }

  private def moveOver(beside: Path): Unit =
    if (scheme == Local) {
      // Removed first, and permanently: Hadoop's local file system removes a file whose checksums belong to another,
      // and a reader that opens one before and the other after the move would meet exactly that.
      raw.delete(checksums, false)
      Files.move(localFile(beside), localFile(path), StandardCopyOption.ATOMIC_MOVE)
      ()
    } else FileContext.getFileContext(fs.getUri, conf).rename(beside, path, Rename.OVERWRITE)

  private def writeInPlace(unchanged: () => Unit)(content: FSDataOutputStream => Unit): Unit = {
    val out = fs.create(path, true)
    // Closing publishes the file, so an incomplete file is never closed.
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
    if (scheme == Local) raw.delete(checksums, false)
    ()
  }

  private def raw: FileSystem = unchecked(fs)

  private def checksums = new Path(path.getParent, s".${path.getName}.crc")
}

private[parquet] object FileReplacement {

  /**
   * The prefix of staged files beside those that they will replace. Readers ignore it, and no writer uses it. Rotation
   * was the first to stage files. The name stays, because other versions leave such files behind when they are killed,
   * and look for them.
   */
  val StagedPrefix = ".pme-rotation-"

  private val Local = "file"

  /** File systems in which a rename replaces a file in one step. */
  private val Renaming = Set(Local, "hdfs")

  /** Object stores in which a file appears when it is closed, and replaces the one before. */
  private val Stores = Set("s3a", "s3", "gs")

  private val BufferBytes = 1024 * 1024

  /** @throws io.pmeparquet.PmeException if its file system gives no such guarantee */
  def of(path: Path, conf: Configuration): FileReplacement = {
    val real = resolved(path, conf)
    val fs = real.getFileSystem(conf)
    if (!Renaming.contains(schemeOf(fs)) && !Stores.contains(schemeOf(fs)))
      throw PmeErrors.unsupported(
        path.toString,
        s"replacing a file on '${schemeOf(fs)}'",
        "this file system does not guarantee that a file is replaced in one step, so a file could be lost",
        s"Work on a copy on one of ${(Renaming ++ Stores).toSeq.sorted.mkString(", ")}."
      )
    if (schemeOf(fs) == Local && Files.isSymbolicLink(localFile(real)))
      throw PmeErrors.unsupported(
        path.toString,
        "replacing a symbolic link",
        "the link would be replaced, and not the file that it leads to",
        "Name the table that has the file itself, or replace the link with the file."
      )
    new FileReplacement(real, fs, conf)
  }

  /** A file system that writes no checksum files. */
  def unchecked(fs: FileSystem): FileSystem = fs match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }

  /** The path behind mount points, if there are any; for a new file, of its directory. */
  private def resolved(path: Path, conf: Configuration): Path =
    new Path(path.getFileSystem(conf).resolvePath(path.getParent), path.getName)

  private def schemeOf(fs: FileSystem) = fs.getUri.getScheme

  private def localFile(path: Path) = LocalFiles.of(path)
}
