package io.pmeparquet.spark.admin

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.pmeparquet.{Condition, PmeErrors, PmeException}
import io.pmeparquet.keys.WrappedKey
import io.pmeparquet.orc.OrcUsage
import io.pmeparquet.parquet.rotation.{FileNeeds, FileRotation, RotatedFooter}
import io.pmeparquet.parquet.storage.ListedFile

/** The rotation of files of several formats, each file by its own. ''Crosses the wire.'' */
private[admin] final class TableRotation(
    protected val masterKeys: Option[Map[String, String]],
    parquet: FileRotation,
    orc: FileRotation
) extends FileRotation {

  override def firstKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    ByFormat(new Path(file.path), conf)(parquet.firstKeys(file, conf))(orc.firstKeys(file, conf))

  override def furtherKeys(file: ListedFile, conf: Configuration): Seq[WrappedKey] =
    ByFormat(new Path(file.path), conf)(parquet.furtherKeys(file, conf))(orc.furtherKeys(file, conf))

  override def look(file: ListedFile, conf: Configuration): FileNeeds =
    ByFormat(new Path(file.path), conf)(parquet.look(file, conf))(orc.look(file, conf))

  override def change(
      file: ListedFile,
      changes: Map[WrappedKey, WrappedKey],
      conf: Configuration
  ): Option[RotatedFooter] =
    ByFormat(new Path(file.path), conf)(parquet.change(file, changes, conf))(orc.change(file, changes, conf))
}

/** Does with a file what its format asks for, as its content says. */
private[admin] object ByFormat {

  /** @param orc for what is no Parquet file, and begins as ORC files do */
  def apply[A](file: Path, conf: Configuration)(parquet: => A)(orc: => A): A =
    try parquet
    catch {
      case failed: PmeException if failed.condition == Condition.DamagedFile =>
        if (OrcUsage.isOrc(file, conf)) orc else throw failed
    }

  /** For what moves pages as they are stored. */
  def onlyParquet[A](file: Path, conf: Configuration)(parquet: => A): A =
    apply(file, conf)(parquet)(throw PmeErrors.orcNotCopied(file.toString))
}
