package io.pmeparquet.spark.options

import java.lang.StackWalker.StackFrame
import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.CurrentOrigin

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

  /** Whether Spark is analysing the text of a view or function that a catalog keeps. */
  def isInDefinition: Boolean = {
    val at = CurrentOrigin.get
    // A temporary view has a name of one part.
    val isOfSession = at.objectType.contains("VIEW") && at.objectName.exists(!_.contains('.'))
    val isText = AnalysisContext.get.nestedViewDepth > 0 || at.objectType.isDefined
    (isText && !isOfSession) || Asker.isSqlFunction
  }
}

/**
 * Who asked Spark to create a file format or a V2 table. Spark does not say, so this looks at the call stack. It knows
 * only callers whose options are the user's own, and only if no code that resolves names in a catalog stands between
 * them and us.
 */
private[spark] sealed trait Asker

private[spark] object Asker {

  /** A reader, a writer or a statement, with its own options. */
  case object Statement extends Asker

  /** A statement that creates a table from a query, or appends to an existing one. */
  case object TableOfQuery extends Asker

  /** A caller that does not show the origin by itself: the relation of a table, a batch of a stream, or unknown code. */
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

  private val Analysis = Set("RuleExecutor", "Analyzer")

  /** The search ends at these. They resolve names in a catalog, or run code that may. */
  private val Ends = Set("FindDataSourceTable", "FileStreamSource") ++ Analysis

  /** Who asked for the format or table that the calling code creates. */
  def here(): Asker = firstOf(callers)

  /**
   * Who made the plan that Spark analyzes now, for a rule of the analyzer that calls this. No other rule may intervene,
   * and no code but Spark's: both can make a plan from options that are kept somewhere.
   */
  def ofAnalyzed(): Asker = firstOf(
    callers
      .dropWhile(frame => !Analysis(nameOf(frame)))
      .takeWhile(isOfSpark)
      .filterNot(frame => Analysis(nameOf(frame)))
  )

  /** Code of Spark or the languages, and no rule. Table formats put code of their own into Spark's packages. */
  private def isOfSpark(frame: StackFrame) = {
    val name = frame.getClassName
    val isSparks =
      if (name.startsWith(Spark))
        SparkParts.contains(name.substring(Spark.length).takeWhile(_ != '.')) || isAtTop(name)
      else Others.exists(name.startsWith)
    isSparks && !classOf[Rule[_]].isAssignableFrom(frame.getDeclaringClass)
  }

  private def isAtTop(name: String) = name.lastIndexOf('.') == Spark.length - 1

  /** The packages below `org.apache.spark.sql` that a reader or writer runs through. */
  private val SparkParts =
    Set("api", "artifact", "catalyst", "classic", "connect", "execution", "internal", "streaming", "util")
  private val Others = Seq("org.apache.spark.", "scala.", "java.", "jdk.")

  private def firstOf(frames: Seq[StackFrame]): Asker = {
    val first = frames.map(nameOf).find(known)
    if (first.exists(TablesOfQueries)) TableOfQuery
    else if (first.exists(Statements) && !OptionOrigin.isInDefinition) Statement
    else Other
  }

  private def known(name: String) = Statements(name) || TablesOfQueries(name) || Ends(name)

  /** Spark analyzes the text of SQL functions without a context of its own, so this looks at the call stack. */
  def isSqlFunction: Boolean = callers.exists { frame =>
    frame.getClassName.startsWith(Spark) &&
    SqlFunction.exists(part => frame.getClassName.contains(part) || frame.getMethodName.contains(part))
  }

  /** The frames of the call stack, the innermost first. */
  private def callers: Seq[StackFrame] = {
    val frames = Seq.newBuilder[StackFrame]
    StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).forEach { frame =>
      frames += frame; ()
    }
    frames.result()
  }

  private val SqlFunction = Seq("SQLFunction", "SQLTableFunction")
  private val Spark = "org.apache.spark.sql."

  /** The simple name of a Spark class, without its package and inner classes. */
  private def nameOf(frame: StackFrame): String = {
    val name = frame.getClassName
    if (!name.startsWith(Spark)) "" else name.substring(name.lastIndexOf('.') + 1).takeWhile(_ != '$')
  }
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
