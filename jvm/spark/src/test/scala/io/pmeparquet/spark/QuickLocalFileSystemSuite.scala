package io.pmeparquet.spark

import java.io.FileNotFoundException
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileStatus, FileSystem, LocalFileSystem, Path}

import io.pmeparquet.testkit.QuickLocalFileSystem

/** The local file system of the tests says of files what Hadoop's own says. */
class QuickLocalFileSystemSuite extends munit.FunSuite {
  private def opened(fs: LocalFileSystem): FileSystem = {
    fs.initialize(java.net.URI.create("file:///"), new Configuration(false))
    fs
  }
  private lazy val (quick, hadoops) = (opened(new QuickLocalFileSystem), opened(new LocalFileSystem))

  private def shown(status: FileStatus) = Seq[Any](
    status.getPath.toUri.toString,
    status.getLen,
    status.isDirectory,
    status.getModificationTime,
    status.getAccessTime,
    status.getPermission,
    status.getOwner,
    status.getGroup,
    status.getBlockSize,
    status.getReplication
  )

  test("a file, a directory and a listing, by each form of a path") {
    val directory = Files.createTempDirectory("quick")
    Files.write(directory.resolve("a b=%20"), Array[Byte](1, 2, 3))
    for (form <- Seq(s"$directory", s"file:$directory", s"file://$directory")) {
      val path = new Path(form)
      assertEquals(shown(quick.getFileStatus(path)), shown(hadoops.getFileStatus(path)), form)
      val listed = quick.listStatus(path).toSeq.map(shown)
      assertEquals(listed, hadoops.listStatus(path).toSeq.map(shown), form)
      assertEquals(listed.size, 1)
      for (fs <- Seq(quick, hadoops))
        intercept[FileNotFoundException](fs.getFileStatus(new Path(path, "none")))
    }
  }
}
