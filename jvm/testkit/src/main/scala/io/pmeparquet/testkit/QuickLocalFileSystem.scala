package io.pmeparquet.testkit

import java.io.FileNotFoundException
import java.nio.file.{FileSystemException, Files, Path => NioPath}
import java.nio.file.attribute.{FileTime, PosixFilePermissions}
import java.security.Principal
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.fs.{FileStatus, LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * Hadoop's local file system for machines without Hadoop's native library, where Hadoop starts a process to set
 * permissions (`chmod`) or to read them (`ls`): some ten for each table that is written. The JVM does both here.
 */
class QuickLocalFileSystem extends LocalFileSystem(new QuickRawFileSystem)

class QuickRawFileSystem extends RawLocalFileSystem {

  override def setPermission(path: Path, permission: FsPermission): Unit =
    if (permission.getStickyBit) super.setPermission(path, permission)
    else
      Files.setPosixFilePermissions(
        pathToFile(path).toPath,
        PosixFilePermissions.fromString(letters(permission))
      )

  /** All of it in one call of the system, and the names of owners once: Hadoop asks six times, for each file it lists. */
  override def getFileStatus(path: Path): FileStatus = {
    val local = pathToFile(path)
    val file = local.toPath
    try {
      val found = Files.readAttributes(file, QuickRawFileSystem.Asked)
      def time(name: String) = found.get(name).asInstanceOf[FileTime].toMillis
      new FileStatus(
        found.get("size").asInstanceOf[Long],
        found.get("isDirectory").asInstanceOf[Boolean],
        1,
        getDefaultBlockSize(path),
        time("lastModifiedTime"),
        time("lastAccessTime"),
        new FsPermission((found.get("mode").asInstanceOf[Int] & 0x1ff).toShort),
        QuickRawFileSystem.nameOf(found.get("uid"), "unix:owner", file),
        QuickRawFileSystem.nameOf(found.get("gid"), "unix:group", file),
        // Of the bare name, as Hadoop does: `file:/` stays so, and here it becomes `file:///`.
        new Path(local.toString).makeQualified(getUri, getWorkingDirectory)
      )
    } catch {
      // Hadoop's own does not tell a file that it may not look at from one that is not there, either.
      case _: FileSystemException => throw new FileNotFoundException(s"File $path does not exist")
    }
  }

  /** Hadoop starts `readlink` for each file. */
  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)

  private def letters(permission: FsPermission): String =
    Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction).map(_.SYMBOL).mkString
}

private object QuickRawFileSystem {
  private val Asked = "unix:size,isDirectory,lastModifiedTime,lastAccessTime,mode,uid,gid"
  private val names = new ConcurrentHashMap[(Any, String), String]

  /** The name of an owner or a group, which a file has by its number. */
  private def nameOf(number: Any, attribute: String, file: NioPath): String = names.computeIfAbsent(
    (number, attribute),
    _ => Files.getAttribute(file, attribute).asInstanceOf[Principal].getName
  )
}
