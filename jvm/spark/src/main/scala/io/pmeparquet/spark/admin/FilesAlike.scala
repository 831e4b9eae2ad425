package io.pmeparquet.spark.admin

import org.apache.spark.sql.types._
import org.apache.spark.sql.Row

import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileUse
import io.pmeparquet.spark.admin.job.FileFailure

/**
 * Groups the files of a table by what protects their columns. Thousands of files make a few groups, and every column of
 * every file is in one. ''Driver only.''
 */
private[admin] object FilesAlike {

  /** One row for each column of a group, with its protection; one row without a column if the group has none. */
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

  /** The footer did not open, so nothing is known about its columns. */
  val Unknown = "unknown"

  /** The largest group first. */
  def rows(looked: Seq[(ListedFile, Either[FileFailure, FileUse])]): Seq[Row] = {
    val protections = looked.map { case (file, found) => protectionOf(found) -> file }
    val groups = protections.groupBy(_._1).toSeq.map { case (protection, files) =>
      protection -> files.map(_._2).sortBy(_.path)
    }
    groups.sortBy { case (_, files) => (-files.size, files.head.path) }.zipWithIndex.flatMap {
      case (((state, columns), files), number) =>
        val group = Seq[Any](number, files.size.toLong, files.map(_.length).sum, files.head.path, state)
        if (columns.isEmpty) Seq(Row.fromSeq(group ++ Seq(null, null, null)))
        else
          columns.toSeq.map(cells => Row.fromSeq(group ++ cells))
    }
  }

  private def protectionOf(found: Either[FileFailure, FileUse]): (String, Set[Seq[String]]) =
    found match {
      case Right(FileUse(_, isEncrypted, Some(columns))) =>
        (if (isEncrypted) Encrypted else Plaintext) ->
          columns.map(one => Seq(one.column, one.kind, one.masterKey.orNull)).toSet
      case _ => Unknown -> Set.empty
    }
}
