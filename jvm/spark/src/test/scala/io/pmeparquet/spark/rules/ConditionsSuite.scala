package io.pmeparquet.spark.rules

import org.apache.spark.sql.catalyst.dsl.plans._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{Count, First, Max}
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{LongType, StringType}

/** By which columns a node of a plan chooses rows or values; Spark need not run for this. */
class ConditionsSuite extends munit.FunSuite {
  private val id = AttributeReference("id", LongType)()
  private val ssn = AttributeReference("ssn", StringType)()
  private val other = AttributeReference("other", StringType)()
  private val people = LocalRelation(id, ssn)
  private val others = LocalRelation(other)
  private val x = Literal("x")

  private def result(expression: Expression) = Project(Seq(id, Alias(expression, "r")()), people)
  private def sorted(by: Expression) = Sort(Seq(SortOrder(by, Ascending)), global = true, people)
  private def joined(plan: LogicalPlan, condition: Expression) =
    Join(people, plan, Inner, Some(condition), JoinHint.NONE)

  private def chosenBy(plan: LogicalPlan) =
    Conditions.of(plan).flatMap(_.references.map(_.name)).distinct.sorted.mkString(", ")

  private val plans: Seq[(String, LogicalPlan, String)] = Seq(
    ("a filter", Filter(EqualTo(ssn, x), people), "ssn"),
    ("columns as they are", Project(Seq(id, ssn), people), ""),
    ("a function that is NULL for NULL", result(Upper(ssn)), ""),
    ("a test for NULL as a result", result(IsNull(ssn)), ""),
    ("a test for NULL in a function", result(Cast(IsNull(ssn), LongType)), "ssn"),
    ("IF", result(If(EqualTo(ssn, x), id, Literal(0L))), "ssn"),
    ("a default for NULL", result(Coalesce(Seq(ssn, x))), "ssn"),
    ("groups", Aggregate(Seq(ssn), Seq(ssn), people), "ssn"),
    ("an aggregate in groups of another column", maxBy(id), "id"),
    ("the number of distinct values", counted(isDistinct = true), "ssn"),
    ("the number of values", counted(isDistinct = false), ""),
    ("the first of sorted rows", Aggregate(Nil, Seq(first), sorted(ssn)), "ssn"),
    ("the order alone", sorted(ssn), ""),
    ("a limit of sorted rows", GlobalLimit(Literal(3), sorted(ssn)), "ssn"),
    ("a join", joined(others, EqualTo(ssn, other)), "other, ssn"),
    (
      "a join without rows of the other side",
      Join(people, others, LeftAnti, Some(EqualTo(ssn, other)), none),
      "other, ssn"
    ),
    ("rows without duplicates", people.deduplicate(ssn), "ssn"),
    ("a node that keeps distinct rows", Distinct(people), "id, ssn"),
    ("a union", Union(Seq(people, people)), "")
  )

  private def none = JoinHint.NONE
  private def first = Alias(First(id, ignoreNulls = false).toAggregateExpression(), "f")()
  private def maxBy(group: Attribute) =
    Aggregate(Seq(group), Seq(group, Alias(Max(ssn).toAggregateExpression(), "m")()), people)
  private def counted(isDistinct: Boolean) =
    Aggregate(Nil, Seq(Alias(Count(ssn).toAggregateExpression(isDistinct), "c")()), people)

  plans.foreach { case (name, plan, columns) =>
    test(s"$name: ${if (columns.isEmpty) "chooses by no column" else s"chooses by $columns"}") {
      assertEquals(chosenBy(plan), columns)
    }
  }
}
