package io.pmeparquet.spark.options

import java.lang.StackWalker.StackFrame
import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.trees.CurrentOrigin

import io.pmeparquet.spark.session.SparkVersions

/**
 * Whose the options of one read or write are: the user's, who gave them to it, or those of a definition that a catalog
 * keeps and somebody else may have written. Spark hands a format both in one map. Where it cannot be told they count as
 * a definition's. ''Driver only.''
 */
private[spark] sealed trait OptionOrigin {

  /** Of these options, those that come out of a definition. */
  def stored(options: Map[String, String]): Map[String, String]
}

private[spark] object OptionOrigin {

  /** All of them stand in the statement, or were given to its reader or writer. */
  case object Frame extends OptionOrigin {
    override def stored(options: Map[String, String]): Map[String, String] = Map.empty
  }

  /**
   * @param table catalog, database and name, where it is known which one it is
   * @param said what its definition says, names in small letters: one may stand there twice
   * @param hasMore whether options beside these may come from another definition, as a view's text
   */
  final case class Stored(table: Option[Seq[String]], said: Set[(String, String)], hasMore: Boolean)
      extends OptionOrigin {

    // What the user gave with the same value as the definition cannot be told from it.
    override def stored(options: Map[String, String]): Map[String, String] =
      if (hasMore) options else options.filter(isSaid)

    /** Of these options, those that may come from another definition than the table's. */
    def beside(options: Map[String, String]): Map[String, String] =
      if (hasMore) options.filterNot(isSaid) else Map.empty

    // The path is where the catalog has the table's files.
    private def isSaid(option: (String, String)): Boolean = {
      val known = option._1.toLowerCase(Locale.ROOT)
      known == "path" || said.contains(known -> option._2)
    }
  }

  val Unknown: OptionOrigin = Stored(None, Set.empty, hasMore = true)

  /** @param hasMore whether options beside its own may come from another definition, as a view's text */
  def of(table: CatalogTable, hasMore: Boolean): OptionOrigin = {
    val id = table.identifier
    val name = Seq(id.catalog.getOrElse("spark_catalog"), id.database.getOrElse("default"), id.table)
    Stored(Some(name), saidBy(table), hasMore)
  }

  private def saidBy(table: CatalogTable): Set[(String, String)] =
    table.storage.properties.toSeq.map { case (option, value) =>
      option.toLowerCase(Locale.ROOT) -> value
    }.toSet

  /** Whether these options are more than what a table's definition says, and where its files are. */
  def hasMore(options: Map[String, String], table: CatalogTable): Boolean =
    Stored(None, saidBy(table), hasMore = true).beside(options).nonEmpty

  /** Whether what is analysed at the moment is the text of a view or function that a catalog keeps. */
  def isInDefinition: Boolean = {
    val at = CurrentOrigin.get
    // A view of this session alone has a name of one part.
    val isOfSession = at.objectType.contains("VIEW") && at.objectName.exists(!_.contains('.'))
    val isText = AnalysisContext.get.nestedViewDepth > 0 || at.objectType.isDefined
    (isText && !isOfSession) || Asker.isSqlFunction
  }
}

/**
 * Who had Spark make a file format, or a table of the V2 side: Spark does not tell them. Only those are known whose
 * options are the user's own, and where nothing stands between them and us that resolves names of a catalog.
 */
private[spark] sealed trait Asker

private[spark] object Asker {

  /** A reader or writer, or a statement, with its own options. */
  case object Statement extends Asker

  /** A statement that makes a table of a query, or adds to one that is there. */
  case object TableOfQuery extends Asker

  /** Someone of whom more has to be known: a table's relation, a batch of a stream, a stranger. */
  case object Other extends Asker

  private val Statements = Set(
    "DataFrameReader",
    "DataStreamReader",
    "DataFrameWriter",
    "DataStreamWriter",
    "ResolveDataSource",
    "ResolveSQLOnFile",
    "CreateTempViewUsing",
    "CreateDataSourceTableCommand",
    "InsertIntoDataSourceDirCommand"
  )

  private val TablesOfQueries = Set("CreateDataSourceTableAsSelectCommand")

  /** Before one of these is met. They resolve what a catalog keeps, or run what may. */
  private val Ends = Set(
    "FindDataSourceTable",
    "FileStreamSource",
    "RuleExecutor",
    "Analyzer"
  )

  /** Of the code that calls this. */
  def here(): Asker = {
    val first = callers.map(classOf).find(known)
    if (first.exists(TablesOfQueries)) TableOfQuery
    else if (first.exists(Statements) && !OptionOrigin.isInDefinition) Statement
    else Other
  }

  private def known(name: String) = Statements(name) || TablesOfQueries(name) || Ends(name)

  /** Functions written in SQL are analysed in no context of their own. */
  def isSqlFunction: Boolean = callers.exists { frame =>
    frame.getClassName.startsWith(Spark) &&
    SqlFunction.exists(part => frame.getClassName.contains(part) || frame.getMethodName.contains(part))
  }

  /** Who is being called now, the last first. */
  private def callers: Seq[StackFrame] = {
    val frames = Seq.newBuilder[StackFrame]
    StackWalker.getInstance().forEach { frame => frames += frame; () }
    frames.result()
  }

  private val SqlFunction = Seq("SQLFunction", "SQLTableFunction")
  private val Spark = "org.apache.spark.sql."

  /** The plain name of a class of Spark's, whichever package and inner class it is in. */
  private def classOf(frame: StackFrame): String = {
    val name = frame.getClassName
    if (!name.startsWith(Spark)) "" else name.substring(name.lastIndexOf('.') + 1).takeWhile(_ != '$')
  }
}

/**
 * What one instance of our format knows of whose its options are.
 *
 * @param asker who had it made
 * @param told by [[TellOrigins]]
 * @param isStatement by [[NoteStatements]]: whether options beside the table's own are the statement's
 */
private[spark] final case class FormatOrigin(
    asker: Asker,
    told: Option[OptionOrigin] = None,
    isStatement: Option[Boolean] = None
) {

  def origin: OptionOrigin = asker match {
    case Asker.Statement => OptionOrigin.Frame
    case _ => told.getOrElse(OptionOrigin.Unknown)
  }

  /** Of a write to a table that is not there yet. */
  def ofNew: OptionOrigin = if (asker == Asker.Other) OptionOrigin.Unknown else OptionOrigin.Frame

  def told(origin: => OptionOrigin): FormatOrigin =
    if (asker == Asker.Statement || told.isDefined) this else copy(told = Some(origin))

  def notedOnce(statement: Boolean): FormatOrigin = copy(isStatement = Some(isStatement.getOrElse(statement)))

  def of(table: CatalogTable): OptionOrigin =
    OptionOrigin.of(table, hasMore = !isStatement.getOrElse(!SparkVersions.viewsMayHaveOptions))
}
