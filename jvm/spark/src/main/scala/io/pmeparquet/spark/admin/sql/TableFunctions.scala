package io.pmeparquet.spark.admin.sql

import java.util.{Collections, Locale}

import scala.collection.JavaConverters._

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

import io.pmeparquet.options.PmeOptions
import io.pmeparquet.parquet.copy.Copied
import io.pmeparquet.parquet.summary.SummaryKind
import io.pmeparquet.parquet.verify.Sample
import io.pmeparquet.spark.admin._
import io.pmeparquet.spark.admin.job.ResultRows
import io.pmeparquet.spark.admin.recovery.Recovery
import io.pmeparquet.spark.admin.seal.{IndexRequests, SealResult, Sealing, SnapshotVersions}
import io.pmeparquet.spark.options.{Asker, OptionOrigin, ResolvedOptions}
import io.pmeparquet.spark.session.PmeSparkException
import io.pmeparquet.PmeErrors

/**
 * The operations on tables, for users who have only SQL.
 * {{{
 * SELECT * FROM pme_rotate('s3a://…/table', master_keys => map('2024', '2025'), options => map('kms', 'vault', …))
 * SELECT * FROM pme_verify('s3a://…/table', files => 0.1)
 * SELECT * FROM pme_encrypt('s3a://…/table', target => 's3a://…/encrypted', options => map('footerKey', 'k'))
 * }}}
 * A function is declared by its parameters, what it does, the columns of its rows, and what runs. It checks its arguments
 * when Spark analyses the statement, and runs when Spark asks for its rows. ''Driver only.''
 */
