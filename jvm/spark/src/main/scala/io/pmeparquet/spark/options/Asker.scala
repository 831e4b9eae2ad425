package io.pmeparquet.spark.options

import java.lang.StackWalker.StackFrame

import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.CurrentOrigin

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
    else if (first.exists(Statements) && !isInDefinition) Statement
    else Other
  }

  private def known(name: String) = Statements(name) || TablesOfQueries(name) || Ends(name)

  /** Whether Spark is analysing the text of a view or function that a catalog keeps. */
  def isInDefinition: Boolean = {
    val at = CurrentOrigin.get
    // A temporary view has a name of one part.
    val isOfSession = at.objectType.contains("VIEW") && at.objectName.exists(!_.contains('.'))
    val isText = AnalysisContext.get.nestedViewDepth > 0 || at.objectType.isDefined
    (isText && !isOfSession) || isSqlFunction
  }

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
