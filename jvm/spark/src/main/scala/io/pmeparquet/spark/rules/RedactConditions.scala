package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.expressions.{And, Expression, Not, Or, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.SparkSession

import io.pmeparquet.spark.session.PmeSparkException

/**
 * Hides the text of conditions from Delta if the session wishes so (`deltaPredicates=redact`): each part of a condition
 * that would show a value of a protected column still chooses the same rows, but says nothing in Delta's log. What this
 * rule does not find, [[DeltaRules]] refuses afterwards. ''Driver only.''
 */
private[spark] final class RedactConditions(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = PmeSparkException.translated {
    lazy val settings = new DeltaSettings(session)
    plan.resolveOperatorsUp {
      case node if DeltaChanges.contains(node) && node.resolved && settings.redacts =>
        redacted(node, settings)
    }
  }

  private def redacted(node: LogicalPlan, settings: DeltaSettings) = {
    val isProtected =
      DeltaChanges.tablesIn(DeltaChanges.plansOf(node)).exists(settings.protectedOf(_).nonEmpty)
    val parts =
      if (isProtected)
        DeltaConditions.of(node, settings).showing(DeltaChanges.conditionsOf(node)).map(_._1)
      else Nil
    if (parts.isEmpty) node else DeltaChanges.withConditions(node, hide(_, parts))
  }

  /** Takes a condition apart as [[DeltaConditions]] does. */
  private def hide(condition: Expression, parts: Seq[Expression]): Expression = condition match {
    case And(left, right) => And(hide(left, parts), hide(right, parts))
    case Or(left, right) => Or(hide(left, parts), hide(right, parts))
    case Not(child) => Not(hide(child, parts))
    case part if parts.exists(_ eq part) => Redacted(part)
    case part => part
  }
}

/** The value of an expression, without its text. Optimizers see no comparison in it, and push nothing down. */
private[rules] final case class Redacted(child: Expression) extends UnaryExpression {
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def eval(input: InternalRow): Any = child.eval(input)
  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode =
    defineCodeGen(ctx, ev, identity)
  override def sql: String = Redacted.Text
  override def toString: String = Redacted.Text
  override protected def withNewChildInternal(newChild: Expression): Redacted = copy(child = newChild)
}

private[rules] object Redacted {

  /** In Delta's log. Nobody calls a function of this name. */
  val Text = "redacted_by_pme_parquet()"
}
