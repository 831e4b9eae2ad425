package io.pmeparquet.parquet.copy

import java.io.IOException
import java.util.zip.CRC32

import org.apache.hadoop.conf.Configuration

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.columns.UnlistedColumns
import io.pmeparquet.options.{EncryptionAlgorithm, FileSettings}
import io.pmeparquet.parquet.bytes.FileVersion
import io.pmeparquet.parquet.file.{OpenFile, OpenFiles}
import io.pmeparquet.parquet.scope.ReadScope
import io.pmeparquet.parquet.verify.{FileVerification, Sample}

/**
 * Checks that a new file is readable and has the bytes that were written. It opens every module, with keys from the
 * file's key metadata and under its readers' policy. If tags do not cover all bytes, it compares the checksum of the
 * file with that of the bytes written.
 *
 * @param scope how readers will read the file
 * @param goOn called often; throws if the work is no longer wanted
 */
private[parquet] final class CopyCheck(scope: ReadScope, conf: Configuration, goOn: () => Unit) {

  /**
   * @param source the file that it was made from, and how that was read
   * @param settings how it was encrypted; none if it was not
   * @param checksum the checksum of the bytes written
   * @throws io.pmeparquet.PmeException if anything is wrong with it
   */
  def require(
      source: OpenFile,
      from: ReadScope,
      made: FileVersion,
      settings: Option[FileSettings],
      checksum: Long
  ): Unit = {
    val name = source.version.path.toString
    CopyCheck.requireNoFinding(scope, made, conf, goOn)(PmeErrors.badCopy(name, _, _))
    if (!settings.exists(CopyCheck.isTagged) && checksumOf(made) != checksum)
      throw PmeErrors.badCopy(
        name,
        Condition.DamagedFile,
        s"the content of ${made.path} is not what was written."
      )
    if (shape(source, from) != shape(OpenFiles(scope, made, conf, scope.counters), scope))
      throw new IllegalStateException(s"internal error: ${made.path} has not the rows of $name")
  }

  private def checksumOf(made: FileVersion): Long = {
    val sum = new CRC32
    val buffer = new Array[Byte](CopyCheck.BufferBytes)
    val in = made.open(conf)
    try
      Iterator.continually(in.read(buffer)).takeWhile(_ >= 0).foreach { count =>
        goOn()
        sum.update(buffer, 0, count)
      }
    finally in.close()
    sum.getValue
  }

  private def shape(file: OpenFile, scope: ReadScope) = (0 until file.rowGroupCount).map { index =>
    file.rowCount(index) -> file.chunks(index, scope.counters).map { chunk =>
      (chunk.meta.getPath, chunk.meta.getCodec, chunk.meta.getValueCount)
    }
  }
}

private[parquet] object CopyCheck {
  private val BufferBytes = 1024 * 1024

  /** Opens every module of a file, and fails on the first finding of any kind. */
  def requireNoFinding(scope: ReadScope, file: FileVersion, conf: Configuration, goOn: () => Unit)(
      failure: (Condition, String) => PmeException
  ): Unit = new FileVerification(scope, Sample()).of(file, conf, goOn).findings.headOption.foreach { found =>
    throw Condition.all
      .find(_.name == found.condition)
      .fold[Exception](new IOException(s"${found.file}: ${found.message}"))(failure(_, found.message))
  }

  def rows(file: OpenFile): Long = (0 until file.rowGroupCount).map(file.rowCount).sum

  /** Whether tags cover every page. */
  private def isTagged(settings: FileSettings) =
    settings.algorithm == EncryptionAlgorithm.AesGcmV1 && settings.unlisted != UnlistedColumns.Plaintext
}
