package io.pmeparquet.orc.blocks

import java.io.OutputStream

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataOutputStream, Path}

import io.pmeparquet.BlockDigests

/**
 * A new file whose digests are of the bytes that its writer writes, whatever the storage has afterwards: nothing in an ORC
 * file would show that somebody changed it before it was read again. ''Executor only.''
 */
final class HashedFile(val path: Path, conf: Configuration) {
  private val digests = new BlockDigests.Builder
  private var isClosed = false

  /** @param make makes the file in its storage */
  private[blocks] def create(make: Path => FSDataOutputStream): FSDataOutputStream =
    new FSDataOutputStream(new Hashing(make(path)), null)

  private[blocks] def fileSystem = path.getFileSystem(conf)

  /** The digests of the whole file, once its writer has closed it. */
  def result(): BlockDigests.Whole = {
    if (!isClosed) throw new IllegalStateException(s"internal error: $path is not closed")
    digests.result()
  }

  private final class Hashing(out: FSDataOutputStream) extends OutputStream {
    override def write(one: Int): Unit = write(Array(one.toByte), 0, 1)
    override def write(bytes: Array[Byte], from: Int, count: Int): Unit = {
      digests.update(bytes, from, count)
      out.write(bytes, from, count)
    }
    override def flush(): Unit = out.flush()
    override def close(): Unit = {
      out.close()
      isClosed = true
    }
  }

  override def toString: String = s"HashedFile($path)"
}