private[pmeparquet] object TableFunctions {
  type Function = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  private def all: Seq[Function] =
    Seq(rotate, compact, encrypt, rekey, decrypt, recover, keyUsage, verify, seal, snapshots, doctor)

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
    ofTable(name, what, results, changes = true)(Options) { arguments =>
      val options = optionsOf(arguments)
      (session, path) => Seq(change(session, path, options))
    }

  private val Path = Parameter.required("path")
  private val Options = Parameter.options("options")
  private val Target = Parameter.required("target")

  /** Those that only the read of a source takes. */
  private val SourceOptions = Parameter.options("source_options")
  private val InPlace = Parameter.flag("in_place")

  private def rotate: Function = {
    val (masterKeys, newKms) = (Parameter.map("master_keys"), Parameter.options("new_kms"))
    val (keyMaterial, dryRun) = (Parameter.text("key_material"), Parameter.flag("dry_run"))
    val allowUnused = Parameter.flag("allow_unused")
    val what = "Rotates the master keys of an encrypted table, and returns a row for each file."
    ofTable("pme_rotate", what, FileReport.results, changes = true)(
      masterKeys,
      Options,
      newKms,
      keyMaterial,
      dryRun,
      allowUnused
    ) { arguments =>
      val settings = RotationSettings(
        arguments(newKms),
        arguments(masterKeys),
        arguments(keyMaterial),
        arguments(dryRun).getOrElse(false),
        arguments(allowUnused).getOrElse(false)
      )
      settings.check()
      val options = optionsOf(arguments)
      (session, path) => Rotation.reports(session, path, options, settings)
    }
  }

  private def compact: Function = {
    val (targetSize, dryRun) = (Parameter.number("target_size"), Parameter.flag("dry_run"))
    val afterKill = Parameter.flag("after_kill")
    val what = "Merges small files of a table that have the same keys, and returns a row for each new file."
    ofTable("pme_compact", what, Compaction.results, changes = true)(Options, targetSize, dryRun, afterKill) {
      arguments =>
        val (options, target) =
          (optionsOf(arguments), arguments(targetSize).fold(Compaction.TargetBytes)(_.toLong))
        val (dry, killed) = (arguments(dryRun).getOrElse(false), arguments(afterKill).getOrElse(false))
        (session, path) =>
          Compaction.compact(session, path, options, target, dry, killed).merged.asScala.toSeq
    }
  }

  private def encrypt: Function = {
    val target = Parameter.text(Target.name)
    val what =
      "Encrypts a plaintext table to a copy or in place, and returns a row that says what was written. If files " +
        "fail in place, the statement fails."
    ofTable("pme_encrypt", what, EncryptedInPlace.results, changes = true)(
      target,
      Options,
      SourceOptions,
      InPlace
    ) { arguments =>
      val (write, source) = (optionsOf(arguments), arguments(SourceOptions).getOrElse(Map.empty))
      (arguments(target), arguments(InPlace).getOrElse(false)) match {
        case (None, true) =>
          (session, path) => Seq(TableCopies.encryptAllInPlace(session, path, source, write))
        case (Some(to), false) =>
          val read = sourceOf(arguments)
          (session, path) =>
            val made = TableCopies.encrypt(session, path, to, read.asJava, write.asJava)
            Seq(new EncryptedInPlace(made, 0, Collections.emptyList[FailedFile]))
        case _ =>
          throw PmeErrors.badArgument(
            "pme_encrypt",
            Target.name,
            "either it or in_place must be given",
            "Give the directory of a copy, or in_place => true."
          )
      }
    }
  }

  private def rekey: Function =
    copying("pme_rekey", "Copies an encrypted table with new data keys")(Options, SourceOptions) {
      arguments =>
        val (read, write) = (sourceOf(arguments), optionsOf(arguments))
        (session, path, target) => TableCopies.rekey(session, path, target, read.asJava, write.asJava)
    }

  private def decrypt: Function = {
    val writePlaintext = Parameter.flag("write_plaintext")
    copying("pme_decrypt", "Copies an encrypted table to a plaintext table")(Options, writePlaintext) {
      arguments =>
        val (read, confirmed) = (optionsOf(arguments), arguments(writePlaintext).getOrElse(false))
        (session, path, target) => TableCopies.decrypt(session, path, target, read.asJava, confirmed)
    }
  }

  private def copying(name: String, what: String)(parameters: Parameter[_]*)(
      prepare: FunctionArguments => (SparkSession, String, String) => Copied
  ): Function = {
    val text = s"$what, and returns a row that says what was written."
    ofTable(name, text, TableCopies.results, changes = true)(Target +: parameters: _*) { arguments =>
      val (to, copy) = (targetOf(arguments), prepare(arguments))
      (session, path) => Seq(copy(session, path, to))
    }
  }

  private def recover: Function = {
    val (lost, like) = (Parameter.required("lost"), Parameter.text("like"))
    val (unauthenticated, seal) = (Parameter.flag("unauthenticated"), Parameter.flag("seal"))
    val signing = Parameter.text("signing")
    val what =
      "Writes what is sound in a damaged table as a new table, and returns a row that says what came back and " +
        "what is lost."
    ofTable("pme_recover", what, Recovery.tableResults, changes = true)(
      Target,
      lost,
      Options,
      SourceOptions,
      unauthenticated,
      like,
      seal,
      signing
    ) { arguments =>
      val (to, rule) = (targetOf(arguments), arguments.required(lost, "'rows' or 'cells'"))
      val (read, write) = (sourceOf(arguments), optionsOf(arguments))
      val signer = arguments(signing).map(PmeOptions.SigningKey.name -> _)
      if (signer.isDefined && !arguments(seal).contains(true))
        throw PmeErrors.badArgument(
          "pme_recover",
          signing.name,
          "nothing is sealed",
          "Give seal => true as well."
        )
      // Names of columns are those of the source here, and no requirement.
      val sealing = arguments(seal).filter(identity).map(_ => (withoutColumns(write) ++ signer).asJava).orNull
      val (model, tagless) = (arguments(like).orNull, arguments(unauthenticated).getOrElse(false))
      (session, path) =>
        Seq(Recovery.recover(session, path, to, read.asJava, write.asJava, rule, tagless, model, sealing))
    }
  }

  private def keyUsage: Function =
    ofTable(
      "pme_key_usage",
      "Lists which master keys protect which columns of an encrypted table.",
      KeyUsage.results
    )(Options) { arguments =>
      val options = optionsOf(arguments)
      (session, path) => KeyUsage.found(session, path, options)
    }

  private def verify: Function = {
    val (files, pages) = (Parameter.number("files"), Parameter.number("pages"))
    val (seed, allFiles) = (Parameter.number("seed"), Parameter.flag("all_files"))
    val what = "Opens every module of an encrypted table, and returns a row for each problem."
    ofTable("pme_verify", what, Verification.results)(Options, files, pages, seed, allFiles) { arguments =>
      val options = optionsOf(arguments)
      val all = Sample()
      val sample = Sample(
        arguments(files).getOrElse(all.files),
        arguments(pages).getOrElse(all.pages),
        arguments(seed).fold(all.seed)(_.toLong)
      )
      val every = arguments(allFiles).getOrElse(false)
      (session, path) => Verification.findings(session, path, options, sample, every)
    }
  }

  private def seal: Function = {
    val expect = Parameter.text("expect")
    val kinds = Seq("min_max" -> "minMax", "value_list" -> "valueList", "bloom" -> "bloom").map {
      case (name, kind) => Parameter.texts(name) -> SummaryKind.parse(kind, Nil)
    }
    val what = "Seals a table, with indexes of some columns, and returns a row for the version that it made."
    ofTable("pme_seal", what, SealResult.results, changes = true)(
      Seq(Options, expect) ++ kinds.map(_._1): _*
    ) { arguments =>
      val named = kinds.flatMap { case (columns, kind) => arguments(columns).map(kind -> _) }
      val indexes = named.flatMap { case (kind, columns) => columns.map(IndexRequests.of(_, kind)) }
      val (options, confirmed) = (optionsOf(arguments), arguments(expect))
      (session, path) =>
        Seq(Sealing.seal(session, path, options, if (named.isEmpty) None else Some(indexes), confirmed))
    }
  }

  private def snapshots: Function =
    ofTable(
      "pme_snapshots",
      "Checks the seals of all versions of a sealed table, and returns a row for each version.",
      SnapshotVersions.results
    )(Options) { arguments =>
      val options = optionsOf(arguments)
      (session, path) => SnapshotVersions.all(session, path, options)
    }

  private def doctor: Function = {
    val wheel = Parameter.text("wheel")
    val what =
      "Checks that everything the format needs is installed and compatible, and returns a row for each check."
    function("pme_doctor", what, Seq(Options, wheel), Doctor.results) { arguments =>
      val options = optionsOf(arguments)
      // In other statements, its rows report bad options.
      if (Asker.isInDefinition) checkNames(options)
      val found = arguments(wheel)
      "" -> (Doctor.examine(_, options, found))
    }
  }

  /**
   * A function whose first argument is a table.
   *
   * @param changes whether it changes or writes files: then no stored view may call it
   * @param parameters the others
   * @param prepare checks the arguments, and returns what runs
   */
  private def ofTable[A](name: String, what: String, results: ResultRows[A], changes: Boolean = false)(
      parameters: Parameter[_]*
  )(prepare: FunctionArguments => (SparkSession, String) => Seq[A]): Function =
    function(name, what, Path +: parameters, results) { arguments =>
      val path = arguments.required(Path, "a table's directory, or one file")
      val run = prepare(arguments)
      if (changes) refuseInDefinition(name)
      parameters.filter(_.isOptions).foreach { one =>
        arguments(one).foreach(value => checkNames(value.asInstanceOf[Map[String, String]]))
      }
      path -> (run(_, path))
    }

  private def function[A](name: String, what: String, parameters: Seq[Parameter[_]], results: ResultRows[A])(
      prepare: FunctionArguments => (String, SparkSession => Seq[A])
  ): Function = {
    val usage = parameters.map(_.usage).mkString("_FUNC_(", ", ", s") - $what")
    val info = new ExpressionInfo(getClass.getName, null, name, usage, "", "", "", "", "", "", "")
    val builder = (expressions: Seq[Expression]) =>
      PmeSparkException.translated {
        val (path, run) = prepare(FunctionArguments.of(name, parameters.map(_.name), expressions))
        val call = new FunctionCall(name, path, results.schema)(run(_).map(results.row))
        FunctionRelation(call.output, call): LogicalPlan
      }
    (FunctionIdentifier(name), info, builder)
  }

  private def optionsOf(arguments: FunctionArguments): Map[String, String] =
    arguments(Options).getOrElse(Map.empty)

  private def targetOf(arguments: FunctionArguments): String =
    arguments.required(Target, "a new or empty directory")

  /** The options to read a source with: its keys are where those of the copy are, unless its own options say otherwise. */
  private def sourceOf(arguments: FunctionArguments): Map[String, String] = {
    val own = arguments(SourceOptions).getOrElse(Map.empty)
    val shared = optionsOf(arguments).filter { case (name, _) =>
      OfKms.exists(name.toLowerCase(Locale.ROOT).startsWith) && !own.keys.exists(_.equalsIgnoreCase(name))
    }
    shared ++ own
  }

  /** How the names of options begin that say where master keys are, in lower case. */
  private val OfKms =
    Seq("kms", s"${PmeOptions.ParquetPrefix}kms.", PmeOptions.AccessToken.name, "cryptoprovider")

  private def withoutColumns(write: Map[String, String]) = {
    val ofColumns = Seq(
      PmeOptions.FooterKey,
      PmeOptions.ColumnKeys,
      PmeOptions.UniformKey,
      PmeOptions.Unlisted,
      PmeOptions.PlaintextFooter
    )
    write.filterNot { case (name, _) => ofColumns.exists(_.name.equalsIgnoreCase(name)) }
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
