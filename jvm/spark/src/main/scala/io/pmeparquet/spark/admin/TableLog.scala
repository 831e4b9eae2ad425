package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.parquet.files.ListedFile

/**
 * What keeps the lengths of a table's files: a streaming sink's log, Delta's, Hudi's, Iceberg's metadata. Their readers
 * no longer find the footer of a file that has got another length.
 *
 * @param table the directory of the table
 */
private[admin] final case class TableLog(path: Path, table: Path) {
  def keeps(file: ListedFile): Boolean = file.path.startsWith(s"${table.toString.stripSuffix("/")}/")

  /** Whether Spark's listings go by it: of others they find files, too, that are no longer the table's. */
  def isOfSpark: Boolean = path.getName == TableLog.OfSpark

  /** @param copy what to do where the table can be copied */
  def remedy(copy: String): String =
    if (isOfSpark) copy else "Write the table again with the tools of its table format."
}

private[admin] object TableLog {
  private val OfSpark = "_spark_metadata"
  private val Names = Set(OfSpark, "_delta_log", ".hoodie")

  private val IcebergDirectory = "metadata"
  private val IcebergFile = ".metadata.json"

  /** The one that a directory has, or is, by what is in it. */
  def in(children: Seq[Path]): Option[TableLog] =
    children
      .find(child => Names.contains(child.getName))
      .map(log => TableLog(log, log.getParent))
      .orElse {
        children.find(_.getName.contains(IcebergFile)).map(_.getParent).collect {
          case log if log.getName == IcebergDirectory => TableLog(log, log.getParent)
        }
      }

  /** Those of the tables that a place may be a part of. Iceberg keeps data in a directory beside its metadata. */
  def above(levels: Seq[Path], fs: FileSystem): Seq[TableLog] = {
    val top = levels.last
    def of(place: Path) =
      if (fs.exists(place) && fs.getFileStatus(place).isDirectory)
        in(fs.listStatus(place).toSeq.map(_.getPath)).toSeq
      else Nil
    (levels :+ new Path(top, IcebergDirectory)).flatMap(of) ++
      Option(top.getParent).toSeq.map(new Path(_, IcebergDirectory)).flatMap { place =>
        ParentDirectories.ifReadable(place)(of(place))
      }
  }
}
