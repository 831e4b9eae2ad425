package io.pmeparquet.parquet.files

import java.io.IOException
import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.{Files, LinkOption, Path => LocalPath, StandardCopyOption, StandardOpenOption}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * A file that exists as long as a run. On a local disk the run's process holds a lock on it, which ends with the
 * process, however that ends. The lock distinguishes what a killed run left from what another run is using. ''Driver
 * only.''
 */
private[parquet] final class RunMark private (held: Option[(LocalPath, FileChannel)]) {
  def release(): Unit = held.foreach { case (path, channel) =>
    channel.close()
    RunMark.ours.remove(path)
  }
}

private[parquet] object RunMark {

  /** Locks belong to the process, and it loses all its locks on a file when it closes any channel to that file. */
  private val ours = ConcurrentHashMap.newKeySet[LocalPath]

  /** @param path a path in a directory that this run has just made */
  def place(path: Path, conf: Configuration): RunMark =
    if (!Place.isLocal(path.getFileSystem(conf))) {
      OwnFiles.create(path, conf).close()
      new RunMark(None)
    } else {
      val mark = real(path)
      // It gets its name once it is locked, so that nobody finds it without a lock.
      val before = mark.resolveSibling(s"${mark.getFileName}.new")
      ours.add(mark)
      val channel = FileChannel.open(
        before,
        StandardOpenOption.CREATE_NEW,
        StandardOpenOption.WRITE,
        LinkOption.NOFOLLOW_LINKS
      )
      try {
        try channel.tryLock()
        // Some network file systems have no locks: then nobody removes what is left there.
        catch { case _: IOException => () }
        Files.move(before, mark, StandardCopyOption.ATOMIC_MOVE)
      } catch {
        case failed: Throwable =>
          channel.close()
          ours.remove(mark)
          throw failed
      }
      new RunMark(Some(mark -> channel))
    }

  /** Whether the process that placed it has ended without removing it. False if nobody can know. */
  def isLeft(path: Path, conf: Configuration): Boolean =
    distinguishes(path, conf) &&
      (OwnFiles.find(path, conf) match {
        case Found.File(_) => !ours.contains(real(path)) && isUnlocked(real(path))
        case _ => false
      })

  /** Whether killed runs can be distinguished from running ones in the file system of a path. */
  def distinguishes(path: Path, conf: Configuration): Boolean = Place.isLocal(path.getFileSystem(conf))

  private def isUnlocked(mark: LocalPath) =
    try {
      val channel = FileChannel.open(mark, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS)
      try channel.tryLock() != null
      finally channel.close()
    } catch { case _: IOException | _: OverlappingFileLockException => false }

  private def real(path: Path): LocalPath = {
    val named = LocalFiles.of(path)
    named.getParent.toRealPath().resolve(named.getFileName)
  }
}
