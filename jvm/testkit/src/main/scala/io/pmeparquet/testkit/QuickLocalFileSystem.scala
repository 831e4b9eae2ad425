package io.pmeparquet.testkit

import java.io.FileNotFoundException
import java.nio.file.{Files, NoSuchFileException}
import java.nio.file.attribute.{PosixFileAttributes, PosixFilePermissions}

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

  override def getFileStatus(path: Path): FileStatus = {
    val status = super.getFileStatus(path)
    val found =
      try Files.readAttributes(pathToFile(path).toPath, classOf[PosixFileAttributes])
      catch { case _: NoSuchFileException => throw new FileNotFoundException(s"File $path does not exist") }
    val permission = PosixFilePermissions.toString(found.permissions)
    new FileStatus(
      status.getLen,
      status.isDirectory,
      status.getReplication.toInt,
      status.getBlockSize,
      status.getModificationTime,
      status.getAccessTime,
      FsPermission.valueOf((if (status.isDirectory) "d" else "-") + permission),
      found.owner.getName,
      found.group.getName,
      status.getPath
    )
  }

  /** Hadoop starts `readlink` for each file. */
  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path) else getFileStatus(path)

  private def letters(permission: FsPermission): String =
    Seq(permission.getUserAction, permission.getGroupAction, permission.getOtherAction).map(_.SYMBOL).mkString
}
