package io.pmeparquet.spark.rules

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{
  ExecSubqueryExpression,
  FileSourceScanExec,
  SparkPlan,
  SparkStrategy,
  UnaryExecNode
}
import org.apache.spark.sql.execution.columnar.InMemoryTableScanExec
import org.apache.spark.sql.execution.command.{
  DataWritingCommand,
  DataWritingCommandExec,
  ExecutedCommandExec,
  RunnableCommand
}
import org.apache.spark.sql.execution.datasources.{
  FileFormat,
  FileSourceStrategy,
  InsertIntoHadoopFsRelationCommand,
  WriteFiles,
  WriteFilesExec
}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{
  BatchScanExec,
  DataSourceV2ScanRelation,
  DataSourceV2Strategy
}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.read.{EncryptedFileFormat, EncryptedFileScan, EncryptedParquetFormat}
import io.pmeparquet.spark.session.{PmeSparkException, SparkAccess}
import io.pmeparquet.PmeErrors

/**
 * Keeps plugins from taking our formats for Spark's own. Our formats extend Spark's, because Spark demands it, and a plugin
 * that runs scans and writes itself would write plaintext, or read past all checks.
 *
 * This strategy plans our scans and writes as Spark does. It must be the first of the session, because the first one that
 * plans a node wins. Rules change physical plans afterwards, so where there are any, it puts a node of ours
 * ([[UnreplacedExec]]) above each scan and write: when that one runs, the plan below is final. ''Driver only.''
 */
private[spark] object PlanOurs extends SparkStrategy {

  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case write: DataWritingCommand if encrypts(write) =>
      Seq(guarded(DataWritingCommandExec(write, planLater(write.query))))
    case command: RunnableCommand if encrypts(command) => Seq(guarded(ExecutedCommandExec(command)))
    case _ =>
      plan.collectLeaves() match {
        case Seq(FileRelation(_, _: EncryptedParquetFormat)) => scans(KeepFilters(plan))
        case Seq(FileRelation(_, _: EncryptedFileFormat)) => scans(FileSourceStrategy(plan))
        case Seq(leaf: DataSourceV2ScanRelation) if leaf.scan.isInstanceOf[EncryptedFileScan] =>
          scans(ofV2(plan))
        case _ => Nil
      }
  }

  /** Whether the write encrypts, by our format or by our crypto factory. */
  private def encrypts(write: DataWritingCommand): Boolean = write match {
    case files: InsertIntoHadoopFsRelationCommand =>
      files.fileFormat match {
        case _: EncryptedFileFormat => true
        case _: ParquetFileFormat => isFactoryOurs(files.options)
        case _ => false
      }
    // Hive's commands, which are in a jar that not every Spark has.
    case _ => isFactoryOurs(Map.empty)
  }

  /** Whether a command plans a write that encrypts when it runs, such as `CREATE TABLE … AS SELECT`. */
  private def encrypts(command: RunnableCommand): Boolean =
    FormatOptions.writes(command).exists(write => write.ours || isFactoryOurs(write.options))

  private def isFactoryOurs(options: Map[String, String]) =
    CryptoFactory.isOurs(SparkAccess.hadoopConf(SparkSession.active, options))

  /** By Spark's strategy for V2, which plans a scan only with projections and filters directly above it. */
  private def ofV2(plan: LogicalPlan): Seq[SparkPlan] =
    SparkSession.active.sessionState.planner.strategies
      .collectFirst { case sparks: DataSourceV2Strategy => sparks(plan) }
      .getOrElse(Nil)

  /** @return none if the plans have no scan of ours yet, so that other strategies plan the node */
  private def scans(plans: Seq[SparkPlan]): Seq[SparkPlan] =
    plans.filter(_.exists(isScan)).map(_.transformUp { case scan if isScan(scan) => guarded(scan) })

  private def isScan(node: SparkPlan) = node match {
    case scan: FileSourceScanExec => scan.relation.fileFormat.isInstanceOf[EncryptedFileFormat]
    case scan: BatchScanExec => scan.scan.isInstanceOf[EncryptedFileScan]
    case _ => false
  }

  private def guarded(node: SparkPlan): SparkPlan =
    if (PhysicalRules.areThere) UnreplacedExec.of(node) else node
}

/** Whether a session has rules for physical plans, which extensions inject: ours injects none. ''Driver only.'' */
private[spark] object PhysicalRules {
  // Those of AQE that get logical plans, which strategies plan again.
  private val OfLogicalPlans = "runtimeOptimizerRules"

  def areThere: Boolean = {
    val state = SparkSession.active.sessionState
    orUnsaid(state.columnarRules.nonEmpty || ofAdaptive(state.adaptiveRulesHolder))
  }

  /** Also true if this Spark does not say. */
  private[rules] def orUnsaid(found: => Boolean): Boolean =
    try found
    catch { case _: ReflectiveOperationException | _: LinkageError => true }

  /** Whatever lists of rules this Spark has. */
  private[rules] def ofAdaptive(holder: AnyRef) =
    holder.getClass.getDeclaredFields.filter(_.getName != OfLogicalPlans).exists { field =>
      field.setAccessible(true)
      field.get(holder) match {
        case rules: scala.collection.Seq[_] => rules.nonEmpty
        case _ => true
      }
    }
}

