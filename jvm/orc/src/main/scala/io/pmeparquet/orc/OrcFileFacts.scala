package io.pmeparquet.orc

import java.util.Locale

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{BlockDigests, PmeErrors}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.orc.blocks.VerifiedFile
import io.pmeparquet.orc.tail.{OpenedOrc, OrcProtection, OrcTail}
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.parquet.storage.ListedFile

/** What identifies an ORC file, and what protects it, for a snapshot. It needs no key. */
object OrcFileFacts {

  /**
   * Reads the whole file once, and its tail and stripe footers from the bytes that were hashed.
   *
   * @throws io.pmeparquet.PmeException if the file is damaged, or changes meanwhile
   */
  def of(file: ListedFile, conf: Configuration): FileFacts = {
    val path = new Path(file.path)
    def state = {
      val status = path.getFileSystem(conf).getFileStatus(path)
      (status.getLen, status.getModificationTime)
    }
    val before = state
    val BlockDigests.Whole(blocks, sha256) = hashed(path, conf)
    if (blocks.length != before._1 || state != before) throw PmeErrors.changedMeanwhile(file.path)
    val verified = new VerifiedFile(path, blocks, conf)
    val tail = OpenedOrc.using(path, blocks.length, () => verified.open()) { opened =>
      opened.checkStripes(0, blocks.length)
      opened.tail
    }
    FileFacts(
      blocks.length,
      sha256,
      None,
      sha256,
      tail.rows,
      None,
      tail.types
        .filter(_.isLeaf)
        .map(column => column.orcName.toList -> column.kind.toLowerCase(Locale.ROOT))
        .toList,
      tail.protection.map(one => one.column.orcName.toList -> protectionOf(one, tail)).toList,
      Nil,
      Some(blocks)
    )
  }

  private def hashed(path: Path, conf: Configuration): BlockDigests.Whole = {
    val in = path.getFileSystem(conf).open(path)
    try BlockDigests.of(in)
    finally in.close()
  }

  /** The versions of a key are not named: a Hadoop KMS gives each write the newest one. */
  private def protectionOf(column: OrcProtection, tail: OrcTail): ColumnProtection =
    column.keys.map(_.name).distinct match {
      case Seq() => ColumnProtection.Plaintext
      case Seq(key) => ColumnProtection.ColumnKey(key)
      case several =>
        throw PmeErrors.unsupported(
          s"${tail.file}, column '${column.column.leaf.display}'",
          "sealing a column with several keys",
          s"a snapshot states one key of a column, and this one has ${several.map(key => s"'$key'").mkString(" and ")}",
          "Write the file again with one key for each column."
        )
    }
}
