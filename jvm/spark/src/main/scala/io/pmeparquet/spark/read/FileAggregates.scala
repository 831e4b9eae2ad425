package io.pmeparquet.spark.read

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.expressions.aggregate._
import org.apache.spark.sql.types.StructType

/**
 * What Spark asks of each file in place of its rows. ''Crosses the wire.''
 *
 * @param columns the columns of files that the functions look at
 * @param partitions the columns whose values are names of directories; in rows they follow the others
 * @param groups the places among `partitions` of the columns that the answer begins with
 * @param functions follow in the answer
 * @param result the schema of the answer
 */
private[spark] final case class FileAggregates(
    columns: StructType,
    partitions: StructType,
    groups: Seq[Int],
    functions: Seq[FileAggregate],
    result: StructType
) {

  /** The columns of rows from which the functions can be computed. */
  def rows: StructType = StructType(columns.fields ++ partitions.fields)
}

/** One aggregate function. */
private[spark] sealed trait FileAggregate extends Serializable {

  /** The place in a row of the column that it looks at; none: it counts rows. */
  def column: Option[Int]
}

private[spark] object FileAggregate {
  final case class Counting(column: Option[Int]) extends FileAggregate
  final case class Extreme(at: Int, largest: Boolean) extends FileAggregate {
    override def column: Option[Int] = Some(at)

    /** The one of two values that is nearer to the end, or the only one that is there. */
    def of(one: Any, other: Any): Any =
      if (one == null) other
      else if (other == null) one
      else if ((one.asInstanceOf[Comparable[Any]].compareTo(other) < 0) == largest) other
      else one
  }
}

private[spark] object FileAggregates {
  import FileAggregate.{Counting, Extreme}

  /**
   * ''Driver only.''
   *
   * @param aggregation which Spark has pushed into a scan, so it has no other functions
   * @param result of the scan
   */
  def of(
      aggregation: Aggregation,
      data: StructType,
      partitions: StructType,
      result: StructType,
      caseSensitive: Boolean
  ): FileAggregates = {
    def is(name: String)(other: String) = if (caseSensitive) name == other else name.equalsIgnoreCase(other)
    def nameOf(function: AggregateFunc) = function.references().headOption.map(_.fieldNames().head)
    val functions = aggregation.aggregateExpressions().toSeq
    val asked = functions.flatMap(nameOf(_))
    val inFiles = data.filterNot(field => partitions.fieldNames.exists(is(field.name)))
    val columns = StructType(inFiles.filter(field => asked.exists(is(field.name))))
    val names = columns.fieldNames ++ partitions.fieldNames
    def place(in: Array[String], name: String) = in.indexWhere(is(name)) match {
      case -1 => throw new IllegalStateException(s"internal error: no column $name")
      case at => at
    }
    FileAggregates(
      columns,
      partitions,
      aggregation.groupByExpressions().toSeq.map { group =>
        place(partitions.fieldNames, group.references().head.fieldNames().head)
      },
      functions.map {
        case _: CountStar => Counting(None)
        case count: Count => Counting(nameOf(count).map(place(names, _)))
        case function @ (_: Min | _: Max) =>
          Extreme(place(names, nameOf(function).get), function.isInstanceOf[Max])
        case other => throw new IllegalStateException(s"internal error: $other was pushed")
      },
      result
    )
  }
}

/** Computes the functions from rows. ''Executor only.'' */
private[read] final class RowAggregates(asked: FileAggregates) {
  import FileAggregate.{Counting, Extreme}

  private val types = asked.rows.fields.map(_.dataType)
  private val values: Array[Any] = asked.functions.map {
    case _: Counting => 0L
    case _: Extreme => null
  }.toArray

  def add(row: InternalRow): Unit = asked.functions.zipWithIndex.foreach {
    case (Counting(column), at) =>
      if (column.forall(!row.isNullAt(_))) values(at) = values(at).asInstanceOf[Long] + 1
    case (extreme: Extreme, at) =>
      if (!row.isNullAt(extreme.at))
        values(at) = extreme.of(values(at), row.get(extreme.at, types(extreme.at)))
  }

  def result: Seq[Any] = values.toSeq
}