/**
 * Runs its child only if that is the node that was planned. It changes no row and no property of the plan. AQE looks for
 * shuffles below unary nodes only. ''Driver only.''
 *
 * @param planned the classes of the node, and of the format or scan in it
 * @param where what is written or read, for messages
 */
private[spark] final case class UnreplacedExec(child: SparkPlan, planned: Seq[Class[_]], where: String)
    extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override def supportsColumnar: Boolean = child.supportsColumnar
  override def supportsRowBased: Boolean = child.supportsRowBased
  override def vectorTypes: Option[Seq[String]] = child.vectorTypes

  override protected def doExecute(): RDD[InternalRow] = child match {
    case _: BatchScanExec => UnreplacedExec.unsafe(checked.execute(), schema)
    case _ => checked.execute()
  }
  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = checked.executeColumnar()

  /** A command's result is there, and needs no job; rows of scans must be `unsafe` here as well. */
  override def executeCollect(): Array[InternalRow] = child match {
    case _: DataWritingCommandExec | _: ExecutedCommandExec => checked.executeCollect()
    case _ => super.executeCollect()
  }

  /** With all nodes below: an overwrite deletes files before it reads. */
  private def checked: SparkPlan = PmeSparkException.translated {
    foreach { case node: UnreplacedExec => node.check(); case _ => () }
    if (child.isInstanceOf[DataWritingCommandExec]) foreach(checkInside)
    child
  }

  /** Plans that are not below a node are checked when they run, so what Spark would run after the write has begun runs now. */
  private def checkInside(node: SparkPlan): Unit = {
    node match {
      // Plans the cache's rows if it is not filled, and computes none.
      case cached: InMemoryTableScanExec => cached.relation.cacheBuilder.cachedColumnBuffers
      case _ => ()
    }
    node.expressions.foreach(_.foreach {
      case subquery: ExecSubqueryExpression =>
        subquery.plan.prepare()
        subquery.updateResult()
      case _ => ()
    })
  }

  private def check(): Unit = if (UnreplacedExec.classes(child) != planned) refuse(child, planned)
  else
    child match {
      case write: DataWritingCommandExec if !isSparks(write) =>
        refuse(write.child, Seq(classOf[WriteFilesExec]))
      case _ => ()
    }

  /** Whether Spark's own code writes the files: what it asks to write is the child, if that one can. */
  private def isSparks(write: DataWritingCommandExec) =
    if (write.cmd.query.isInstanceOf[WriteFiles]) write.child.getClass == classOf[WriteFilesExec]
    else !UnreplacedExec.writes(write.child)

  private def refuse(found: SparkPlan, instead: Seq[Class[_]]) =
    throw PmeErrors.replacedNode(
      where = where,
      found = UnreplacedExec.classes(found).map(_.getName).mkString(" with "),
      planned = instead.map(_.getSimpleName).mkString(" with ")
    )

  override protected def withNewChildInternal(other: SparkPlan): SparkPlan = copy(child = other)
  override protected def stringArgs: Iterator[Any] = Iterator.empty
}

private[spark] object UnreplacedExec {

  /** @param node that Spark has planned */
  def of(node: SparkPlan): UnreplacedExec = UnreplacedExec(node, classes(node), place(node))

  private def classes(node: SparkPlan): Seq[Class[_]] = node.getClass +: (node match {
    case scan: FileSourceScanExec => Seq(scan.relation.fileFormat.getClass)
    case scan: BatchScanExec => Seq(scan.scan.getClass)
    case command: ExecutedCommandExec => Seq(command.cmd.getClass)
    case write: DataWritingCommandExec => write.cmd.getClass +: format(write).map(_.getClass).toSeq
    case _ => Nil
  })

  private def format(write: DataWritingCommandExec): Option[FileFormat] = write.cmd match {
    case files: InsertIntoHadoopFsRelationCommand => Some(files.fileFormat)
    case _ => None
  }

  private def place(node: SparkPlan): String = node match {
    case scan: FileSourceScanExec => scan.relation.location.rootPaths.headOption.fold("a scan")(_.toString)
    case DataWritingCommandExec(files: InsertIntoHadoopFsRelationCommand, _) => files.outputPath.toString
    case DataWritingCommandExec(command, _) => command.nodeName
    case other => other.nodeName
  }

  /**
   * Rows as projections make them: Spark removes one directly above a scan by V2 only if it needs none for that, and does not
   * see such a scan below our node.
   */
  private def unsafe(rows: RDD[InternalRow], schema: StructType): RDD[InternalRow] = rows.mapPartitions {
    rows =>
      lazy val projection = UnsafeProjection.create(schema)
      rows.map {
        case unsafe: UnsafeRow => unsafe
        case other => projection(other)
      }
  }

  /** Whether the node itself can write files, as `SparkPlan.executeWrite` asks it to. */
  private def writes(node: SparkPlan): Boolean =
    Iterator
      .iterate[Class[_]](node.getClass)(_.getSuperclass)
      .takeWhile(_ != classOf[SparkPlan])
      .exists(_.getDeclaredMethods.exists(_.getName == "doExecuteWrite"))
}
