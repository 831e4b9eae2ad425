package io.pmeparquet.spark.snapshots

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.datasources.PartitionDirectory

import io.pmeparquet.parquet.summary.Proof
import io.pmeparquet.snapshot.parts.SealedFile

/**
 * The files that a scan reads of those that Spark listed for it, and why not the others. ''Driver only.''
 *
 * @param roots of the read, the name of files outside sealed tables
 */
private[spark] final class ChosenFiles private (
    parts: Seq[ChosenFiles.Part],
    tables: Seq[SealedTable],
    roots: Seq[Path]
) {
  import ChosenFiles._

  /** What the scan reads. */
  lazy val directories: Seq[PartitionDirectory] = parts.map { part =>
    val skipped = part.files.iterator.filter(_.proof.isDefined).map(_.path).toSet
    if (skipped.isEmpty) part.directory
    else part.directory.copy(files = part.directory.files.filterNot(file => skipped(file.getPath)))
  }

  /** An entry for each sealed table, and one for other files. */
  lazy val counted: Seq[ScannedFiles] = counted(_ => true)

  /** @param isRead whether the scan reads a partition with these values */
  def counted(isRead: InternalRow => Boolean): Seq[ScannedFiles] = {
    val files = parts.filter(part => isRead(part.directory.values)).flatMap(_.files).groupBy(_.table)
    val others = files.contains(None) || tables.isEmpty
    (tables.map(Option(_)) ++ (if (others) Seq(None) else Nil))
      .map(table => countedOf(table, files.getOrElse(table, Nil)))
  }

  private def countedOf(table: Option[SealedTable], files: Seq[File]) = {
    val read = files.filter(_.proof.isEmpty)
    val by = files
      .flatMap(_.proof.toSeq.flatMap(_.uses))
      .groupBy(identity)
      .toSeq
      .map { case ((column, kind), uses) => SkippedBy(kind.name, column, uses.size.toLong) }
    ScannedFiles(
      table.fold(roots.mkString(", "))(_.directory.toString),
      table.map(_.snapshot.version.number),
      files.size.toLong,
      read.size.toLong,
      files.map(_.length).sum,
      read.map(_.length).sum,
      by.sortBy(one => (-one.files, one.text))
    )
  }
}

private[spark] object ChosenFiles {
  private final class Part(val directory: PartitionDirectory, val files: Seq[File])

  /** @param proof that no row of the file can match; none: the file is read */
  private final class File(
      val path: Path,
      val length: Long,
      val table: Option[SealedTable],
      val proof: Option[Proof]
  )

  /**
   * @param listed by Spark
   * @param judge of the files of a table
   * @param store judges files by their paths and modification times, beside the tables' own indexes
   */
  def of(
      listed: Seq[PartitionDirectory],
      roots: Seq[Path],
      tables: Seq[SealedTable],
      judge: SealedTable => SealedFile => Option[Proof],
      store: StoreSkipping.Judge = StoreSkipping.None
  ): ChosenFiles = {
    val judges = tables.map(table => table -> judge(table))
    def fileOf(path: Path, length: Long, modified: Long): File = {
      val own = judges.iterator.flatMap { case (table, holdsNone) =>
        table.relative(path).flatMap(table.snapshot.byPath.get).map(file => (table, file, holdsNone))
      }
      if (!own.hasNext) new File(path, length, None, store(path, modified))
      else {
        val (table, file, holdsNone) = own.next()
        new File(path, length, Some(table), holdsNone(file).orElse(store(path, modified)))
      }
    }
    val parts =
      listed.map { one =>
        new Part(
          one,
          one.files.map(file => fileOf(file.getPath, file.getLen, file.getModificationTime)).toVector
        )
      }
    new ChosenFiles(parts.toVector, tables, roots)
  }

  /** All files, of tables that are not sealed. */
  def all(listed: Seq[PartitionDirectory], roots: Seq[Path]): ChosenFiles =
    of(listed, roots, Nil, _ => _ => None)
}
