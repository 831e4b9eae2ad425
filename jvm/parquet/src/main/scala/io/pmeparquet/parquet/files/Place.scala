package io.pmeparquet.parquet.files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{ChecksumFileSystem, FileSystem, LocalFileSystem, Path, RawLocalFileSystem}

/** A path behind mount points, if there are any, in an existing directory. */
private[files] final class Place(val path: Path, val fs: FileSystem) {

  /** Without Hadoop's checksum files: Hadoop overwrites those in place, even if they are links. */
  def raw: FileSystem = fs match {
    case checked: ChecksumFileSystem => checked.getRawFileSystem
    case other => other
  }
  def isLocal: Boolean = Place.isLocal(fs)
  def local: java.nio.file.Path = LocalFiles.of(path)
  def blockBytes: Long = fs.getDefaultBlockSize(path)
}

private[files] object Place {
  val Hdfs = "hdfs"

  def of(path: Path, conf: Configuration): Place = {
    val fs = path.getFileSystem(conf)
    // In an object store a directory need not exist.
    val parent =
      try fs.resolvePath(path.getParent)
      catch { case _: java.io.FileNotFoundException => fs.makeQualified(path.getParent) }
    val real = new Path(parent, path.getName)
    new Place(real, real.getFileSystem(conf))
  }

  def isLocal(fs: FileSystem): Boolean = fs.getUri.getScheme == "file"

  /** Whether it is Hadoop's own class, which only writes to the disk. */
  def isHadoops(fs: FileSystem): Boolean =
    isLocal(fs) && Set[Class[_]](classOf[LocalFileSystem], classOf[RawLocalFileSystem]).contains(fs.getClass)
}
