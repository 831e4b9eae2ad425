package io.pmeparquet.spark.admin

import io.pmeparquet.{Audience, PmeErrors}
import io.pmeparquet.columns.ColumnProtection
import io.pmeparquet.parquet.files.ListedFile
import io.pmeparquet.parquet.inspect.FileFacts
import io.pmeparquet.snapshot.manifest.TablePolicy
import io.pmeparquet.snapshot.TableSnapshot

/** What protects the columns of a table, which must be the same in all its files to be sealed. ''Driver only.'' */
private[admin] object SealedPolicy {

  /**
   * @param previous the version before, if the table still has files of it
   * @throws io.pmeparquet.PmeException if two files protect a column in different ways
   */
  def of(table: String, previous: Option[TableSnapshot], facts: Seq[(ListedFile, FileFacts)]): TablePolicy = {
    val before = previous.map(_.version.manifest.policy)
    val footers = before.toSeq.map(_.footerKey -> "the files of the version before") ++
      facts.map { case (file, found) => found.footerKey -> file.path }.reverse.toMap.toSeq
    val footerKey = one(table, "the footer", footers)
    // Most files are alike, and each kind of file needs to be looked at once.
    val kinds =
      facts.map { case (file, found) => (found.footerKey, found.columns) -> file.path }.reverse.toMap
    val columns = before.toSeq.flatMap(_.columns.map { case (path, key) =>
      path -> (key -> "the files of the version before")
    }) ++ kinds.toSeq.flatMap { case ((footer, protections), file) =>
      protections.map { case (path, protection) => path.toSeq -> (keyOf(protection, footer) -> file) }
    }
    val byColumn = columns.groupBy(_._1).map { case (path, found) =>
      path -> one(table, s"column '${path.mkString(".")}'", found.map(_._2))
    }
    TablePolicy(footerKey, byColumn.toSeq.sortBy(_._1.mkString("\u0000")))
  }

  private def keyOf(protection: ColumnProtection, footer: Option[String]): Option[String] = protection match {
    case ColumnProtection.Plaintext => None
    case ColumnProtection.FooterKey => footer
    case ColumnProtection.ColumnKey(id) => Some(id)
  }

  private def one(table: String, what: String, found: Seq[(Option[String], String)]): Option[String] =
    found.distinct.groupBy(_._1).toSeq.sortBy(_._1) match {
      case Seq() => None
      case Seq((key, _)) => key
      case several =>
        val places = several.map { case (key, files) =>
          s"${key.fold("no key")(id => s"'$id'")} in ${files.head._2}"
        }
        throw PmeErrors.unsupported(
          table,
          "sealing a table whose files differ in their keys",
          s"$what has ${places.mkString(", ")}",
          s"Give all files the same keys (${Audience.current.rekey}), or find out who wrote those that differ."
        )
    }
}
