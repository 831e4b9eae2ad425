package io.pmeparquet.spark.snapshot

import java.util.Locale

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.quoteIfNeeded
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
   * @param ofIndexes what the indexes of a table prove of its files
   * @param ofStore what a store proves of files, in addition to the tables' own indexes
   */
  def of(
      listed: Seq[PartitionDirectory],
      roots: Seq[Path],
      tables: Seq[SealedTable],
      ofIndexes: SealedTable => SealedFile => Option[Proof],
      ofStore: StoreSkipping.Proofs = StoreSkipping.NoProofs
  ): ChosenFiles = {
    val proofs = tables.map(table => table -> ofIndexes(table))
    def fileOf(path: Path, length: Long, modified: Long): File = {
      val own = proofs.iterator.flatMap { case (table, proof) =>
        table.relative(path).flatMap(table.snapshot.byPath.get).map(file => (table, file, proof))
      }
      if (!own.hasNext) new File(path, length, None, ofStore(path, modified))
      else {
        val (table, file, proof) = own.next()
        new File(path, length, Some(table), proof(file).orElse(ofStore(path, modified)))
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

/**
 * How many files of one table a scan reads, of those that are left after partitions were pruned. ''Driver only.''
 *
 * @param version of the snapshot; none if the table is not sealed
 * @param bytes of all these files
 * @param skippedBy the indexes that proved for some of them that no row can match. A file counts for each index that its
 *   proof needed.
 */
private[spark] final case class ScannedFiles(
    path: String,
    version: Option[Long],
    files: Long,
    filesRead: Long,
    bytes: Long,
    bytesRead: Long,
    skippedBy: Seq[SkippedBy]
)

/** @param kind of the index, as manifests name it */
private[spark] final case class SkippedBy(kind: String, column: Seq[String], files: Long) {
  def text: String = s"$kind(${column.map(quoteIfNeeded).mkString(".")})"
}

private[spark] object ScannedFiles {

  /** Spark cuts what it prints of a scan at 100 characters. */
  private val MostIndexes = 3

  /**
   * For `EXPLAIN`, as "12 of 4,000 files, by minMax(id)".
   *
   * @param atMost whether the scan can leave out more when it runs
   */
  def text(tables: Seq[ScannedFiles], atMost: Boolean): String = {
    val start = if (atMost) "at most " else ""
    val files = tables.map(_.files).sum
    s"$start${grouped(tables.map(_.filesRead).sum)} of ${grouped(files)} ${if (files == 1) "file" else "files"}" +
      by(tables.flatMap(_.skippedBy))
  }

  private def by(skipped: Seq[SkippedBy]) = {
    val names = skipped
      .groupBy(_.text)
      .toSeq
      .map { case (name, of) => name -> of.map(_.files).sum }
      .sortBy { case (name, files) => (-files, name) }
      .map(_._1)
    val more = names.size - MostIndexes
    if (names.isEmpty) ""
    else names.take(MostIndexes).mkString(", by ", ", ", "") + (if (more > 0) s" and $more more" else "")
  }

  private def grouped(number: Long) = String.format(Locale.ROOT, "%,d", Long.box(number))
}

/** A V2 scan that knows how many files it reads. */
private[spark] trait CountsFiles {
  def scannedFiles: Seq[ScannedFiles]
}
