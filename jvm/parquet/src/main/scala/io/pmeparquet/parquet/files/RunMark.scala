package io.pmeparquet.parquet.files

import java.io.IOException
import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.{Files, LinkOption, Path => LocalPath, StandardCopyOption, StandardOpenOption}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

/**
 * A file that is there for as long as a run is. On a local disk its process holds a lock on it, which ends with the process,
 * however that ends: so what a killed run left can be told from what another one is at work on. ''Driver only.''
 */
private[parquet] final class RunMark private (held: Option[(LocalPath, FileChannel)]) {
  def release(): Unit = held.foreach { case (path, channel) =>
    channel.close()
    RunMark.ours.remove(path)
  }
}

private[parquet] object RunMark {

  /** Locks are the process's, and all of them on a file go when it closes any channel to that file. */
  private val ours = ConcurrentHashMap.newKeySet[LocalPath]

  /** @param path in a directory that this run has just made */
  def place(path: Path, conf: Configuration): RunMark =
    if (!Place.isLocal(path.getFileSystem(conf))) {
      OwnFiles.create(path, conf).close()
      new RunMark(None)
    } else {
      val mark = real(path)
      // It gets its name when the lock is there, so that nobody finds it without.
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
        // Some file systems of a network have no locks: then nobody ends what is left there.
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

  /** Whether what placed it has ended without removing it. Not where nobody can tell. */
  def isLeft(path: Path, conf: Configuration): Boolean =
    tells(path, conf) &&
      (OwnFiles.find(path, conf) match {
        case Found.File(_) => !ours.contains(real(path)) && isUnlocked(real(path))
        case _ => false
      })

  /** Whether runs that were killed can be told from those that go on, in the file system of a path. */
  def tells(path: Path, conf: Configuration): Boolean = Place.isLocal(path.getFileSystem(conf))

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
