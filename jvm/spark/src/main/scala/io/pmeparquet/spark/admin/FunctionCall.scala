package io.pmeparquet.spark.admin

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics}
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan, SparkStrategy}
import org.apache.spark.sql.types.StructType

import io.pmeparquet.spark.session.PmeSparkException

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
