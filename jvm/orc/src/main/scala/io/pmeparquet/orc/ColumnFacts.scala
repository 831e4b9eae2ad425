package io.pmeparquet.orc

import org.apache.hadoop.hive.ql.exec.vector._
import org.apache.orc._
import org.apache.orc.impl.ColumnStatisticsImpl

import io.pmeparquet.orc.tail.{OrcStripe, OrcTail, OrcType}

/**
 * Statistics of all columns, counted from values that ORC's reader has decoded.
 *
 * @param closed the ids of columns that are not read
 */
private final class ColumnFacts(tail: OrcTail, schema: TypeDescription, closed: Set[Int]) {
  private val counted =
    tail.types.map(column => ColumnStatisticsImpl.create(schema.findSubtype(column.id)))

  /** @return the rows of the stripe */
  def read(reader: Reader, stripe: OrcStripe, goOn: () => Unit): Long = {
    val rows = reader.rows(
      reader.options.range(stripe.offset, 1).include(tail.types.map(one => !closed(one.id)).toArray)
    )
    try {
      val batch = schema.createRowBatch()
      var count = 0L
      while (rows.nextBatch(batch)) {
        goOn()
        count += batch.size
        addRoot(batch)
      }
      count
    } finally rows.close()
  }

  def add(other: ColumnFacts): Unit =
    counted.zip(other.counted).foreach { case (all, more) => all.merge(more) }

  /** Columns whose statistics state something else, and what. */
  def differences(stated: Array[ColumnStatistics], without: Set[Int]): Seq[(String, String)] =
    if (stated.length != counted.size)
      Seq("" -> s"that there are ${stated.length} columns, and there are ${counted.size}")
    else
      tail.types.filterNot(one => closed(one.id) || without(one.id)).flatMap { column =>
        val found = StatedFacts.of(counted(column.id), column)
        StatedFacts.of(stated(column.id), column).collectFirst {
          case (fact, value) if found.get(fact).exists(_ != value) =>
            column.leaf.display -> s"that the $fact is another than that of its values"
        }
      }

  private def addRoot(batch: VectorizedRowBatch): Unit = {
    val rows = Array.range(0, batch.size)
    val root = tail.types.head
    if (root.kind == "STRUCT") {
      counted.head.increment(batch.size)
      root.children.zip(batch.cols).foreach { case (child, vector) => add(tail.types(child), vector, rows) }
    } else add(root, batch.cols(0), rows)
  }

  private def add(column: OrcType, vector: ColumnVector, rows: Array[Int]): Unit =
    if (!closed(column.id)) addOpen(column, vector, rows)

  private def addOpen(column: OrcType, vector: ColumnVector, rows: Array[Int]): Unit = {
    val of = counted(column.id)
    val (nulls, values) = rows.partition { row =>
      !vector.noNulls && vector.isNull(if (vector.isRepeating) 0 else row)
    }
    if (nulls.nonEmpty) of.setNull()
    of.increment(values.length)
    vector match {
      case struct: StructColumnVector => addAll(column, struct.fields, values)
      case union: UnionColumnVector =>
        column.children.indices.foreach { child =>
          add(tail.types(column.children(child)), union.fields(child), values.filter(union.tags(_) == child))
        }
      case list: ListColumnVector => addElements(column, list, Array(list.child), values)
      case map: MapColumnVector => addElements(column, map, Array(map.keys, map.values), values)
      case _ =>
        values.foreach { row =>
          ValueFacts.add(of, column.kind, vector, if (vector.isRepeating) 0 else row)
        }
    }
  }

  private def addAll(column: OrcType, vectors: Array[ColumnVector], rows: Array[Int]): Unit =
    column.children.zip(vectors).foreach { case (child, vector) => add(tail.types(child), vector, rows) }

  private def addElements(
      column: OrcType,
      parent: MultiValuedColumnVector,
      vectors: Array[ColumnVector],
      rows: Array[Int]
  ): Unit = {
    val elements = rows.flatMap { row =>
      val from = parent.offsets(row).toInt
      Array.range(from, from + parent.lengths(row).toInt)
    }
    addAll(column, vectors, elements)
  }
}

/** One value's part in statistics, as ORC's writer counts it. */
private object ValueFacts {
  def add(of: ColumnStatisticsImpl, kind: String, vector: ColumnVector, row: Int): Unit = vector match {
    case _: TimestampColumnVector => ()
    case longs: LongColumnVector =>
      if (kind == "BOOLEAN") of.updateBoolean(longs.vector(row) != 0, 1)
      else if (kind == "DATE") of.updateDate(longs.vector(row).toInt)
      else of.updateInteger(longs.vector(row), 1)
    case doubles: DoubleColumnVector => of.updateDouble(doubles.vector(row))
    case decimals: DecimalColumnVector => of.updateDecimal(decimals.vector(row))
    case bytes: BytesColumnVector =>
      if (kind == "BINARY") of.updateBinary(bytes.vector(row), bytes.start(row), bytes.length(row), 1)
      else of.updateString(bytes.vector(row), bytes.start(row), bytes.length(row), 1)
    case other => throw new IllegalStateException(s"no values of ${other.getClass.getName}")
  }
}

/** What statistics state, by the name of the fact; without what depends on time zones, padding or the order of sums. */
private object StatedFacts {
  def of(statistics: ColumnStatistics, column: OrcType): Map[String, String] = {
    val values = Map(
      "number of values" -> statistics.getNumberOfValues.toString,
      "presence of nulls" -> statistics.hasNull.toString
    )
    if (statistics.getNumberOfValues == 0) values else values ++ typed(statistics, column)
  }

  private def typed(statistics: ColumnStatistics, column: OrcType): Map[String, String] = statistics match {
    case of: IntegerColumnStatistics =>
      bounds(of.getMinimum, of.getMaximum) ++ (if (of.isSumDefined) Map("sum" -> of.getSum.toString)
                                               else Map.empty)
    case of: DoubleColumnStatistics => bounds(of.getMinimum, of.getMaximum)
    case of: BooleanColumnStatistics => Map("number of true values" -> of.getTrueCount.toString)
    case of: DateColumnStatistics => bounds(of.getMinimumDayOfEpoch, of.getMaximumDayOfEpoch)
    case of: DecimalColumnStatistics => bounds(of.getMinimum, of.getMaximum) ++ some("sum", of.getSum)
    case of: BinaryColumnStatistics => Map("sum of lengths" -> of.getSum.toString)
    // ORC pads these in the file and trims them on read.
    case of: StringColumnStatistics if column.kind == "CHAR" =>
      bounds(trimmed(of.getLowerBound), trimmed(of.getUpperBound))
    case of: StringColumnStatistics =>
      bounds(of.getLowerBound, of.getUpperBound) + ("sum of lengths" -> of.getSum.toString)
    // ORC's writer counts a batch as one list or map there, of as many elements as the batch has room for.
    case _ => Map.empty
  }

  private def bounds(least: Any, most: Any) = some("smallest value", least) ++ some("largest value", most)

  private def some(fact: String, value: Any): Map[String, String] =
    if (value == null) Map.empty else Map(fact -> value.toString)

  private def trimmed(text: String) = if (text == null) null else text.replaceAll(" +$", "")
}
