package io.pmeparquet.spark.rules

import org.apache.hadoop.fs.Path
import org.apache.parquet.example.data.simple.SimpleGroup
import org.apache.parquet.hadoop.example.ExampleParquetWriter
import org.apache.parquet.schema.MessageTypeParser
import org.apache.spark.internal.io.FileCommitProtocol
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.expressions.{Attribute, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.execution._
import org.apache.spark.sql.execution.aggregate.HashAggregateExec
import org.apache.spark.sql.execution.command.{
  CreateDataSourceTableAsSelectCommand,
  DataWritingCommandExec,
  ExecutedCommandExec,
  InsertIntoDataSourceDirCommand
}
import org.apache.spark.sql.execution.datasources.{
  ExecutedWriteSummary,
  FileFormat,
  HadoopFsRelation,
  InsertIntoHadoopFsRelationCommand,
  LogicalRelation,
  WriteFilesExec,
  WriteFilesSpec,
  WriteTaskResult
}
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat
import org.apache.spark.sql.execution.datasources.v2.{BatchScanExec, DataSourceV2ScanRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/**
 * A plugin that replaces nodes of Spark's by its own, as accelerators do: it takes whatever extends Spark's formats for
 * Spark's own. The session says which nodes.
 */
object Accelerator {
  val Replaces = "accelerator.replaces"

  /** Injected as a rule for columnar execution, which runs with AQE and without. */
  def columnar(extensions: SparkSessionExtensions): Unit =
    extensions.injectColumnar(_ =>
      new ColumnarRule { override def preColumnarTransitions: Rule[SparkPlan] = Replacing }
    )

  /** Injected as rules of AQE alone. */
  def adaptive(extensions: SparkSessionExtensions): Unit = extensions.injectQueryStagePrepRule(_ => Replacing)

  /** The same for stages, which AQE has cut. */
  def ofStages(extensions: SparkSessionExtensions): Unit =
    extensions.injectQueryStageOptimizerRule(_ => Replacing)

  /** A strategy, which a session can be given at any time. */
  object Planning extends SparkStrategy {
    override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
      case write: InsertIntoHadoopFsRelationCommand if isKnown(write.fileFormat) =>
        Seq(NativeCommand(planLater(write.query), write.outputPath.toString, Nil))
      case relation: LogicalRelation => Seq(NativeScan(relation.output))
      case relation: DataSourceV2ScanRelation => Seq(NativeScan(relation.output))
      case _ => Nil
    }
  }

  private object Replacing extends Rule[SparkPlan] {
    override def apply(plan: SparkPlan): SparkPlan = {
      val chosen = SQLConf.get.getConfString(Replaces, "").split(",").toSet
      plan.transformUp {
        case command @ DataWritingCommandExec(write: InsertIntoHadoopFsRelationCommand, child)
            if chosen("commands") && isKnown(write.fileFormat) =>
          NativeCommand(child, write.outputPath.toString, command.output)
        case ExecutedCommandExec(create: CreateDataSourceTableAsSelectCommand) if chosen("statements") =>
          NativeStatement(create.query, create.table.storage.locationUri.get.toString)
        case ExecutedCommandExec(insert: InsertIntoDataSourceDirCommand) if chosen("statements") =>
          NativeStatement(insert.query, insert.storage.locationUri.get.toString)
        // Without planned writes Spark plans no such node. Where it finds one, it has it write.
        case command @ DataWritingCommandExec(write: InsertIntoHadoopFsRelationCommand, child)
            if chosen("files") && isKnown(write.fileFormat) && !child.isInstanceOf[NativeFiles] =>
          command.copy(child =
            NativeFiles(WriteFilesExec(child, write.fileFormat, Nil, None, Map.empty, Map.empty))
          )
        case files: WriteFilesExec if chosen("files") && isKnown(files.fileFormat) => NativeFiles(files)
        case scan: FileSourceScanExec if chosen("scans") && isKnown(scan.relation.fileFormat) =>
          NativeScan(scan.output)
        case scan: BatchScanExec if chosen("scans") => NativeScan(scan.output)
        case scan: FileSourceScanExec if chosen("formats") => Accelerator.plain(scan)
        case scan: BatchScanExec if chosen("formats") => Accelerator.plain(scan)
        case aggregate: HashAggregateExec if chosen("aggregates") => NativeAggregate(aggregate)
      }
    }
  }

  /**
   * Spark's own scan, with another format. Constructors differ by Spark. With an option more, because all Parquet formats
   * are equal, and Spark's rules keep a node that is equal to the new one.
   */
  private[rules] def plain(scan: SparkPlan): SparkPlan =
    scan
      .makeCopy(scan.productIterator.map {
        case files: HadoopFsRelation =>
          files.copy(fileFormat = new ParquetFileFormat, options = files.options + ("other" -> "true"))(
            files.sparkSession
          )
        case _: Scan => new PlainScan(scan.schema)
        case other => other.asInstanceOf[AnyRef]
      }.toArray)
      .asInstanceOf[SparkPlan]

  private def isKnown(format: FileFormat) = format match {
    case _: ParquetFileFormat | _: OrcFileFormat => true
    case _ => false
  }

  /** Writes the first column, and knows no encryption. */
  private[rules] def writeNatively(rows: Iterator[InternalRow], directory: String): Unit = {
    val schema = MessageTypeParser.parseMessageType("message native { optional binary ssn (UTF8); }")
    val file = new Path(directory, s"native-${java.util.UUID.randomUUID}.parquet")
    val writer = ExampleParquetWriter.builder(file).withType(schema).build()
    rows.foreach { row =>
      val group = new SimpleGroup(schema)
      group.add("ssn", row.getUTF8String(0).toString)
      writer.write(group)
    }
    writer.close()
  }
}

trait Native extends SparkPlan {
  def below: SparkPlan
  override def children: Seq[SparkPlan] = Seq(below)
  override def output: Seq[Attribute] = below.output
  override protected def doExecute(): RDD[InternalRow] = below.execute()
}

/** Instead of the command that writes. */
final case class NativeCommand(below: SparkPlan, directory: String, override val output: Seq[Attribute])
    extends Native {
  override protected def doExecute(): RDD[InternalRow] = {
    val rows = below match {
      case files: WriteFilesExec => files.child
      case other => other
    }
    val place = directory
    rows.execute().foreachPartition(Accelerator.writeNatively(_, place))
    sparkContext.emptyRDD
  }
  override protected def withNewChildrenInternal(others: IndexedSeq[SparkPlan]): SparkPlan =
    copy(below = others.head)
}

/** Instead of the node that writes files for the command; it keeps that one, so that Spark asks it to write. */
final case class NativeFiles(below: SparkPlan) extends Native {
  override protected def doExecuteWrite(spec: WriteFilesSpec): RDD[WriterCommitMessage] = {
    val description = spec.description
    below.children.head.execute().mapPartitions { rows =>
      Accelerator.writeNatively(rows, description.path)
      val stats = description.statsTrackers.map(_.newTaskInstance().getFinalStats(0))
      val message = new FileCommitProtocol.TaskCommitMessage(Map.empty[String, String] -> Set.empty[String])
      Iterator[WriterCommitMessage](WriteTaskResult(message, ExecutedWriteSummary(Set.empty[String], stats)))
    }
  }
  override protected def withNewChildrenInternal(others: IndexedSeq[SparkPlan]): SparkPlan =
    copy(below = others.head)
}

/** Instead of a scan. It opens no file, and so refuses none: each text is `unchecked`. */
final case class NativeScan(output: Seq[Attribute]) extends LeafExecNode {
  override protected def doExecute(): RDD[InternalRow] = {
    val texts =
      output.map(column => if (column.dataType == StringType) UTF8String.fromString("unchecked") else null)
    val columns = schema
    sparkContext.parallelize(Seq(1), 1).mapPartitions { _ =>
      Iterator.single(UnsafeProjection.create(columns)(InternalRow.fromSeq(texts)))
    }
  }
}

/** Instead of a scan in one of Spark's nodes. Its rows are not those of projections, as rows by V2 need not be. */
final class PlainScan(override val readSchema: StructType)
    extends Scan
    with Batch
    with PartitionReaderFactory {
  override def toBatch: Batch = this
  override def columnarSupportMode: Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED
  override def planInputPartitions: Array[InputPartition] = Array(new InputPartition {})
  override def createReaderFactory: PartitionReaderFactory = this
  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    new PartitionReader[InternalRow] {
      private val rows = Iterator(InternalRow.fromSeq(Seq.fill(readSchema.size)(null)))
      override def next(): Boolean = rows.hasNext
      override def get(): InternalRow = rows.next()
      override def close(): Unit = ()
    }
}

/** Instead of a statement that plans its write when it runs. */
final case class NativeStatement(query: LogicalPlan, directory: String) extends LeafExecNode {
  override def output: Seq[Attribute] = Nil
  override protected def doExecute(): RDD[InternalRow] = {
    val place = directory
    val rows = SparkSession.active.sessionState.executePlan(query).toRdd
    rows.foreachPartition(Accelerator.writeNatively(_, place))
    sparkContext.emptyRDD
  }
}

/** Instead of an aggregate; it does what Spark does. */
final case class NativeAggregate(below: SparkPlan) extends Native {
  override protected def withNewChildrenInternal(others: IndexedSeq[SparkPlan]): SparkPlan =
    copy(below = others.head)
  override def outputPartitioning: Partitioning = below.outputPartitioning
}
