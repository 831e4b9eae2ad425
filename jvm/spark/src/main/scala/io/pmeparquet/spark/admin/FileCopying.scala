package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast

import io.pmeparquet.options.OrcWriteSettings
import io.pmeparquet.orc.keys.OrcScope
import io.pmeparquet.orc.OrcRekey
import io.pmeparquet.parquet.copy.{Copied, FileRewrite}
import io.pmeparquet.parquet.file.FileSeal
import io.pmeparquet.parquet.scope.{ReadScope, WriteScope}
import io.pmeparquet.spark.admin.job.FileJob

/** Writes the copy of a file of one format, and verifies it. ''Crosses the wire'', with its scopes. */
private[admin] trait FileCopying extends Serializable {

  /**
   * @param staged where to write the new file
   * @param destination where it will be moved to
   */
  def write(
      source: Path,
      sourceConf: Configuration,
      staged: Path,
      destination: Path,
      conf: Configuration
  ): Copied

  protected final def goOn(): Unit = FileJob.goOn("the copying")
}

/** @param write none for a copy without encryption */
private[admin] final class ParquetCopying(read: ReadScope, write: Option[WriteScope], check: ReadScope)
    extends FileCopying {

  override def write(
      source: Path,
      sourceConf: Configuration,
      staged: Path,
      destination: Path,
      conf: Configuration
  ): Copied = ByFormat.onlyParquet(source, sourceConf) {
    new FileRewrite(read, sourceConf, write, check, conf, () => goOn()).write(source, staged, destination)
  }
}

/** @param seal what snapshots say of the source */
private[admin] final class OrcCopying(
    read: OrcScope,
    write: OrcScope,
    settings: OrcWriteSettings,
    check: OrcScope,
    seal: Option[Broadcast[FileSeal]]
) extends FileCopying {

  override def write(
      source: Path,
      sourceConf: Configuration,
      staged: Path,
      destination: Path,
      conf: Configuration
  ): Copied = {
    val listed = seal.flatMap(_.value.blocks(source))
    val made =
      new OrcRekey(read, write, settings, check, () => goOn()).write(source, sourceConf, staged, conf, listed)
    Copied(1, made.rows, made.streams, made.bytes)
  }
}
