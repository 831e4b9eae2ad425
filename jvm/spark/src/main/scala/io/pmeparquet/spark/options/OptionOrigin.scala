package io.pmeparquet.spark.options

import java.util.Locale

import org.apache.spark.sql.catalyst.catalog.CatalogTable

import io.pmeparquet.spark.session.SparkVersions

/**
 * Where the options of one read or write come from. The user gave them to this read or write, or they are in a
 * definition that a catalog keeps and somebody else may have written. Spark gives a format both in one map. Options of
 * unknown origin count as a definition's. ''Driver only.''
 */
private[spark] sealed trait OptionOrigin {

  /** Those of these options that come from a definition. */
  def stored(options: Map[String, String]): Map[String, String]
}

private[spark] object OptionOrigin {

  /** The user gave all of them to the statement, the reader or the writer. */
  case object Frame extends OptionOrigin {
    override def stored(options: Map[String, String]): Map[String, String] = Map.empty
  }

  /**
   * @param table catalog, database and name, if known
   * @param entries the options in its definition, by lower-case names: it may have a name twice
   * @param hasMore whether other options may come from another definition, such as the text of a view
   */
  final case class Stored(table: Option[Seq[String]], entries: Set[(String, String)], hasMore: Boolean)
      extends OptionOrigin {

    // If the user gave an option with the same value as the definition, this cannot tell the two apart.
    override def stored(options: Map[String, String]): Map[String, String] =
      if (hasMore) options else options.filter(isEntry)

    /** Those of these options that may come from another definition than the table's. */
    def notOfTable(options: Map[String, String]): Map[String, String] =
      if (hasMore) options.filterNot(isEntry) else Map.empty

    /** Whether the table's definition has an option of this name. */
    def sets(name: String): Boolean = entries.exists(_._1 == name.toLowerCase(Locale.ROOT))

    // The catalog adds the path of the table's files.
    private def isEntry(option: (String, String)): Boolean = {
      val known = option._1.toLowerCase(Locale.ROOT)
      known == "path" || entries.contains(known -> option._2)
    }
  }

  val Unknown: OptionOrigin = Stored(None, Set.empty, hasMore = true)

  /**
   * @param hasMore whether options besides the table's own may come from another definition, such as the text of a view
   */
  def of(table: CatalogTable, hasMore: Boolean): OptionOrigin =
    Stored(Some(nameOf(table)), entriesOf(table), hasMore)

  /** Catalog, database and name. */
  def nameOf(table: CatalogTable): Seq[String] = {
    val id = table.identifier
    Seq(id.catalog.getOrElse("spark_catalog"), id.database.getOrElse("default"), id.table)
  }

  private def entriesOf(table: CatalogTable): Set[(String, String)] =
    table.storage.properties.toSeq.map { case (option, value) =>
      option.toLowerCase(Locale.ROOT) -> value
    }.toSet

  /** Whether these options include others than those in the table's definition and the path of its files. */
  def hasMore(options: Map[String, String], table: CatalogTable): Boolean =
    Stored(None, entriesOf(table), hasMore = true).notOfTable(options).nonEmpty
}

/**
 * What one instance of our format knows about the origin of its options.
 *
 * @param asker who asked Spark to create it
 * @param found what [[TellOrigins]] found
 * @param isStatement what [[NoteStatements]] found: whether options besides the table's own come from the statement
 */
private[spark] final case class FormatOrigin(
    asker: Asker,
    found: Option[OptionOrigin] = None,
    isStatement: Option[Boolean] = None
) {

  def origin: OptionOrigin = asker match {
    case Asker.Statement => OptionOrigin.Frame
    case _ => found.getOrElse(OptionOrigin.Unknown)
  }

  /** The origin of the options of a write to a new table. */
  def ofNew: OptionOrigin = if (asker == Asker.Other) OptionOrigin.Unknown else OptionOrigin.Frame

  def orFound(origin: => OptionOrigin): FormatOrigin =
    if (asker == Asker.Statement || found.isDefined) this else copy(found = Some(origin))

  def notedOnce(statement: Boolean): FormatOrigin = copy(isStatement = Some(isStatement.getOrElse(statement)))

  def of(table: CatalogTable): OptionOrigin =
    OptionOrigin.of(table, hasMore = !isStatement.getOrElse(!SparkVersions.viewsMayHaveOptions))
}
