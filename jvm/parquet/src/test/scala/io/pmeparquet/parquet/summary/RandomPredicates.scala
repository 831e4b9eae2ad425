package io.pmeparquet.parquet.summary

import scala.collection.JavaConverters._
import scala.util.Random

import org.apache.parquet.filter2.predicate.{
  FilterApi,
  FilterPredicate,
  Operators,
  Statistics,
  UserDefinedPredicate
}
import org.apache.parquet.io.api.Binary
import org.apache.parquet.schema.PrimitiveType

/** Random predicates, and whether a row may match one by brute force: as SQL compares, or as parquet-java does. */
private[summary] object RandomPredicates {

  /** Keeps some values, and perhaps null. It lets statistics drop only what has none of them between its bounds. */
  final class Keep[T <: Comparable[T]](
      kept: Set[AnyRef],
      withNull: Boolean,
      order: java.util.Comparator[AnyRef]
  ) extends UserDefinedPredicate[T]
      with Serializable {
    override def acceptsNullValue(): Boolean = withNull
    def keeps(value: AnyRef): Boolean = keep(value.asInstanceOf[T])
    override def keep(value: T): Boolean =
      if (value == null) withNull else kept.contains(value.asInstanceOf[AnyRef])
    override def canDrop(statistics: Statistics[T]): Boolean =
      !kept.exists { value =>
        order.compare(value.asInstanceOf[AnyRef], statistics.getMin.asInstanceOf[AnyRef]) >= 0 &&
        order.compare(value.asInstanceOf[AnyRef], statistics.getMax.asInstanceOf[AnyRef]) <= 0
      }
    override def inverseCanDrop(statistics: Statistics[T]): Boolean =
      order.compare(statistics.getMin.asInstanceOf[AnyRef], statistics.getMax.asInstanceOf[AnyRef]) == 0 &&
        kept.contains(statistics.getMin.asInstanceOf[AnyRef])
  }

  // The type is erased, so any serves for all.
  def comparison(random: Random, kind: ColumnKind, name: String): FilterPredicate =
    typed[Integer](random, kind, name)

  private def typed[T <: Comparable[T]](random: Random, kind: ColumnKind, name: String): FilterPredicate = {
    val column = SmallColumn
      .column(kind, name)
      .asInstanceOf[Operators.Column[T] with Operators.SupportsLtGt]
    def value = kind.values(random.nextInt(kind.values.size)).asInstanceOf[T]
    def valueOrNull = if (random.nextInt(5) == 0) null.asInstanceOf[T] else value
    def some = {
      val set = new java.util.HashSet[T]()
      (0 to random.nextInt(4)).foreach(_ => set.add(valueOrNull))
      set
    }
    val isBoolean = kind.values.head.isInstanceOf[java.lang.Boolean]
    random.nextInt(10) match {
      case 0 => FilterApi.eq(column, valueOrNull)
      case 1 => FilterApi.notEq(column, valueOrNull)
      case 2 if !isBoolean => FilterApi.lt(column, value)
      case 3 if !isBoolean => FilterApi.ltEq(column, value)
      case 4 if !isBoolean => FilterApi.gt(column, value)
      case 5 if !isBoolean => FilterApi.gtEq(column, value)
      case 6 => FilterApi.in(column, some)
      case 7 => FilterApi.notIn(column, some)
      case 8 if !isBoolean =>
        val order = kind.leaf(name).comparator[AnyRef]()
        val kept = some.asScala.filter(_ != null).map(_.asInstanceOf[AnyRef]).toSet
        FilterApi.userDefined(column, new Keep[T](kept, random.nextInt(4) == 0, order))
      case _ => FilterApi.eq(column, value)
    }
  }

  def tree(random: Random, columns: Seq[SmallColumn], depth: Int): FilterPredicate =
    if (depth == 0) {
      val column = columns(random.nextInt(columns.size))
      comparison(random, column.kind, column.name)
    } else
      random.nextInt(4) match {
        case 0 => FilterApi.or(tree(random, columns, depth - 1), tree(random, columns, depth - 1))
        case 1 => FilterApi.not(tree(random, columns, depth - 1))
        case 2 => tree(random, columns, 0)
        case _ => FilterApi.and(tree(random, columns, depth - 1), tree(random, columns, depth - 1))
      }

  /** Whether a row may match a predicate without NOT. */
  def mayMatch(predicate: FilterPredicate, row: Map[String, (PrimitiveType, AnyRef)]): Boolean = {
    def of(column: Operators.Column[_]) = row(column.getColumnPath.toDotString)
    def compares(column: Operators.Column[_], to: Any)(fits: Int => Boolean) = {
      val (leaf, value) = of(column)
      value != null && orders(leaf).exists(order => fits(order.compare(value, to.asInstanceOf[AnyRef])))
    }
    def equal(column: Operators.Column[_], to: Any) =
      if (to == null) of(column)._2 == null else compares(column, to)(_ == 0)
    def differs(column: Operators.Column[_], to: Any) =
      if (to == null || of(column)._2 == null) (to == null) != (of(column)._2 == null)
      else compares(column, to)(_ != 0)
    predicate match {
      case and: Operators.And => mayMatch(and.getLeft, row) && mayMatch(and.getRight, row)
      case or: Operators.Or => mayMatch(or.getLeft, row) || mayMatch(or.getRight, row)
      case eq: Operators.Eq[_] => equal(eq.getColumn, eq.getValue)
      case not: Operators.NotEq[_] => differs(not.getColumn, not.getValue)
      case lt: Operators.Lt[_] => compares(lt.getColumn, lt.getValue)(_ < 0)
      case ltEq: Operators.LtEq[_] => compares(ltEq.getColumn, ltEq.getValue)(_ <= 0)
      case gt: Operators.Gt[_] => compares(gt.getColumn, gt.getValue)(_ > 0)
      case gtEq: Operators.GtEq[_] => compares(gtEq.getColumn, gtEq.getValue)(_ >= 0)
      case in: Operators.In[_] => valuesOf(in.getValues).exists(equal(in.getColumn, _))
      case notIn: Operators.NotIn[_] => valuesOf(notIn.getValues).forall(differs(notIn.getColumn, _))
      case user: Operators.UserDefined[_, _] => keeps(user, of(user.getColumn)._2)
      case not: Operators.LogicalNotUserDefined[_, _] =>
        !keeps(not.getUserDefined, of(not.getUserDefined.getColumn)._2)
      case other => throw new IllegalArgumentException(other.toString)
    }
  }

  private def valuesOf(values: java.util.Set[_]): Seq[Any] = values.asScala.toSeq

  private def keeps(user: Operators.UserDefined[_, _], value: AnyRef) =
    user.getUserDefinedPredicate.asInstanceOf[Keep[Integer]].keeps(value)

  /** Parquet's order, and that of SQL, in which there is one zero and one NaN. */
  private def orders(leaf: PrimitiveType): Seq[java.util.Comparator[AnyRef]] = {
    val own = leaf.comparator[AnyRef]()
    def one(value: AnyRef): AnyRef = value match {
      case double: java.lang.Double =>
        Double.box(if (double == 0.0) 0.0 else if (double.isNaN) Double.NaN else double)
      case float: java.lang.Float =>
        Float.box(if (float == 0.0f) 0.0f else if (float.isNaN) Float.NaN else float)
      case binary: Binary => binary
      case other => other
    }
    Seq(
      (a: AnyRef, b: AnyRef) => own.compare(a, b),
      (a: AnyRef, b: AnyRef) => own.compare(one(a), one(b))
    )
  }
}
