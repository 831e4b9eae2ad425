package io.pmeparquet.spark.admin

import org.apache.hadoop.fs.{FileSystem, Path}

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.spark.snapshots.SealedTable
import io.pmeparquet.Audience

/**
 * A log that records the lengths of a table's files: of a streaming sink, Delta or Hudi, or Iceberg's metadata. If the
 * length of a file changes, readers that use the log no longer find its footer.
 *
 * @param table the directory of the table
 */
private[admin] final case class TableLog(path: Path, table: Path) {
  def keeps(file: ListedFile): Boolean = file.path.startsWith(s"${table.toString.stripSuffix("/")}/")

  /** Whether Spark's listings use the log. If not, they also list files that are no longer part of the table. */
  def isOfSpark: Boolean = path.getName == TableLog.OfSpark

  def isOfDelta: Boolean = path.getName == TableLog.OfDelta

  def isOfIceberg: Boolean = path.getName == TableLog.IcebergDirectory

  def isOfHudi: Boolean = path.getName == TableLog.OfHudi

  /** @param copy the advice for a table that can be copied */
  def remedy(copy: String): String =
    if (isOfSpark) copy
    else if (isOfDelta)
      s"${Audience.current.deltaEncrypt} and ${Audience.current.deltaRotate} do this as a commit of the table."
    else "Write the table again with the tools of its table format."
}

private[admin] object TableLog {
  private val OfSpark = SealedTable.StreamLog
  private val OfDelta = "_delta_log"
  private val OfHudi = ".hoodie"
  private val Names = Set(OfSpark, OfDelta, OfHudi)

  private val IcebergDirectory = "metadata"
  private val IcebergFile = ".metadata.json"

  /** The logs in a directory, and the log that is the directory, from the directory's children. */
  def in(children: Seq[Path]): Seq[TableLog] = {
    val iceberg = children
      .find(_.getName.contains(IcebergFile))
      .map(_.getParent)
      .filter(_.getName == IcebergDirectory)
    (children.filter(child => Names.contains(child.getName)) ++ iceberg).map(log =>
      TableLog(log, log.getParent)
    )
  }

  /** The logs of the tables that a path may be a part of. Iceberg keeps data in a directory beside its metadata. */
  def above(levels: Seq[Path], fs: FileSystem): Seq[TableLog] = {
    val top = levels.last
    def of(place: Path) =
      if (fs.exists(place) && fs.getFileStatus(place).isDirectory)
        in(fs.listStatus(place).toSeq.map(_.getPath))
      else Nil
    (levels :+ new Path(top, IcebergDirectory)).flatMap(of) ++
      Option(top.getParent).toSeq.map(new Path(_, IcebergDirectory)).flatMap { place =>
        ParentDirectories.ifReadable(place)(of(place))
      }
  }
}
