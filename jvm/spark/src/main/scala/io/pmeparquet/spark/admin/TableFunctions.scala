package io.pmeparquet.spark.admin

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  Expression,
  ExpressionInfo,
  UnsafeProjection
}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.parquet.verify.Sample
import io.pmeparquet.spark.admin.job.ResultRows
import io.pmeparquet.spark.admin.seal.{IndexRequests, SealResult, Sealing, SnapshotVersions}
import io.pmeparquet.spark.options.{Asker, OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * Rotation, key usage, verification, sealing and the doctor, for users who have only SQL.
 * {{{
 * SELECT * FROM pme_rotate('s3a://…/table', master_keys => map('2024', '2025'), options => map('kms', 'vault', …))
 * SELECT * FROM pme_key_usage('s3a://…/table')
 * SELECT * FROM pme_verify('s3a://…/table', files => 0.1)
 * SELECT * FROM pme_seal('s3a://…/table', min_max => array('id'))
 * SELECT * FROM pme_snapshots('s3a://…/table')
 * SELECT * FROM pme_doctor(options => map('kms', 'vault', …))
 * }}}
 * A function checks its arguments when Spark analyses the statement, and runs when Spark asks for its rows. ''Driver
 * only.''
 */
private[pmeparquet] object TableFunctions {
  type Function = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  private def all: Seq[Function] = Seq(rotate, keyUsage, verify, seal, snapshots, doctor)

  /**
   * The functions for a session extension. Some versions of Spark prefer an extension's function to one that the user
   * registers by the same name, so each of these calls the user's function if there is one.
   *
   * @param more functions that only the extension brings
   */
  def ofExtension(more: Seq[Function]): Seq[Function] = (all ++ more).map { case (name, info, builder) =>
    (name, info, (arguments: Seq[Expression]) => usersOwn(name).getOrElse(builder)(arguments))
  }

  private def usersOwn(name: FunctionIdentifier): Option[Seq[Expression] => LogicalPlan] =
    SparkSession.getActiveSession.map(_.sessionState.tableFunctionRegistry).flatMap { registry =>
      registry
        .listFunction()
        .filter(_.funcName == name.funcName)
        .find(one => registry.lookupFunction(one).exists(_.getClassName != getClass.getName))
        .flatMap(registry.lookupFunctionBuilder)
    }

  /** Registers the functions, except for names that the user has given to other functions. */
  def install(session: SparkSession): Unit = {
    val registry = session.sessionState.tableFunctionRegistry
    // This compares last names, because the qualifier that Spark adds has changed between versions.
    val taken = registry.listFunction().map(_.funcName).toSet
    all.foreach { case (name, _, builder) =>
      if (!taken(name.funcName)) registry.createOrReplaceTempFunction(name.funcName, builder, "scala_udf")
    }
  }

  /** A function that changes a table, with options and nothing else. */
  private[pmeparquet] def changing[A](name: String, what: String, results: ResultRows[A])(
      change: (SparkSession, String, Map[String, String]) => A
  ): Function =
    ofPath(name, s"_FUNC_(path, options => map) - $what", Seq(Path, Options), results) { arguments =>
      refuseInDefinition(name)
      val options = checked(arguments)
      (session, path) => Seq(change(session, path, options))
    }

  private val Path = "path"
  private val Options = "options"

  private def rotate: Function = {
    val usage = "_FUNC_(path, master_keys => map, options => map, new_kms => map, key_material => string, " +
      "dry_run => boolean, allow_unused => boolean) - Rotates the master keys of an encrypted table, and returns a row for each file."
    val names = Seq(Path, "master_keys", Options, "new_kms", "key_material", "dry_run", "allow_unused")
    ofPath("pme_rotate", usage, names, FileReport.results) { arguments =>
      val options = optionsOf(arguments)
      val settings = RotationSettings(
        arguments.map("new_kms"),
        arguments.map("master_keys"),
        arguments.text("key_material"),
        arguments.flag("dry_run").getOrElse(false),
        arguments.flag("allow_unused").getOrElse(false)
      )
      settings.check()
      refuseInDefinition("pme_rotate")
      (options +: settings.newKms.toSeq).foreach(checkNames)
      (session, path) => Rotation.reports(session, path, options, settings)
    }
  }

  private def keyUsage: Function = {
    val usage =
      "_FUNC_(path, options => map) - Lists which master keys protect which columns of an encrypted table."
    ofPath("pme_key_usage", usage, Seq(Path, Options), KeyUsage.results) { arguments =>
      val options = checked(arguments)
      (session, path) => KeyUsage.found(session, path, options)
    }
  }

  private def verify: Function = {
    val usage =
      "_FUNC_(path, options => map, files => number, pages => number, seed => number, all_files => boolean) - Opens every " +
        "module of an encrypted table, and returns a row for each problem."
    val names = Seq(Path, Options, "files", "pages", "seed", "all_files")
    ofPath("pme_verify", usage, names, Verification.results) { arguments =>
      val options = checked(arguments)
      val all = Sample()
      val sample = Sample(
        arguments.number("files").getOrElse(all.files),
        arguments.number("pages").getOrElse(all.pages),
        arguments.number("seed").fold(all.seed)(_.toLong)
      )
      val allFiles = arguments.flag("all_files").getOrElse(false)
      (session, path) => Verification.findings(session, path, options, sample, allFiles)
    }
  }

  private def seal: Function = {
    val usage =
      "_FUNC_(path, options => map, expect => string, min_max => array, value_list => array, bloom => array) - Seals a table, with indexes " +
        "of some columns, and returns a row for the version that it made."
    ofPath(
      "pme_seal",
      usage,
      Seq(Path, Options, "expect") ++ IndexArguments.map(_._1),
      SealResult.results
    ) { arguments =>
      val options = optionsOf(arguments)
      val named = IndexArguments.flatMap { case (name, kind) => arguments.texts(name).map(kind -> _) }
      val indexes = named.flatMap { case (kind, columns) => columns.map(IndexRequests.of(_, kind)) }
      refuseInDefinition("pme_seal")
      checkNames(options)
      val expect = arguments.text("expect")
      (session, path) =>
        Seq(Sealing.seal(session, path, options, if (named.isEmpty) None else Some(indexes), expect))
    }
  }

  private val IndexArguments =
    Seq("min_max" -> "minMax", "value_list" -> "valueList", "bloom" -> "bloom").map { case (name, kind) =>
      name -> SummaryKind.parse(kind, Nil)
    }

  private def snapshots: Function = {
    val usage =
      "_FUNC_(path, options => map) - Checks the seals of all versions of a sealed table, and returns a row for each version."
    ofPath("pme_snapshots", usage, Seq(Path, Options), SnapshotVersions.results) { arguments =>
      val options = checked(arguments)
      (session, path) => SnapshotVersions.all(session, path, options)
    }
  }

  private def doctor: Function = {
    val usage =
      "_FUNC_(options => map, wheel => string) - Checks that everything the format needs is installed and compatible, " +
        "and returns a row for each check."
    function("pme_doctor", usage, Seq(Options, "wheel"), Doctor.results) { arguments =>
      val options = optionsOf(arguments)
      // In other statements, its rows report bad options.
      if (Asker.isInDefinition) checkNames(options)
      val wheel = arguments.text("wheel")
      "" -> (Doctor.examine(_, options, wheel))
    }
  }

  /** A function whose first argument is a path. */
  private def ofPath[A](name: String, usage: String, names: Seq[String], results: ResultRows[A])(
      prepare: FunctionArguments => (SparkSession, String) => Seq[A]
  ): Function = function(name, usage, names, results) { arguments =>
    val path = arguments
      .text(Path)
      .filter(_.nonEmpty)
      .getOrElse(throw arguments.bad(Path, "it is missing", "Give a table's directory, or one file."))
    val run = prepare(arguments)
    path -> (run(_, path))
  }

  private def function[A](name: String, usage: String, names: Seq[String], results: ResultRows[A])(
      prepare: FunctionArguments => (String, SparkSession => Seq[A])
  ): Function = {
    val info = new ExpressionInfo(getClass.getName, null, name, usage, "", "", "", "", "", "", "")
    val builder = (expressions: Seq[Expression]) =>
      PmeSparkException.translated {
        val (path, run) = prepare(FunctionArguments.of(name, names, expressions))
        val call = new FunctionCall(name, path, results.schema)(run(_).map(results.row))
        FunctionRelation(call.output, call): LogicalPlan
      }
    (FunctionIdentifier(name), info, builder)
  }

  private def optionsOf(arguments: FunctionArguments): Map[String, String] =
    arguments.map(Options).getOrElse(Map.empty)

  private def checked(arguments: FunctionArguments): Map[String, String] = {
    val options = optionsOf(arguments)
    checkNames(options)
    options
  }

  /** In the text of a stored view, the options do not come from the user who reads the view. */
  private def checkNames(options: Map[String, String]): Unit =
    SparkSession.getActiveSession.foreach { session =>
      if (Asker.isInDefinition) ResolvedOptions.of(session, OptionOrigin.Unknown, options).check()
      else ResolvedOptions.ofFrame(session, options).checkNames()
    }

  private def refuseInDefinition(function: String): Unit =
    if (Asker.isInDefinition)
      throw PmeErrors.unsupported(
        function,
        "a call in a stored view or function",
        "it would change or seal files with the keys of everybody who reads the view",
        "Call it in a statement of its own."
      )
}

/**
 * A call of one of our functions in a statement. It runs when Spark first asks for rows, and only once for all plans of
 * the statement: otherwise both sides of a self-join would rotate at the same time. After a failure it runs again.
 *
 * ''Driver only.''
 */
private[admin] final class FunctionCall(name: String, path: String, schema: StructType)(
    run: SparkSession => Seq[Row]
) {
  private var answer: Option[Seq[Row]] = None

  def rows(session: SparkSession): Seq[Row] = synchronized {
    val rows = answer.getOrElse(PmeSparkException.translated(run(session)))
    answer = Some(rows)
    rows
  }

  def output: Seq[AttributeReference] =
    schema.map(field => AttributeReference(field.name, field.dataType, field.nullable)())

  def toInternal: Any => Any = CatalystTypeConverters.createToCatalystConverter(schema)

  /** Plans show this, so it has no values of options. */
  override def toString: String = s"$name $path"
}

/** A call of a function in an analysed plan. The function has not run yet. */
private[admin] final case class FunctionRelation(output: Seq[Attribute], @transient call: FunctionCall)
    extends LeafNode
    with MultiInstanceRelation {
  override def newInstance(): LogicalPlan = copy(output = output.map(_.newInstance()))
  override def computeStats(): Statistics = Statistics(sizeInBytes = BigInt(conf.defaultSizeInBytes))
  override protected def stringArgs: Iterator[Any] = Iterator(call)
}

private[spark] object PlanFunctions extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case FunctionRelation(output, call) => Seq(FunctionExec(output, call))
    case _ => Nil
  }
}

/** Runs the function to its end before it returns the first row, so that no `LIMIT` stops a rotation half-way. */
private[admin] final case class FunctionExec(output: Seq[Attribute], @transient call: FunctionCall)
    extends LeafExecNode {

  override protected def doExecute(): RDD[InternalRow] = {
    val toInternal = call.toInternal
    val toUnsafe = UnsafeProjection.create(output, output)
    val rows: Seq[InternalRow] =
      call.rows(session).map(row => toUnsafe(toInternal(row).asInstanceOf[InternalRow]).copy())
    sparkContext.parallelize(rows, rows.size.min(sparkContext.defaultParallelism).max(1))
  }

  override protected def stringArgs: Iterator[Any] = Iterator(call)
}
