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
 * Puts a file in the place of another: whoever looks sees the one or the other, whole, and so does who looks after this
 * process was killed. ''Executor only.''
 */
private[parquet] final class FileReplacement private (path: Path, fs: FileSystem, conf: Configuration) {
  import FileReplacement._

  private val scheme = schemeOf(fs)

  /** Whether it is in a store of objects, where nothing is renamed. */
  def inStore: Boolean = Stores.contains(scheme)

  /**
   * @param like whose permissions the new file gets
   * @param unchanged fails where what is about to be replaced is no longer what it was; asked last
   */
  def write(like: FileStatus, unchanged: () => Unit)(content: OutputStream => Unit): Unit =
    if (inStore) writeInPlace(unchanged)(content) else writeBeside(like, unchanged)(content)

  /** To be called of a file that [[take]] will move, before it is closed: it must not be lost when the machine is. */
  def sync(out: FSDataOutputStream): Unit = if (Renaming.contains(scheme)) out.hsync()

  /**
   * Puts a complete file in the place, which lies on the same file system. Stores of objects have it copied.
   *
   * @param like as of [[write]]
   * @param unchanged as of [[write]]
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
    // What is cut must not take the place of the original, and to close it would do that.
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
      // Before, and for good: Hadoop's local file system takes a file away whose checksums are those of another, and a
      // reader that opens the one before the move and the other after it would meet just that.
      raw.delete(checksums, false)
      Files.move(localFile(beside), localFile(path), StandardCopyOption.ATOMIC_MOVE)
      ()
    } else FileContext.getFileContext(fs.getUri, conf).rename(beside, path, Rename.OVERWRITE)

  private def writeInPlace(unchanged: () => Unit)(content: FSDataOutputStream => Unit): Unit = {
    val out = fs.create(path, true)
    // To close it is to put it there: what is not complete is never closed.
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
   * What the names of files begin with that are staged beside those that they will replace: every reader passes over them,
   * and no writer gives them. Rotation was the first to stage files. The name stays, since other versions leave such files
   * behind when they are killed, and look for what was left.
   */
  val StagedPrefix = ".pme-rotation-"

  private val Local = "file"

  /** Where a rename replaces a file in one step. */
  private val Renaming = Set(Local, "hdfs")

  /** Where a file appears as it is closed, in place of the one before it. */
  private val Stores = Set("s3a", "s3", "gs")

  private val BufferBytes = 1024 * 1024

  /** @throws io.pmeparquet.PmeException where its file system gives no such promise */
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

  /** A file system that makes no file of checksums beside another. */
  def unchecked(fs: FileSystem): FileSystem = fs match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }

  /** Behind mount points, if there are any; of a file that is not there yet by its directory. */
  private def resolved(path: Path, conf: Configuration): Path =
    new Path(path.getFileSystem(conf).resolvePath(path.getParent), path.getName)

  private def schemeOf(fs: FileSystem) = fs.getUri.getScheme

  private def localFile(path: Path) = LocalFiles.of(path)
}
