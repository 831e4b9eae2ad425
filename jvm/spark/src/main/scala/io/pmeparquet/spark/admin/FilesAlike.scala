package io.pmeparquet.spark.admin

import org.apache.spark.sql.types._
import org.apache.spark.sql.Row

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.{FileUse, FoundProtection}
import io.pmeparquet.spark.admin.job.FileFailure

/**
 * The files of a table by what protects their columns: thousands of files are a few groups, and no column of any file is
 * left out. ''Driver only.''
 */
private[admin] object FilesAlike {

  /** A row for each column of a group, and for what protects it; one without a column where a group has none. */
  val schema: StructType = StructType(
    Seq(
      StructField("group", IntegerType, nullable = false),
      StructField("files", LongType, nullable = false),
      StructField("bytes", LongType, nullable = false),
      StructField("first_file", StringType, nullable = false),
      StructField("state", StringType, nullable = false),
      StructField("column", StringType),
      StructField("kind", StringType),
      StructField("master_key", StringType)
    )
  )

  val Encrypted = "encrypted"
  val Plaintext = "plaintext"

  /** Its footer did not open: nothing is known of its columns. */
  val Unknown = "unknown"

  /** The largest group first. */
  def rows(looked: Seq[(ListedFile, Either[FileFailure, FileUse])]): Seq[Row] = {
    val told = looked.map { case (file, found) => saidOf(found) -> file }
    val groups = told.groupBy(_._1).toSeq.map { case (told, files) => told -> files.map(_._2).sortBy(_.path) }
    groups.sortBy { case (_, files) => (-files.size, files.head.path) }.zipWithIndex.flatMap {
      case (((state, columns), files), number) =>
        val group = Seq[Any](number, files.size.toLong, files.map(_.length).sum, files.head.path, state)
        if (columns.isEmpty) Seq(Row.fromSeq(group ++ Seq(null, null, null)))
        else
          columns.toSeq.map { one =>
            Row.fromSeq(group ++ Seq(one.column, one.kind, one.masterKey.orNull))
          }
    }
  }

  private def saidOf(found: Either[FileFailure, FileUse]): (String, Set[FoundProtection]) = found match {
    case Right(FileUse(_, isEncrypted, Some(columns))) =>
      (if (isEncrypted) Encrypted else Plaintext) -> columns.toSet
    case _ => Unknown -> Set.empty
  }
}
