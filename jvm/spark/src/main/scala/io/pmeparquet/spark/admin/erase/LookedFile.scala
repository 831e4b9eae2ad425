package io.pmeparquet.spark.admin.erase

import org.apache.hadoop.fs.Path

import io.pmeparquet.columns.{FilePlace, KeyValues}
import io.pmeparquet.parquet.inspect.{FileUse, FoundProtection, KeyUse}
import io.pmeparquet.parquet.storage.ListedFile
import io.pmeparquet.spark.admin.job.FileFailure

/**
 * The files at and below a table, by what they are to it.
 *
 * @param hidden files that readers pass over, and that nobody looks at
 * @param stamps what changes with any file, or its key material
 */
private[erase] final case class ListedTable(
    table: Path,
    parts: Seq[(String, Seq[ListedFile])],
    hidden: Seq[Path],
    stamps: Set[(String, String, Long, Long)]
)

/** A file as it was looked at. */
private[erase] final case class LookedFile(
    table: String,
    part: String,
    file: ListedFile,
    found: Either[FileFailure, FileUse]
) {
  lazy val place: FilePlace = FilePlace
    .of(new Path(file.path).getParent.toUri.getPath)
    .stating(found.fold(_ => KeyValues.none, _.stated))

  def uses: Seq[KeyUse] = found.fold(_ => Nil, _.uses)

  /** The master keys of columns that have their own, which need not be wrapped ones. */
  def keyedColumns: Seq[(String, Option[String])] =
    found.toOption.flatMap(_.columns).toSeq.flatten.filter(_.kind == FoundProtection.ColumnKey).map { one =>
      one.column -> one.masterKey
    }
}

private[erase] object LookedFile {

  /** The part of a Delta table's log that has no rows. */
  val Checkpoint = "checkpoint"
}
