package io.pmeparquet.parquet.copy

import java.io.Closeable
import java.nio.file.{Files, Path => LocalPath}
import java.security.MessageDigest
import java.util.Arrays

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.PmeErrors

/**
 * Copies of files on this machine's disk, in a directory that only its owner can enter. Each file is read once: what is
 * compared with its digest is what is used, and nobody who can write to the storage can change it in between.
 * ''Executor only.''
 *
 * @param goOn called often; throws if the work is no longer wanted
 */
private[copy] final class HeldFiles(conf: Configuration, goOn: () => Unit) extends Closeable {
  private val directory = Files.createTempDirectory("pme-parquet-")
  private val copies = mutable.ArrayBuffer.empty[LocalPath]

  /**
   * @param sha256 what the whole file must be, if somebody vouches for it
   * @return the file, whose bytes are those of the copy
   * @throws io.pmeparquet.PmeException if it has another digest, or another length by now
   */
  def hold(version: FileVersion, sha256: Option[Array[Byte]]): FileVersion = {
    val file = directory.resolve(copies.size.toString)
    copies += file
    val found = copy(version, file)
    if (sha256.exists(!Arrays.equals(_, found)))
      throw PmeErrors.snapshotMismatch(version.path.toString, "its bytes are not those that were sealed")
    version.heldAt(new Path(file.toUri))
  }

  private def copy(version: FileVersion, file: LocalPath): Array[Byte] = {
    val sha = MessageDigest.getInstance("SHA-256")
    val buffer = new Array[Byte](HeldFiles.BufferBytes)
    var length = 0L
    val in = version.open(conf)
    try {
      val out = Files.newOutputStream(file)
      try
        // No more than was listed, however much storage sends.
        Iterator
          .continually(in.read(buffer))
          .takeWhile(count => count >= 0 && length <= version.length)
          .foreach { count =>
            goOn()
            out.write(buffer, 0, count)
            sha.update(buffer, 0, count)
            length += count
          }
      finally out.close()
    } finally in.close()
    if (length != version.length) throw PmeErrors.changedMeanwhile(version.path.toString)
    sha.digest()
  }

  override def close(): Unit = {
    copies.foreach(Files.deleteIfExists(_))
    Files.deleteIfExists(directory)
    ()
  }
}

private object HeldFiles {
  val BufferBytes: Int = 1024 * 1024
}
