package io.pmeparquet.kms.local

import java.io.IOException
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.file.{Files, LinkOption, Path}
import java.nio.file.attribute.{PosixFileAttributeView, PosixFileAttributes}
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{READ, WRITE}
import java.nio.ByteBuffer
import java.util.Arrays

import scala.annotation.tailrec

import io.pmeparquet.{PmeErrors, PmeException}

/**
 * The file of a keystore, which is replaced as a whole, or not at all. Links to it are followed, and stay.
 *
 * @param name the name of the keystore in messages
 */
private[kms] final class KeystoreFile(name: String, path: Path) {
  import KeystoreFile._

  def read(where: String): Array[Byte] =
    try Files.readAllBytes(path)
    catch { case failed: IOException => throw unusable(where, "it cannot be read", failed) }

  /**
   * Replaces the content, while no other process of ours changes it.
   *
   * @param made the new content from the one there; none leaves it
   */
  def change(where: String)(made: Array[Byte] => Option[Array[Byte]]): Unit = Changes.synchronized {
    try {
      val place = path.toRealPath()
      // Another name would keep the old content.
      if (linksOf(place) > 1)
        throw unusable(
          where,
          "it was not changed: it is a hard link, and its other names would keep the old keys"
        )
      val channel = FileChannel.open(place, READ, WRITE)
      try {
        val lock = locked(channel, System.nanoTime() + PatienceNanos, where)
        try {
          val before = contentOf(channel)
          made(before).foreach { after =>
            replace(place, after) {
              // Python's lock is another one, so it may have changed the file.
              if (path.toRealPath() != place || !Arrays.equals(Files.readAllBytes(place), before))
                throw unusable(
                  where,
                  "it was not changed: another program changed it at the same time; run this again"
                )
            }
          }
        } finally if (channel.isOpen) lock.release()
      } finally channel.close()
    } catch {
      case failed: IOException =>
        throw unusable(where, s"it was not changed (${failed.getClass.getSimpleName})", failed)
    }
  }

  @tailrec
  private def locked(channel: FileChannel, until: Long, where: String): FileLock = {
    val found =
      try Option(channel.tryLock())
      catch { case _: OverlappingFileLockException => None }
    if (found.isDefined) found.get
    else if (System.nanoTime() > until)
      throw unusable(where, "it was not changed: another process has been changing it for too long")
    else {
      Thread.sleep(PauseMillis)
      locked(channel, until, where)
    }
  }

  private def unusable(where: String, why: String, cause: Throwable = null): PmeException =
    PmeErrors.kmsUnavailable(where, s"keystore $name: $why", cause)
}

private object KeystoreFile {

  /** One change at a time in this process, whose locks are of the process and not of a thread. */
  private object Changes

  private val PatienceNanos = 120L * 1000 * 1000 * 1000
  private val PauseMillis = 50L

  private def linksOf(place: Path): Int =
    if (place.getFileSystem.supportedFileAttributeViews.contains("unix"))
      Files.getAttribute(place, "unix:nlink").asInstanceOf[Int]
    else 1

  private def contentOf(channel: FileChannel): Array[Byte] = {
    val buffer = ByteBuffer.allocate(channel.size().toInt)
    while (buffer.hasRemaining && channel.read(buffer, buffer.position().toLong) >= 0) {}
    buffer.array
  }

  /** @param ready called just before the replacement, and throws to prevent it */
  private def replace(place: Path, content: Array[Byte])(ready: => Unit): Unit = {
    // Only its owner can read it, until it has the permissions of the file that it replaces.
    val draft = Files.createTempFile(place.getParent, ".pme-keystore-", "")
    try {
      val out = FileChannel.open(draft, WRITE)
      try {
        val buffer = ByteBuffer.wrap(content)
        while (buffer.hasRemaining) out.write(buffer)
        out.force(true)
      } finally out.close()
      likeBefore(place, draft)
      ready
      Files.move(draft, place, ATOMIC_MOVE)
      synced(place.getParent)
    } finally {
      Files.deleteIfExists(draft)
      ()
    }
  }

  private def likeBefore(place: Path, draft: Path): Unit =
    Option(Files.getFileAttributeView(draft, classOf[PosixFileAttributeView], LinkOption.NOFOLLOW_LINKS))
      .foreach { view =>
        val before = Files.readAttributes(place, classOf[PosixFileAttributes])
        view.setOwner(before.owner)
        view.setGroup(before.group)
        view.setPermissions(before.permissions)
      }

  /** Not every file system syncs directories. */
  private def synced(directory: Path): Unit =
    try {
      val channel = FileChannel.open(directory, READ)
      try channel.force(true)
      finally channel.close()
    } catch { case _: IOException => () }
}
